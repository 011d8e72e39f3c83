"""Reads the engine's records. Each load thread writes a sequence of checksummed files (segments).

If a file was damaged by a kill or a bad disk, its complete lines are still read, and all other lines are counted in
`Damage`. Histograms stay encoded; the analysis decodes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from towtank.errors import StudyError
from towtank.files import version_of
from towtank.results import lines, long_runs
from towtank.results.manifests import EngineForm, read_object
from towtank.results.recording import Pauses, RecordedInterval, RecordedSeries, Recording, Stalled
from towtank.results.stream_forms import (
    FramingForm,
    IntervalForm,
    PausesForm,
    RecordedStage,
    SegmentHeader,
    SeriesForm,
    ThinkForm,
)

SEGMENTS = "worker-*.ndjson"
_SECOND_NS = 1e9
_SEGMENT = re.compile(r"worker-(\d+)\.(\d+)\.ndjson")
_ReadLines = Callable[[Iterator[bytes]], None]
_BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError)


def read(folder: Path, *, whole: bool = False) -> Recording:
    """Read all segments in `RUN/engine`, complete or not. The folder may be missing or empty.

    Unless `whole`, the intervals of a long run are merged, see `long_runs`; callers must not change the recording.
    """
    by_worker = _by_worker(folder)
    short = None if whole else long_runs.shortening_of(folder.parent, by_worker)
    if short is None:
        return _sorted(_whole(by_worker))
    version = version_of([path for own in by_worker.values() for path in own]), short
    return long_runs.kept(folder.parent, "segments", version, lambda: _merged(folder, by_worker, short))


def shortening(folder: Path) -> long_runs.Shortening | None:
    """Return how `read` shortens the records of a run; None if it reads all of them. The folder is `RUN/engine`."""
    return long_runs.shortening_of(folder.parent, _by_worker(folder))


def _merged(folder: Path, by_worker: Mapping[int, list[Path]], short: long_runs.Shortening) -> Recording:
    recording = Recording(width_s=short.width_ns / _SECOND_NS)
    for worker, own in by_worker.items():
        _extend(recording, worker, own, lambda own, read: long_runs.merged(own, short.width_ns, read))
    incomplete = recording.incomplete_cells()
    if incomplete:
        span_s = min(incomplete) * recording.width_s, (max(incomplete) + 1) * recording.width_s
        seconds = read_span(folder, *span_s).intervals
        kept = [interval for interval in recording.intervals if recording.cell_of(interval) not in incomplete]
        again = [interval for interval in seconds if recording.cell_of(interval) in incomplete]
        recording.intervals, recording.whole_cells = kept + again, incomplete
    return _sorted(recording)


def read_span(folder: Path, from_s: float, until_s: float) -> Recording:
    """Read the intervals of a long run that overlap a time span of the run [s], each as it was recorded."""
    recording = Recording()
    for worker, own in _by_worker(folder).items():
        _extend(recording, worker, own, lambda own, read: long_runs.within(own, from_s, until_s, read))
    return _sorted(recording)


def _by_worker(folder: Path) -> dict[int, list[Path]]:
    found: dict[int, list[Path]] = {}
    for path, worker in paths(folder):
        found.setdefault(worker, []).append(path)
    return found


def _sorted(recording: Recording) -> Recording:
    recording.intervals.sort(key=lambda interval: (interval.start_s, interval.worker))
    return recording


def _whole(by_worker: Mapping[int, list[Path]]) -> Recording:
    recording = Recording()
    for worker, own in by_worker.items():
        _read_segments(own, worker, recording)
    return recording


def _extend(
    recording: Recording, worker: int, own: list[Path], shorten: Callable[[list[Path], _ReadLines], bool]
) -> None:
    """Add the shortened records of one load thread to a recording; all its records if they cannot be shortened."""
    part = Recording()
    part.damage.torn_tail = any(map(long_runs.has_torn_tail, own))
    if not shorten(own, lambda stream: _read_lines(lines.documents(stream, part.damage), worker, part)):
        part = Recording()
        _read_segments(own, worker, part)
    recording.workers_found.add(worker)
    recording.intervals += part.intervals
    recording.ends |= part.ends
    recording.damage.bad_lines += part.damage.bad_lines
    recording.damage.torn_tail |= part.damage.torn_tail
    if part.header is not None and (recording.header is None or part.header.edits > recording.header.edits):
        recording.header = part.header


def _read_segments(own: list[Path], worker: int, recording: Recording) -> None:
    recording.workers_found.add(worker)
    for path in own:
        _read_lines(lines.read(path, recording.damage), worker, recording)


def paths(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the path and thread number of each segment in a folder, in order."""
    for path in sorted(folder.glob(SEGMENTS)):
        if (worker := worker_of(path)) is not None:
            yield path, worker


def worker_of(path: Path) -> int | None:
    """Return the number of the load thread that writes a segment; None for any other file."""
    match = _SEGMENT.fullmatch(path.name)
    return int(match[1]) if match else None


def _read_lines(documents: Iterator[dict[str, object]], worker: int, recording: Recording) -> None:
    for document in documents:
        try:
            kind = document["k"]
            if kind == "header":
                recording.header = newer_header(recording.header, document)
            elif kind == "interval":
                recording.intervals.append(interval(document, worker))
            elif kind == "end":
                recording.ends[worker] = str(document.get("message") or "")
        except _BROKEN:
            recording.damage.bad_lines += 1


def read_interval(document: Mapping[str, object], worker: int) -> RecordedInterval | None:
    """Read one line of kind `interval`; return None if the line is damaged."""
    try:
        return interval(document, worker)
    except _BROKEN:
        return None


def newer_header(known: SegmentHeader | None, line: Mapping[str, object]) -> SegmentHeader:
    """Return the newer header, which is the header with more changes to the stages; `known` if both have the same
    number. All load threads apply the same changes. Raise `ValueError` if the line is malformed.
    """
    found = SegmentHeader.model_validate(line)
    return found if known is None or found.edits > known.edits else known


def interval(document: Mapping[str, object], worker: int) -> RecordedInterval:
    """Convert a line of kind `interval`; raise `ValueError` if the line is malformed."""
    form = IntervalForm.model_validate(document)
    if form.t1_ns < form.t0_ns:
        raise ValueError("no interval")
    think, framing = form.think or ThinkForm(), form.framing or FramingForm()
    return RecordedInterval(
        worker=worker,
        start_s=form.t0_ns / _SECOND_NS,
        end_s=form.t1_ns / _SECOND_NS,
        stage=form.stage,
        users=form.users,
        user_s=form.user_ns / _SECOND_NS,
        in_flight=form.in_flight,
        connections=form.connections,
        cpu_s=form.cpu_ns / _SECOND_NS,
        lag=form.lag,
        connect=form.connect,
        think_count=think.count,
        think_sum_s=think.sum_ns / _SECOND_NS,
        series=[_series(series) for series in form.series],
        thinks=None if form.thinks is None else [_pauses(pauses) for pauses in form.thinks],
        arrivals=form.arrivals or [],
        gaps=form.gaps,
        gaps_sum_s=form.gaps_sum_ns / _SECOND_NS,
        tls=form.tls,
        connection_wait=form.connection_wait,
        handshakes=form.handshakes or {},
        waiting=form.waiting,
        places_ok=form.places.ok if form.places else [],
        places_failed=form.places.failed if form.places else [],
        gap_s=None if form.gap_ns is None else form.gap_ns / _SECOND_NS,
        stalled_s=form.stalled_ns / _SECOND_NS,
        stalls=tuple(Stalled(*(at / _SECOND_NS for at in stall)) for stall in form.stalls),
        surplus=framing.surplus,
        unasked=framing.unasked,
    )


def _pauses(form: PausesForm) -> Pauses:
    return Pauses(form.group, form.pause, form.pause_sum_ns / _SECOND_NS)


def _series(form: SeriesForm) -> RecordedSeries:
    return RecordedSeries(
        of=form.of,
        number=form.id,
        group=form.group,
        offered=form.offered or 0,
        started=form.started or 0,
        ok=form.ok or 0,
        failed=form.failed or {},
        not_started=form.not_started or {},
        bytes_out=form.bytes_out or 0,
        bytes_in=form.bytes_in or 0,
        response=form.response,
        response_sum_s=form.response_sum_ns / _SECOND_NS,
        exchange=form.exchange,
        exchange_sum_s=form.exchange_sum_ns / _SECOND_NS,
        first_byte=form.first_byte,
        picked=form.picked,
        status_codes=None if form.status_codes is None else {int(code): n for code, n in form.status_codes.items()},
    )


def read_engine_document(folder: Path) -> EngineForm | None:
    """Read `engine.json` of a run; return None if the file is missing or no JSON object. `left_out` names malformed
    keys.
    """
    path = folder / "engine.json"
    try:
        return EngineForm.read(read_object(path))
    except (OSError, ValueError, StudyError):
        return None


def stages_of(recording: Recording) -> list[RecordedStage]:
    """Return the stages of a run, with their actual times if known, and otherwise with the planned times; an empty list
    if no header was read.
    """
    return recording.header.stages if recording.header else []


def stage_of(stages: Sequence[RecordedStage], number: int) -> RecordedStage:
    """Return the stage with a number; a stage without a name if there is no such stage."""
    return stages[number] if 0 <= number < len(stages) else RecordedStage()


def names_of(recording: Recording, of: str) -> Iterator[str]:
    """Yield the names of all transactions, pages or steps in the order of their indexes.

    Names of pages and steps have the form `transaction / name`.
    """
    header = recording.header or SegmentHeader()
    if of == "transaction":
        yield from header.transactions
        return
    for part in header.pages if of == "page" else header.steps:
        yield f"{part.transaction} / {part.name}"
