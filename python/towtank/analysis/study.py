"""Combines the summaries of all runs of a study into the summary of the study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from towtank.analysis import claims, comparison, demand, factorial, narrative, objectives, study_verdict
from towtank.analysis.aggregation import Point, aggregate, stage_named
from towtank.analysis.block_length import block_length
from towtank.analysis.conclusion import conclude
from towtank.analysis.diagnosis import Cause, Diagnosis, diagnose_levels
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel
from towtank.analysis.factors import Factor
from towtank.analysis.failed_exchanges import exchanges_of_runs
from towtank.analysis.ideal import ideal_line
from towtank.analysis.limits import of_levels, of_runs
from towtank.analysis.load_point import LimitKind, LimitOfLevels
from towtank.analysis.objective import is_scoped
from towtank.analysis.run import SCHEMA as RUN_SUMMARY_SCHEMA
from towtank.analysis.run import SUMMARY, is_current, kept_summary
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics.estimates import CONFIDENCE
from towtank.analysis.stored_summary import is_whole, with_known_verdict
from towtank.analysis.study_summary import Configuration
from towtank.claim_words import sentence
from towtank.containment import Failed, attempt, attempt_or, failures_so_far
from towtank.digging import dig
from towtank.documents import document_of
from towtank.errors import StudyError
from towtank.load_level import KINDS
from towtank.results import STUDY_MANIFEST, ResultsFolder, RunFolder, earlier, kept, offer_json, read_object
from towtank.version import __version__

SCHEMA = "towtank/study-summary/1"
STUDY_SUMMARY_FILE = "study-summary.json"
SET_ASIDE_SUFFIX = ".interrupted"
"""Suffix of the name of an interrupted run that a later run replaced. The folder of the interrupted run remains, but is
not analysed.
"""
# Final states of a run. A summary that was made in another state is out of date, so it is not used again.
ENDED = ("complete", "failed", "stopped")
# Keys of a run summary that identify the data from which the summary was made.
_MADE_FROM = ("run", "status", "inputs")


@dataclass(frozen=True)
class PlannedRun:
    """Run in the design of a study, with its factor levels; None if the design does not contain them."""

    run: str | None
    factors: dict[str, str] | None

    @classmethod
    def read(cls, document: Mapping[str, object]) -> PlannedRun:
        """Read a run from the design of a manifest."""
        run, factors = document.get("run"), document.get("factors")
        levels = {name: str(level) for name, level in factors.items()} if isinstance(factors, Mapping) else None
        return cls(str(run) if "run" in document else None, levels)


@dataclass(frozen=True)
class Question:
    """Factors, objectives and design of a study, from its manifest. If the manifest does not contain them, they are
    derived from the runs.

    Attributes
    ----------
    factors : list of Factor
    load_factor : str or None
        Factor that sets the load, usually `users` or `rate`; None if no factor sets it.
    objectives : list of dict
        Objectives, as in the manifest.
    design : list of PlannedRun
    limits : dict
        Limits beyond which a run of this study does not count, in SI units.
    run_to_run : float
        Relative standard deviation of the system's speed from run to run, assumed if a value has only one run. [1]
    left_out : dict
        Levels in the study file that were not measured because the chosen preset excludes them, by factor.
    confidence : float
        Confidence of the intervals that decide objectives, in (0, 1). Above 0.95 if the study is evaluated after each
        block of runs.
    """

    name: str
    title: str
    text: str
    factors: list[Factor]
    load_factor: str | None
    objectives: list[Mapping[str, object]]
    design: list[PlannedRun]
    limits: Mapping[str, object]
    run_to_run: float
    confidence: float
    left_out: Mapping[str, list[str]] = field(default_factory=dict)


def summarize_study(results: ResultsFolder) -> kept.Document:
    """Analyse all runs of a study. Write `study-summary.json`, and `claims.json` if the study has claims.

    Stored documents are read instead if this version of Towtank made them from the same data.

    Parameters
    ----------
    results : ResultsFolder
        Results folder in any state; missing and incomplete runs are reported. In a read-only folder, no file is
        written.

    Returns
    -------
    dict
        The study summary, as `docs/reference/summary.md` describes.
    """
    failures = failures_so_far()
    scoped = _scoped(results.manifest)
    folders = [run for run in results.runs() if SET_ASIDE_SUFFIX not in run.run_id]
    made = [attempt(f"summary of {run.run_id}", _summary_of, run, scoped) for run in folders]
    runs = [summary for summary in made if not isinstance(summary, Failed)]
    is_whole = failures_so_far() == failures
    return kept.made_or_kept(
        results.path / STUDY_SUMMARY_FILE,
        lambda: _with_claims(results, runs),
        lambda: kept.sources_of(_sources(results, folders, runs)) if is_whole else None,
    )


def _with_claims(results: ResultsFolder, runs: list[kept.Document]) -> kept.Document:
    """Return the study summary with the verdicts on the claims of the study, and write `claims.json`."""
    manifest = results.manifest
    summary = describe_study(manifest, runs)
    judged = attempt_or("claims", None, claims.of_manifest, manifest, runs)
    document = None if judged is None else judged.document()
    summary |= conclude_study(results, summary, document)
    if judged is not None and document is not None:
        summary["claims"] = judged.counts
        if any(judged.required.values()):
            summary["required_claims"] = judged.required
        summary["answers"] = list(map(sentence, dig(document, "claims")))
        offer_json(results.path / claims.CLAIMS_FILE, document)
    return summary


def conclude_study(
    results: ResultsFolder, summary: kept.Document, judged: Mapping[str, object] | None
) -> kept.Document:
    """Return the conclusion of a study with its claims, and its statements as headline; empty if the summary has none.

    `judged` is the content of `claims.json`; None if the study has no claims, or if they could not be judged.
    """
    if not dig(summary, "conclusion"):
        return {}
    manifest = results.manifest
    if judged is None and dig(manifest, "study", "claims"):
        judged = {}
    block_s = attempt_or("duration of the runs", None, block_length, results)
    return attempt_or("conclusion", {}, _concluded, summary, judged, block_s, _command(manifest))


def _command(manifest: Mapping[str, object]) -> Mapping[str, object]:
    """Return the command that made the runs, with the duration of the steady stage if the study gives one."""
    stages = dig(manifest, "study", "stages") or ()
    steady = [dig(stage, "duration_s") for stage in stages if dig(stage, "phase") == "steady"]
    return {**(dig(manifest, "command") or {}), "steady_s": steady[0] if len(steady) == 1 else None}


def _concluded(
    summary: kept.Document,
    judged: Mapping[str, object] | None = None,
    block_s: float | None = None,
    command: Mapping[str, object] | None = None,
) -> kept.Document:
    """Return the conclusion of a study, and its statements as headline."""
    concluded = conclude(summary, judged, block_s, command)
    return {"conclusion": concluded.document(), "headline": concluded.headline}


def _sources(results: ResultsFolder, folders: list[RunFolder], runs: list[kept.Document]) -> Iterator[str]:
    """Yield one line for each input of a study summary: manifest, claims and runs. If a line changes, a stored study
    summary is out of date.

    The lines of runs identify the data of each run, because the file with the run summary may be missing.
    """
    for path in (
        results.path / STUDY_MANIFEST,
        results.path / claims.CLAIMS_FILE,
        *(run.path / SUMMARY for run in folders),
    ):
        yield f"{path.relative_to(results.path)} {kept.sha256(path) if path.is_file() else None}\n"
    for run in runs:
        yield f"{[run.get(key) for key in _MADE_FROM]}\n"


def summaries_of(runs: Iterable[RunFolder]) -> dict[str, kept.Document]:
    """Return the summaries of runs by name, read or computed. Runs whose analysis failed are not included."""
    made = {run.run_id: attempt(f"summary of {run.run_id}", _summary_of, run, []) for run in runs}
    return {name: summary for name, summary in made.items() if not isinstance(summary, Failed)}


def _scoped(manifest: Mapping[str, object]) -> list[str]:
    """Return the texts of the objectives about phases or windows. A run summary can be used only if it has their
    values.
    """
    found = dig(manifest, "study", "objectives") or ()
    return [str(each.get("text", "")) for each in found if isinstance(each, Mapping) and is_scoped(each)]


def _summary_of(run: RunFolder, scoped: list[str]) -> kept.Document:
    known = known_summary(run)
    texts = {objective.get("text") for objective in known.get("objectives") or ()} if known else set()
    return known if known and texts.issuperset(scoped) else kept_summary(run)


def known_summary(run: RunFolder) -> kept.Document | None:
    """Return the stored summary of a run that has ended, if this version of Towtank made it from the present data, and
    its entries are whole; otherwise None.
    """
    try:
        known = read_object(run.path / SUMMARY)
        status = run.manifest.get("status")
    except (OSError, ValueError, StudyError):
        return None
    made_by = (known.get("schema"), known.get("towtank"))
    current = made_by == (RUN_SUMMARY_SCHEMA, __version__)
    own = current and status in ENDED and (known.get("status"), known.get("run")) == (status, run.run_id)
    if not (own and is_current(run, known)):
        return None
    found = earlier.run_summary(known, run.manifest)
    return found if is_whole(found) else None


def describe_study(manifest: Mapping[str, object], summaries: Sequence[kept.Document]) -> kept.Document:
    """Compute the study summary from the manifest and the run summaries."""
    made = sorted((run for run in summaries if run.get("status") != "planned"), key=lambda run: str(run["run"]))
    documents = list(_without_copies(map(with_known_verdict, made)))
    runs = list(map(RunSummary.read, documents))
    question = question_of(manifest, runs)
    configurations = attempt_or("configurations", [], _configurations, question, runs)
    summary: kept.Document = {
        "schema": SCHEMA,
        "study": question.name,
        "title": question.title,
        "question": question.text,
        "left_out": question.left_out,
        "factors": dig(manifest, "study", "factors") or list(map(document_of, question.factors)),
        "load_factor": question.load_factor,
        "configurations": configurations,
        "comparisons": attempt_or("comparisons", [], _comparisons, question, configurations),
        "effects": attempt_or("effects", [], _effects, question, runs),
        # A regression line gives the demand of a single configuration, so it is not fitted to several configurations.
        "demand": attempt_or("demand", {}, _demands, question, runs) if len(configurations) < 2 else {},
        "verdict": attempt_or(
            "verdict",
            dict(study_verdict.UNDECIDED),
            study_verdict.verdict_of,
            [planned.run for planned in question.design],
            question.limits,
            runs,
        ),
        "objectives": attempt_or("objectives", [], _objectives, question, configurations, documents),
        "runs": [
            {
                "run": run.run,
                "factors": run.factors,
                "verdict": run.verdict.level,
                "reasons": [reason["message"] for reason in run.verdict.reasons],
            }
            for run in runs
        ],
        "failed_exchanges": attempt_or("failed exchanges", [], exchanges_of_runs, documents),
    }
    summary["observations"] = attempt_or("observations", [], _observations, summary)
    summary |= attempt_or("conclusion", {"conclusion": {}, "headline": ""}, _concluded, summary)
    return summary


def _comparisons(question: Question, configurations: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    read = list(map(Configuration.model_validate, configurations))
    found = comparison.comparisons(question.factors, question.load_factor, read, question.run_to_run)
    return [each.document() for each in found]


def _effects(question: Question, runs: Sequence[RunSummary]) -> list[Mapping[str, object]]:
    return list(map(document_of, factorial.effects(question.factors, runs)))


def _demands(question: Question, runs: Sequence[RunSummary]) -> dict[str, object]:
    found = demand.demands(runs, partial(_load_of, question))
    return {tier: each.model_dump(mode="json") for tier, each in found.items()}


def _observations(summary: Mapping[str, object]) -> list[Mapping[str, object]]:
    return list(map(document_of, narrative.observations(summary)))


def _objectives(
    question: Question, configurations: Sequence[Mapping[str, object]], runs: Sequence[Mapping[str, object]]
) -> list[Mapping[str, object]]:
    missing = _missing_runs(question, runs)
    return objectives.check(question.objectives, configurations, runs, missing, question.confidence)


def _configuration(question: Question, key: Mapping[str, str], runs: Sequence[RunSummary]) -> dict[str, object]:
    """Return a configuration with its load levels, ideal scaling, limits, demands and a diagnosis."""
    points, label = _points(question, runs), ", ".join(f"{name} {level}" for name, level in key.items()) or "all runs"
    counting = [run for point in points for run in point.usable if run.verdict.level != "invalid"]
    unknown = LimitOfLevels(kind=LimitKind.UNDECIDED, evidence="the limit could not be computed")
    ideal = attempt_or(f"ideal line of {label}", None, ideal_line, points)
    limit = attempt_or(f"limit of {label}", unknown, of_levels.limit, points, ideal)
    diagnosis = attempt_or(f"diagnosis of {label}", Diagnosis(Cause.UNKNOWN), diagnose_levels, points, limit)
    return {
        "key": key,
        "label": label,
        "points": [point.document() for point in points],
        "ideal": None if ideal is None else ideal.document(),
        "limit": limit.model_dump(mode="json"),
        "diagnosis": diagnosis.document(),
        "found_limit": attempt_or(f"limit found of {label}", None, of_runs.found_limit, counting),
        "demand": attempt_or(f"demand of {label}", {}, _demands, question, runs),
    }


def _without_copies(runs: Iterable[kept.Document]) -> Iterator[kept.Document]:
    """Yield all runs. If a run has the same records as an earlier run, it is marked as a copy and becomes invalid."""
    first: dict[str, str] = {}
    for run in runs:
        digest = (run.get("inputs") or {}).get("load")
        if digest not in first:
            first |= {digest: str(run["run"])} if digest else {}
            yield run
            continue
        doubt = Doubt(
            DoubtKind.COPIED_RUN,
            DoubtLevel.INVALID,
            f"the records of {run['run']} are a copy of those of {first[digest]}",
        )
        verdict = run["verdict"]
        yield {**run, "verdict": {**verdict, "level": "invalid", "reasons": [doubt.document(), *verdict["reasons"]]}}


def question_of(manifest: Mapping[str, object], runs: Sequence[RunSummary]) -> Question:
    """Return factors, objectives and design of a study from its manifest. If the manifest has no factors, they are
    derived from the runs. A load factor that is neither a factor nor a kind of load is replaced by the factor that is
    one.
    """
    found = dig(manifest, "study")
    study = found if isinstance(found, Mapping) else {"name": found}
    factors = list(map(Factor.read, study.get("factors") or ())) or _factors_of(runs)
    names = [factor.name for factor in factors]
    load = study.get("load_factor")
    if load not in (*names, *KINDS):
        load = next((name for name in names if name in KINDS), None)
    design = manifest.get("design") if isinstance(manifest.get("design"), list) else study.get("design")
    looks = claims.looks_of(study)
    return Question(
        str(study.get("name") or "study"),
        str(study.get("title") or study.get("name") or "study"),
        str(study.get("question") or ""),
        factors,
        load,
        list(study.get("objectives") or []),
        [PlannedRun.read(each) for each in design if isinstance(each, Mapping)] if isinstance(design, list) else [],
        limits if isinstance(limits := dig(study, "limits"), dict) else {},
        claims.run_to_run_of(study),
        CONFIDENCE if looks is None else looks.confidence,
        left_out=dig(study, "left_out") or {},
    )


def _factors_of(runs: Sequence[RunSummary]) -> list[Factor]:
    levels: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for name, level in run.factors.items():
            if str(level) not in levels[name]:
                levels[name].append(str(level))
    found = []
    for name, values in levels.items():
        numeric = [number for value in values if (number := _number(value)) is not None]
        found.append(Factor(name, tuple(values), tuple(numeric) if len(numeric) == len(values) else None))
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _configurations(question: Question, runs: Sequence[RunSummary]) -> list[dict[str, object]]:
    """Return the configurations of a study. Runs belong to the same configuration if the levels of all factors except
    the load are equal.
    """
    others = [factor for factor in question.factors if factor.name != question.load_factor]
    groups: dict[tuple[str, ...], list[RunSummary]] = defaultdict(list)
    for run in runs:
        groups[tuple(str(run.factors.get(factor.name)) for factor in others)].append(run)
    order = [{level: place for place, level in enumerate(factor.levels)} for factor in others]
    names = [factor.name for factor in others]
    return [
        _configuration(question, dict(zip(names, key, strict=True)), groups[key])
        for key in sorted(groups, key=lambda key: [order[n].get(level, 99) for n, level in enumerate(key)])
    ]


def _points(question: Question, runs: Sequence[RunSummary]) -> list[Point]:
    groups: dict[float, list[RunSummary]] = defaultdict(list)
    for run in runs:
        groups[_load_of(question, run)].append(run)
    kind = "rate" if question.load_factor == "rate" else "users"
    return [aggregate(kind, load, groups[load]) for load in sorted(groups)]


def _load_of(question: Question, run: RunSummary) -> float:
    """Return the load level of a run: a number of users [1] or an arrival rate [1/s].

    For a run with several load levels, the result is the level of the analysed stage. For other runs, it is the first
    of these values that exists: the numeric level of the load factor, the load in the run summary, and the level of the
    load factor, read as a number. It is 0 if none exists.
    """
    asked = run.load
    if stage_named(run) is not None:
        return asked.level if asked is not None else 0.0
    name = question.load_factor
    level = None if name is None else run.factors.get(name)
    for factor in question.factors:
        if factor.name == name and factor.numeric:
            table = dict(zip(factor.levels, factor.numeric, strict=True))
            if str(level) in table:
                return float(table[str(level)])
    number = _number(str(level)) if level is not None else None
    return asked.level if asked is not None else number or 0.0


def _missing_runs(question: Question, runs: Sequence[Mapping[str, object]]) -> list[objectives.MissingRun]:
    """Return the planned runs of the study that have no summary."""
    done = {str(run["run"]) for run in runs}
    others = [factor.name for factor in question.factors if factor.name != question.load_factor]
    found = []
    for planned in question.design:
        if planned.run is not None and planned.run not in done and planned.factors is not None:
            key = {name: str(planned.factors.get(name)) for name in others}
            load = _load_of(question, RunSummary(factors=dict(planned.factors)))
            found.append(objectives.MissingRun(planned.run, key, load))
    return found
