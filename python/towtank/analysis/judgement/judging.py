"""Analyses a result file of any load generator, and collects doubts about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from towtank.analysis.doubts import Doubt, level_of
from towtank.analysis.judgement import doubting
from towtank.analysis.judgement.figures import Figures, of_requests, of_summary
from towtank.analysis.judgement.observations import Observations, ends_of, observations_of, whole_window
from towtank.analysis.windows.window import Window, of_series
from towtank.errors import Fault, StudyError
from towtank.foreign import Foreign, Requests, read_foreign

SCHEMA = "towtank/judge/1"
# Response times are tested for a steady state only if at least this share of the observations contains response times,
# in (0, 1].
_KNOWN_AT_LEAST = 0.5


@dataclass(frozen=True)
class Judged:
    """Result of the analysis of a result file, with doubts about the file.

    Attributes
    ----------
    file : Path
    form : str
        Format of the file, such as `k6 JSON`.
    doubts : tuple of Doubt
    window_s : (float, float) or None
        Start and end of the analysed window, as time since the first start of a request; None for a file of summaries.
        [s]
    requests, errors : int or None
        Number of requests in the whole file, and number of failed requests; None if unknown. [1]
    figures : Figures
        Throughput and response times in the window.
    inside : Requests or None
        Requests that started in the window.
    skipped : dict of str to int
        Number of rows that could not be used, by reason. [1]
    notes : tuple of str
        Properties of the format that affect the interpretation of the results.
    note : str
        Property of the window that affects the interpretation of the results; empty if there is none.
    """

    file: Path
    form: str
    doubts: tuple[Doubt, ...]
    window_s: tuple[float, float] | None
    requests: int | None
    errors: int | None
    figures: Figures
    inside: Requests | None = None
    skipped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    note: str = ""

    @property
    def verdict(self) -> str:
        """Verdict on the file: `valid`, `suspect` or `invalid`. The most severe doubt determines it."""
        return level_of(list(self.doubts))

    def document(self) -> dict[str, object]:
        """Return the analysis of the file as JSON, for the list `files` of a judgement."""
        inside = self.inside
        return {
            "file": str(self.file),
            "form": self.form,
            "verdict": self.verdict,
            "doubts": [doubt.document() for doubt in self.doubts],
            "window_s": None if self.window_s is None else list(self.window_s),
            "requests": self.requests,
            "errors": self.errors,
            **self.figures.document(),
            "in_window": None if inside is None else {"requests": len(inside), "errors": int((~inside.ok).sum())},
            "skipped": self.skipped,
            "notes": list(self.all_notes),
        }

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Notes about the format of the file and about the analysed window."""
        return (*self.notes, *([self.note] if self.note else []))


@dataclass(frozen=True)
class Judgement:
    """Results of the analysis of several result files."""

    files: tuple[Judged, ...]

    @property
    def is_invalid(self) -> bool:
        """True if at least one file is invalid."""
        return any(judged.verdict == "invalid" for judged in self.files)

    def document(self) -> dict[str, object]:
        """Return the analyses of all files as the JSON document of `towtank judge --json`."""
        return {"schema": SCHEMA, "files": [judged.document() for judged in self.files]}


def judge_files(paths: Sequence[Path]) -> Judgement:
    """Read and analyse several result files.

    Raises
    ------
    StudyError
        If files cannot be read, or their formats are not recognised. The error lists all faults.
    """
    judged, faults, hint = [], list[Fault](), None
    for path in paths:
        try:
            judged.append(judge_file(path))
        except StudyError as error:
            faults += error.faults
            hint = error.hint or hint
    if faults:
        raise StudyError(faults, hint=hint)
    return Judgement(tuple(judged))


def judge_file(path: Path) -> Judged:
    """Read and analyse one result file.

    Raises
    ------
    StudyError
        If the file cannot be read, or its format is not recognised.
    """
    found = read_foreign(path)
    if found.requests is None:
        return _of_summary(found)
    if not len(found.requests):
        return _without_requests(found)
    return _of_requests(found, found.requests)


def _of_summary(found: Foreign) -> Judged:
    summary = found.summary
    assert summary is not None
    doubts = [
        *doubting.of_file(found),
        *doubting.of_counts(summary.requests, summary.errors),
        *doubting.of_summaries(),
    ]
    return Judged(
        found.file,
        found.form,
        tuple(doubts),
        None,
        summary.requests,
        summary.errors,
        of_summary(summary),
        skipped=found.skipped.by_reason,
        notes=tuple(found.notes),
    )


def _without_requests(found: Foreign) -> Judged:
    assert found.requests is not None
    doubts = (*doubting.of_file(found), *doubting.of_counts(0, 0))
    none = np.zeros(0)
    nothing = of_requests(found.requests, Observations(none, none, none, none, np.zeros(0, dtype=np.int64)))
    notes = tuple(found.notes)
    return Judged(found.file, found.form, doubts, None, 0, 0, nothing, skipped=found.skipped.by_reason, notes=notes)


def _of_requests(found: Foreign, requests: Requests) -> Judged:
    window = steady_window(requests)
    inside = requests.chosen((requests.start_s >= window.start_s) & (requests.start_s <= window.end_s))
    observed = observations_of(inside, window.start_s, window.end_s, requests)
    figures = of_requests(inside, observed)
    errors = int((~requests.ok).sum())
    doubts = (
        *doubting.of_file(found),
        *doubting.of_counts(len(requests), errors),
        *doubting.of_pauses(requests, window, observed),
        *doubting.of_window(window),
        *doubting.of_samples(inside, figures),
        *doubting.of_times(inside),
        *doubting.of_omission(inside),
    )
    return Judged(
        found.file,
        found.form,
        doubts,
        (window.start_s, window.end_s),
        len(requests),
        errors,
        figures,
        inside,
        found.skipped.by_reason,
        tuple(found.notes),
        window.note,
    )


def steady_window(requests: Requests) -> Window:
    """Return the window of the requests without a transient at the start, with the results of the tests for a steady
    state.
    """
    start, end = whole_window(requests)
    window = Window(start, end, start, end, end)
    inside = requests.chosen((requests.start_s >= start) & (requests.start_s <= end))
    observed = observations_of(inside, start, end, requests)
    if end <= start:
        window.note = "all requests started at the same time"
        return window
    throughput = np.histogram(ends_of(requests), observed.edges_s)[0]
    series = {"throughput": throughput / observed.lengths_s}
    known = observed.response_sum_s > 0
    if float(known.mean()) >= _KNOWN_AT_LEAST:
        # The tests need a value in every observation. In an observation without a response, the response time is
        # interpolated between the neighbouring observations.
        logs = np.log(observed.response_sum_s[known] / observed.started[known])
        places = np.arange(len(known), dtype=float)
        series |= {"response_time": np.interp(places, places[known], logs)}
    return of_series(window, series, observed.edges_s)
