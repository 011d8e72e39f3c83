"""Reads results folders, and result files of any load generator, as the two sides of a comparison."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from towtank.analysis.comparing.differing import facts_of_study
from towtank.analysis.comparing.runs import FILES, TIMES, ComparedRun, Failures, Measured, Metric, Place, Side
from towtank.analysis.doubts import DoubtLevel
from towtank.analysis.judgement import Judged, judge_file
from towtank.analysis.judgement.figures import Figures, of_requests
from towtank.analysis.judgement.observations import observations_of, resolution_of
from towtank.analysis.run import kept_summary
from towtank.analysis.statistics import standard_error_of
from towtank.analysis.statistics.estimates import Estimate, estimate_from_document
from towtank.analysis.study import summaries_of
from towtank.digging import dig
from towtank.errors import Fault, StudyError
from towtank.files import open_regular
from towtank.foreign import Requests
from towtank.load_level import KINDS
from towtank.results import RUN_MANIFEST, ResultsFolder, RunFolder

_REQUESTS_AT_LEAST = 2
# Width of the histogram buckets of the engine, relative to the value. The buckets of small values are 0.512 µs wide.
_BUCKET = 1 / 1024
_NARROWEST_S = 0.512e-6
Summary = Mapping[str, object]


def side_of(names: Sequence[str]) -> Side:
    """Read one side of a comparison from one or several results.

    A name is a results folder, `FOLDER:CONFIGURATION`, or a result file of one run. `CONFIGURATION` is the label of a
    configuration, or a part of it that occurs in no other label.

    Raises
    ------
    StudyError
        If a name does not denote a result, or if a run occurs twice. The error lists all faults.
    """
    runs, facts, faults, sources = list[ComparedRun](), dict[str, str](), list[Fault](), dict[str, str]()
    hint = None
    for name in names:
        try:
            found = _read(name)
        except StudyError as error:
            faults += error.faults
            hint = error.hint or hint
            continue
        faults += _repeated(name, found.runs, sources)
        runs += found.runs
        facts |= found.facts
    if faults:
        raise StudyError(faults, hint=hint)
    return Side(", ".join(names), tuple(runs), facts)


def _repeated(name: str, runs: Sequence[ComparedRun], sources: dict[str, str]) -> Iterator[Fault]:
    """Yield a fault if a result contains a run that was already read for this side. Add the runs of the result to
    `sources`.

    A copy of a run gives no information about differences between runs.
    """
    again = next((run for run in runs if run.source in sources), None)
    if again is not None:
        first = sources[again.source]
        what = "this result" if first == name else f"the content of {first}"
        message = f"must be runs that this side does not have yet, got {what} again instead"
        yield Fault(name, 0, 0, "" if len(runs) == 1 else again.name, message)
    sources.update(dict.fromkeys((run.source for run in runs), name))


def _read(name: str) -> Side:
    path, label = Path(name), None
    if not path.exists() and ":" in name:
        before, _, after = name.rpartition(":")
        if Path(before).is_dir():
            path, label = Path(before), after
    if not path.is_dir():
        return _of_file(path)
    if (path / RUN_MANIFEST).is_file():
        run = RunFolder(path)
        made = replace(_of_summary(kept_summary(run), path.name, "", label), source=_digest(path / RUN_MANIFEST))
        return Side(name, (made,), facts_of_study({}, [run.usable_manifest()[0]]))
    return _of_study(name, ResultsFolder.open(path), label)


def _of_study(name: str, results: ResultsFolder, label: str | None) -> Side:
    folders = results.runs()
    made = summaries_of(folders)
    sources = {folder.run_id: _digest(folder.path / RUN_MANIFEST) for folder in folders}
    runs = [
        replace(_of_summary(summary, run, _configuration(summary), label), source=sources[run])
        for run, summary in made.items()
    ]
    labels = list(dict.fromkeys(_configuration(summary) for summary in made.values()))
    if label is not None:
        chosen = _chosen(results.path, labels, label)
        runs = [run for run, summary in zip(runs, made.values(), strict=True) if _configuration(summary) == chosen]
    if not runs:
        raise StudyError.at(results.path, "must contain at least one run, got none")
    manifests = [folder.usable_manifest()[0] for folder in folders if folder.run_id in made]
    return Side(name, tuple(runs), facts_of_study(results.manifest, manifests))


def _chosen(path: Path, labels: Sequence[str], part: str) -> str:
    """Return the label that equals a text. If no label does, return the only label that contains the text."""
    found = [label for label in labels if label == part] or [label for label in labels if part and part in label]
    if len(found) != 1:
        shown = ", ".join(map(repr, labels)) or "none"
        message = f"must be the label of a configuration or a part of only one, of {shown}, got {part!r} instead"
        raise StudyError.at(path, message)
    return found[0]


def _configuration(summary: Summary) -> str:
    """Return the levels of all factors except the load as text, in the format of configuration labels in reports."""
    factors = dig(summary, "factors")
    levels = factors.items() if isinstance(factors, Mapping) else ()
    return ", ".join(f"{factor} {level}" for factor, level in levels if factor not in KINDS)


def _of_summary(summary: Summary, name: str, configuration: str, label: str | None) -> ComparedRun:
    """Return a run of a comparison from a run summary. If `label` selects a configuration, the cell of the run is its
    load without the configuration.
    """
    load = next(
        (f"{dig(summary, *path)} {path[0]}" for path in (("users", "asked"), ("rate",)) if dig(summary, *path)), ""
    )
    cell = load if label is not None else ", ".join(part for part in (configuration, load) if part)
    verdict = dig(summary, "verdict", "level")
    doubts = dig(summary, "verdict", "reasons") or ()
    reasons = tuple(str(dig(doubt, "message")) for doubt in doubts)
    because = tuple(str(dig(doubt, "kind")) for doubt in doubts if dig(doubt, "level") == DoubtLevel.INVALID)
    figures = dict(_figures_of_summary(summary))
    failures = {}
    for transaction, found in _transactions(summary):
        failed = int(dig(found, "errors") or 0)
        failures[transaction] = Failures(failed, failed + int(dig(found, "count") or 0))
    ended = sum(found.ended for found in failures.values())
    failures = {"": Failures(int(dig(summary, "errors", "count") or 0), ended), **failures}
    names = tuple(name for name, found in failures.items() if name and found.ended)
    return ComparedRun(name, cell, str(verdict or "invalid"), figures, failures, reasons, because, names)


def _transactions(summary: Summary) -> list[tuple[str, Mapping[str, object]]]:
    found = dig(summary, "transactions")
    items = found.items() if isinstance(found, Mapping) else ()
    return [(str(name), each) for name, each in items if isinstance(each, Mapping)]


def _figures_of_summary(summary: Summary) -> Iterator[tuple[Place, Measured]]:
    yield from _measured(Place(Metric.THROUGHPUT), estimate_from_document(dig(summary, "throughput_per_s")))
    yield from _cpu(summary)
    every = [("", summary), *_transactions(summary)]
    # The first entry covers all transactions together. If there is only one transaction, the second entry has the same
    # values, so it is skipped.
    for transaction, found in every if len(every) > 2 else every[:1]:
        for metric, key in TIMES.items():
            estimate = estimate_from_document(dig(found, "response_time_s", key))
            # Means are computed from exact times instead of histogram buckets, so their resolution is negligible.
            step = 0.0 if metric is Metric.MEAN else max(_NARROWEST_S, (estimate.value or 0.0) * _BUCKET)
            yield from _measured(Place(metric, transaction), estimate, step)


def _cpu(summary: Summary) -> Iterator[tuple[Place, Measured]]:
    """Yield the sum over all tiers of the CPU time per transaction. Yield nothing if the CPU time of a tier is
    unknown.
    """
    tiers = dig(summary, "tiers")
    found = [
        estimate_from_document(dig(tier, "cpu_demand_s"))
        for tier in (tiers.values() if isinstance(tiers, Mapping) else ())
    ]
    values = [each.value for each in found if each.value is not None]
    total = sum(values)
    if not values or len(values) < len(found) or total <= 0:
        return
    errors = [standard_error_of(each) for each in found]
    known = [error for error in errors if error is not None]
    error = sum(each**2 for each in known) ** 0.5 / total if len(known) == len(errors) else None
    yield Place(Metric.CPU), Measured(total, error)


def _measured(place: Place, estimate: Estimate, step: float = 0.0) -> Iterator[tuple[Place, Measured]]:
    """Yield a value with its relative error and resolution; nothing if the value is missing.

    A response time of 0 is yielded, because it is a time below the resolution. Any other value of 0 is skipped.
    """
    if estimate.value is None or (not estimate.value and place.metric not in TIMES):
        return
    error = standard_error_of(estimate) if estimate.value > 0 else None
    yield place, Measured(estimate.value, None if error is None else error / estimate.value, step)


def _of_file(path: Path) -> Side:
    judged = judge_file(path)
    run = ComparedRun(
        str(path),
        FILES,
        judged.verdict,
        dict(_figures_of_file(judged)),
        dict(_failures_of_file(judged)),
        reasons=tuple(doubt.message for doubt in judged.doubts),
        because=tuple(str(doubt.kind) for doubt in judged.doubts if doubt.level is DoubtLevel.INVALID),
        transactions=() if judged.inside is None else tuple(filter(None, judged.inside.names)),
        source=_digest(path),
    )
    return Side(str(path), (run,), {"form": judged.form})


def _digest(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _figures_of_file(judged: Judged) -> Iterator[tuple[Place, Measured]]:
    yield from _measured(Place(Metric.THROUGHPUT), judged.figures.throughput_per_s)
    # All times in a file come from the same clock, so they have the same resolution. It is determined from all
    # transactions together, because rare transactions have too few times.
    step = 0.0 if judged.inside is None else resolution_of(judged.inside.elapsed_s)
    yield from _times(judged.figures, "", step)
    for transaction, requests in _by_transaction(judged):
        start, end = judged.window_s or (0.0, 0.0)
        yield from _times(of_requests(requests, observations_of(requests, start, end)), transaction, step)


def _times(figures: Figures, transaction: str, step: float) -> Iterator[tuple[Place, Measured]]:
    """Yield mean and percentiles of response times, each with its resolution.

    The resolution of the mean is negligible, because the rounding errors of many requests average out.
    """
    for metric, key in TIMES.items():
        yield from _measured(
            Place(metric, transaction), figures.response_time_s[key], 0.0 if metric is Metric.MEAN else step
        )


def _failures_of_file(judged: Judged) -> Iterator[tuple[str, Failures]]:
    if judged.requests is not None and judged.errors is not None:
        yield "", Failures(judged.errors, judged.requests)
    for transaction, requests in _by_transaction(judged):
        yield transaction, Failures(int((~requests.ok).sum()), len(requests))


def _by_transaction(judged: Judged) -> Iterator[tuple[str, Requests]]:
    """Yield the name and the requests of each transaction in the window; nothing if there is only one transaction."""
    inside = judged.inside
    if inside is None or len(inside.names) < 2:
        return
    for number, name in enumerate(inside.names):
        requests = inside.chosen(inside.transaction == number)
        if len(requests) >= _REQUESTS_AT_LEAST:
            yield name or "(no name)", requests
