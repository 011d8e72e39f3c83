"""Reads the input of a report from a results folder: manifests, summaries, models and hashes.

Outdated summaries are computed anew, so that a report always agrees with the recordings. After an aborted study, the
runs of the manifest that are not on disk are reported as missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank.analysis import Configuration, DoubtOfRuns, JudgedClaims, RunSummary, StudySummary, readable_summary
from towtank.containment import Failed, attempt, attempt_or
from towtank.digging import dig
from towtank.documents import record_of
from towtank.errors import Fault, StudyError
from towtank.load_level import KINDS, Load
from towtank.report.runs_over_time import OVER_TIME_FILE, Recorded, recordings
from towtank.report.sizing_source import ANSWER_FILE, sizing_of
from towtank.results import STUDY_MANIFEST, ResultsFolder, RunFolder, RunManifest, earlier, kept, usable_part

if TYPE_CHECKING:
    from towtank.model import CapacityModel, PredictionResult
    from towtank.sizing import SizingResult

SUMMARY_FILE = "study-summary.json"
MODEL_FILE = "model.json"
CLAIMS_FILE = "claims.json"
PREDICTION_FILE = "prediction.json"
STATES = ("valid", "suspect", "invalid")
Json = Mapping[str, Any]


@dataclass(frozen=True)
class RunResult:
    """Planned run of a study, with its manifest and summary, which are empty if missing."""

    run_id: str
    manifest: Json = field(default_factory=dict)
    summary: Json = field(default_factory=dict)

    @cached_property
    def record(self) -> RunSummary:
        """Summary of the run; entries that are missing or malformed have their defaults."""
        return RunSummary.read(self.summary)

    @property
    def factors(self) -> dict[str, str]:
        """Names of the run's factor levels, by factor."""
        found = self.summary.get("factors") or self.manifest.get("factors") or {}
        return {str(name): str(level) for name, level in found.items()}

    @property
    def configuration(self) -> str:
        """Levels of all factors of the run except the load, as text."""
        return ", ".join(f"{name} {level}" for name, level in self.factors.items() if name not in KINDS)

    @property
    def status(self) -> str:
        """State of the run: `complete`, `failed`, `stopped`, `running` (also if its process ended abnormally),
        `planned` or `missing`.
        """
        return str(self.manifest.get("status") or self.summary.get("status") or "missing")

    @property
    def verdict(self) -> str:
        """Verdict on the run: `valid`, `suspect` or `invalid`; `none` if the run has no data."""
        level = dig(self.summary, "verdict", "level")
        return level if level in STATES else "none"

    @property
    def doubts(self) -> list[DoubtOfRuns]:
        """Reasons for the verdict on the run."""
        found = dig(self.summary, "verdict", "reasons") or ()
        return [DoubtOfRuns.model_validate(doubt) for doubt in found if isinstance(doubt, Mapping)]

    @property
    def load(self) -> float | None:
        """Requested number of users [1], or requested rate [1/s]; None if unknown."""
        found = Load.read(self.summary) or Load.read(self.manifest)
        return None if found is None else found.level


@dataclass(frozen=True)
class PlannedFactor:
    """Factor of a study with its levels; `numeric` has the loads of the load factor's levels, as far as known."""

    name: str = ""
    levels: tuple[str | int | float | bool, ...] = ()
    numeric: tuple[int | float | None, ...] | None = None


@dataclass(frozen=True)
class FileHash:
    """SHA-256 hash of a file, or of the list of hashes of several files."""

    path: str
    sha256: str
    files: int = 1

    @property
    def line(self) -> str:
        """Line for a list of hashes, in the format of `sha256sum`."""
        return f"{self.sha256}  {self.path}\n"


@dataclass(frozen=True)
class Results:
    """All data that a report shows.

    Attributes
    ----------
    name : str
        Name of the results folder, without its path on this machine.
    manifest : dict
        `study.json`.
    summary : dict
        `study-summary.json`.
    runs : tuple of RunResult
        All planned runs in their order, including missing runs.
    hashes : tuple of FileHash
        Hashes of the recorded files, to verify a copy of the folder.
    model : CapacityModel or None
        Capacity model of each configuration (`model.json`); None if it was not read.
    sizing : SizingResult, str or None
        Result of a sizing, or the reason why it has none; None if the study has no sizing.
    claims : JudgedClaims
        Claims with their verdicts (`claims.json`); empty if the study has no claims.
    prediction : PredictionResult or None
        Prediction of one configuration from another (`prediction.json`); None if the study declares none.
    recorded : dict of str to Recorded
        Heat maps and error rates of the runs that are shown over time, by run.
    """

    name: str
    manifest: Json
    summary: Json
    runs: tuple[RunResult, ...] = ()
    hashes: tuple[FileHash, ...] = ()
    model: CapacityModel | None = None
    sizing: SizingResult | str | None = None
    claims: JudgedClaims = field(default_factory=JudgedClaims)
    prediction: PredictionResult | None = None
    recorded: Mapping[str, Recorded] = field(default_factory=dict)

    @property
    def capacity(self) -> CapacityModel:
        """Capacity model of each configuration; without configurations if no model was read."""
        return self.model or _capacity({})

    @property
    def study(self) -> Json:
        """Description of the study in the manifest."""
        found = self.manifest.get("study")
        return found if isinstance(found, Mapping) else {}

    @property
    def title(self) -> str:
        """Title of the study; if it has none, its name."""
        for source in (self.summary, self.study):
            if source.get("title"):
                return str(source["title"])
        return str(self.summary.get("study") or self.study.get("name") or self.name)

    @property
    def load_factor(self) -> str:
        """Name of the factor that sets the load."""
        return str(self.summary.get("load_factor") or self.study.get("load_factor") or "users")

    @cached_property
    def study_summary(self) -> StudySummary:
        """Results by configuration, comparisons, objectives and verdict, from the summary."""
        return StudySummary.model_validate(self.summary)

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """Combinations of the levels of all factors except the load, each with its load points."""
        return self.study_summary.configurations

    @property
    def factors(self) -> list[PlannedFactor]:
        """Factors of the study, including the load factor."""
        found = self.summary.get("factors") or self.study.get("factors") or ()
        return [record_of(PlannedFactor, factor) for factor in found if isinstance(factor, Mapping)]

    @property
    def other_factors(self) -> list[str]:
        """Names of the factors other than the load factor."""
        return [factor.name for factor in self.factors if factor.name not in ("", self.load_factor)]

    @property
    def measured(self) -> list[RunResult]:
        """Runs that have a summary."""
        return [run for run in self.runs if run.summary]

    def run(self, run_id: str) -> RunResult | None:
        """Return the run with a name; None if no run has the name."""
        return next((run for run in self.runs if run.run_id == run_id), None)

    def in_state(self, *states: str) -> list[RunResult]:
        """Return the runs whose verdict is among the given verdicts."""
        return [run for run in self.runs if run.verdict in states]

    @property
    def missing(self) -> list[RunResult]:
        """Planned runs without a verdict."""
        return self.in_state("none")

    def label(self, run: RunResult) -> str:
        """Return the label of a run's configuration; `all runs` if the load is the only factor."""
        for configuration in self.configurations:
            if all(run.factors.get(name) == level for name, level in configuration.key.items()):
                return configuration.label
        return (
            ", ".join(f"{name} {run.factors[name]}" for name in self.other_factors if name in run.factors) or "all runs"
        )


def load_results(path: Path) -> Results:
    """Read a results folder; outdated summaries, the capacity model and the sizing are computed anew.

    Parameters
    ----------
    path : Path
        Results folder.

    Raises
    ------
    StudyError
        If the path is not a results folder, or its manifest cannot be read.
    """
    found = measured_results(path)
    hashes = tuple(attempt_or("hashes", [], _hashes, open_folder(path)))
    sizing = attempt("sizing", sizing_of, path, found.manifest, [entry.line for entry in hashes])
    return replace(
        found,
        hashes=hashes,
        model=_model_of(path, hashes),
        sizing=sizing.sentence if isinstance(sizing, Failed) else sizing,
        recorded=attempt_or("heat maps", {}, recordings, open_folder(path), found, hashes_of_runs(hashes)),
    )


def measured_results(path: Path) -> Results:
    """Read the summaries, claims and prediction of a results folder, but not its hashes, model and sizing.

    Raises
    ------
    StudyError
        If the path is not a results folder, or its manifest cannot be read.
    """
    from towtank.analysis import summarize_study  # noqa: PLC0415 - slow to import

    folder = open_folder(path)
    manifest = folder.manifest
    summary = attempt_or("summary of the study", {}, summarize_study, folder)
    return Results(
        name=path.resolve().name,
        manifest=manifest,
        summary=summary,
        runs=tuple(_runs(folder, _planned(manifest, summary))),
        claims=JudgedClaims.read(kept.read_finite(path / CLAIMS_FILE) if summary.get("claims") else {}),
        prediction=_prediction(path / PREDICTION_FILE),
    )


def _prediction(path: Path) -> PredictionResult | None:
    document = kept.read_finite(path)
    if not document:
        return None
    from towtank.model import PredictionResult  # noqa: PLC0415 - few studies need it

    try:
        return PredictionResult.model_validate(document)
    except ValueError:
        return PredictionResult(refused=f"{path.name} is not a prediction of a study")


def derived_documents(path: Path) -> list[Path]:
    """Return the files of a results folder that were computed from recordings, such as summaries."""
    names = (SUMMARY_FILE, CLAIMS_FILE, MODEL_FILE, ANSWER_FILE, PREDICTION_FILE, OVER_TIME_FILE)
    return [path / name for name in names if (path / name).is_file()]


def _model_of(path: Path, hashes: Sequence[FileHash]) -> CapacityModel:
    """Return the capacity model of a results folder; it is computed and stored unless `model.json` is up to date.

    Without hashes of the recorded files, the model is computed anew.
    """
    from towtank import model  # noqa: PLC0415 - slow to import, and seldom needed

    sources = kept.sources_of(entry.line for entry in hashes) if hashes else None
    made = attempt(
        "capacity model",
        kept.made_or_kept,
        path / MODEL_FILE,
        lambda: model.capacity_document(path),
        lambda: sources,
    )
    return model.CapacityModel(refused=made.sentence) if isinstance(made, Failed) else _capacity(made)


def _capacity(document: Mapping[str, object]) -> CapacityModel:
    """Read the content of `model.json`; a malformed model states that it is malformed."""
    from towtank.model import CapacityModel  # noqa: PLC0415 - `towtank --help` does not need it

    try:
        return CapacityModel.model_validate(document)
    except ValueError:
        return CapacityModel(refused=f"{MODEL_FILE} is not a capacity model")


def open_folder(path: Path) -> ResultsFolder:
    """Open a results folder; the error for the folder of a single run explains where the results folder is."""
    if (path / "run.json").is_file() and not (path / STUDY_MANIFEST).is_file():
        message = f"must be a results folder with a {STUDY_MANIFEST}, got the folder of a run"
        raise StudyError([Fault(str(path), 0, 0, "", message)], hint="name the results folder, two levels up")
    return ResultsFolder.open(path)


def runs_that_count(folder: ResultsFolder) -> list[RunFolder]:
    """Return the runs on disk, except interrupted runs (`RUN.interrupted-N`), which were repeated."""
    return [run for run in folder.runs() if ".interrupted" not in run.run_id]


def _runs(folder: ResultsFolder, planned: Mapping[str, Mapping[str, object]]) -> Iterator[RunResult]:
    """Yield all runs that are planned or on disk, sorted by name."""
    on_disk = {run.run_id for run in runs_that_count(folder)}
    for run_id in sorted({*planned, *on_disk}):
        path = folder.run_path(run_id)
        found = usable_part(dict(kept.read_finite(path / "run.json")), RunManifest) or {
            **planned.get(run_id, {}),
            "status": "missing",
        }
        summary = earlier.run_summary(kept.read_finite(path / "summary.json"))
        yield RunResult(run_id, found, readable_summary(summary, f"runs/{run_id}/summary.json"))


def _planned(manifest: Mapping[str, object], summary: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Return the planned runs by name, from the manifest; if the manifest has none, from the study summary."""
    for listed in (manifest.get("design"), summary.get("runs")):
        specs = listed if isinstance(listed, list) else []
        names = [dig(spec, "run") for spec in specs]
        if names and all(isinstance(name, str) and name for name in names):
            return dict(zip(names, specs, strict=True))
    return {}


def hashes_of_runs(hashes: Sequence[FileHash]) -> dict[str, str]:
    """Return the hash of the recorded files of each run, by name of the run."""
    entries = ((entry.path.partition("runs/"), entry.sha256) for entry in hashes)
    return {name: sha256 for (before, _, name), sha256 in entries if name and not before}


def _hashes(folder: ResultsFolder) -> list[FileHash]:
    """Return the hashes of all recorded files, but not of files computed from recordings."""
    return list(_each_hash(folder))


def _each_hash(folder: ResultsFolder) -> Iterator[FileHash]:
    root = folder.path
    for path in [root / STUDY_MANIFEST, *sorted((root / "files").rglob("*"))]:
        if path.is_file():
            yield FileHash(path.relative_to(root).as_posix(), kept.sha256(path))
    for run in runs_that_count(folder):
        streams = sorted(path for part in (run.engine, run.observe) for path in part.rglob("*") if path.is_file())
        named = [
            path.relative_to(root).as_posix() for path in (run.path / "run.json", run.plan, *streams) if path.is_file()
        ]
        lines = "".join(f"{kept.sha256(root / name)}  {name}\n" for name in named)
        yield FileHash(f"runs/{run.run_id}", hashlib.sha256(lines.encode()).hexdigest(), len(named))
