"""Combines the recordings of the load threads and of the probe, second by second."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from towtank.results import (
    NOT_ATTRIBUTED,
    PROBE_FILE,
    NewLines,
    RecordedInterval,
    RecordedSecond,
    RecordedStage,
    Recording,
    RunFolder,
    SampleForm,
    combine_second,
    has_form,
    recorded_names,
    segments,
)
from towtank.sending.update import TierSample, Update

# Largest amount that one update reads from a file. [byte]
_READ_AT_MOST = 8 << 20
_SECOND_NS = 1e9
_CPU_TIMES = ("cpu_user_s_total", "cpu_system_s_total")
# Longest wait for a load thread that has not reported a second yet. A later report is sent separately. [s]
_LATE_S = 2.0

_Key = tuple[int, int]
_Totals = tuple[int, dict[str, float], float | None]
"""Cumulative values of one sample of the probe: time [ns], CPU time by group of processes [s], and CPU time of the host
without Towtank's own processes [s].
"""


class Gatherer:
    """Combines the intervals of all load threads, second by second. The run may not have started yet."""

    def __init__(self, run: RunFolder) -> None:
        self._segments = NewLines(run.engine, segments.SEGMENTS, _READ_AT_MOST)
        self._probe = NewLines(run.observe, PROBE_FILE, _READ_AT_MOST)
        self._recording = Recording()
        self._waiting: dict[_Key, list[RecordedInterval]] = {}
        self._recorded_until: dict[int, float] = {}
        self._before: _Totals | None = None

    def update(self, *, last: bool = False) -> Update | None:
        """Return the seconds that are complete since the last call, or all remaining seconds if `last` is set; None if
        there is nothing to send.
        """
        for path, document in self._segments.new():
            self._take(path, document)
        header = self._recording.header
        if header is None or header.wall_ns is None or header.monotonic_ns is None:
            return None
        found = Update(header.wall_ns, self._ready(last=last), self._tiers(header.monotonic_ns))
        return found if found.seconds or found.tiers else None

    def _take(self, path: Path, document: Mapping[str, object]) -> None:
        worker = segments.worker_of(path) or 0
        if document.get("k") == "header":
            self._recording.header = segments.newer_header(self._recording.header, document)
            self._recorded_until.setdefault(worker, 0.0)
        elif document.get("k") == "interval" and (one := segments.read_interval(document, worker)) is not None:
            self._waiting.setdefault((int((one.start_s + one.end_s) / 2), one.stage), []).append(one)
            self._recorded_until[worker] = max(self._recorded_until.get(worker, 0.0), one.end_s)

    def _ready(self, *, last: bool) -> list[RecordedSecond]:
        """Return the seconds that every load thread has reported, and seconds for which a report is overdue."""
        until = self._recorded_until
        complete = min(until.values(), default=0.0) if len(until) >= self._recording.workers else 0.0
        newest = max(until.values(), default=0.0)
        known, stages = recorded_names(self._recording), segments.stages_of(self._recording)
        found = []
        for key in sorted(self._waiting):
            parts = self._waiting[key]
            end_s = max(part.end_s for part in parts)
            if last or end_s <= complete or end_s <= newest - _LATE_S:
                found.append(combine_second(self._waiting.pop(key), segments.stage_of(stages, key[1]), known))
        return found

    def _tiers(self, origin_ns: int) -> list[TierSample]:
        """Return the mean number of CPUs that each tier used between consecutive samples of the probe under load."""
        found = []
        for _, document in self._probe.new():
            if document.get("k") != "sample" or not has_form(SampleForm, document):
                continue
            sample = SampleForm.model_validate(document)
            by_group = {name: _sum_s(group, *_CPU_TIMES) for name, group in sample.groups.items()}
            totals = {name: used for name, used in by_group.items() if used is not None}
            now = (sample.t_ns, totals, _host_cpu_s(sample))
            if self._before is not None and origin_ns <= self._before[0] < sample.t_ns:
                found.append(self._between(self._before, now, origin_ns))
            self._before = now
        return found

    def _between(self, earlier: _Totals, later: _Totals, origin_ns: int) -> TierSample:
        (before_ns, before, host_before), (at_ns, totals, host) = earlier, later
        start, end = (before_ns - origin_ns) / _SECOND_NS, (at_ns - origin_ns) / _SECOND_NS
        # The counter of a restarted service begins at zero again; a negative difference is omitted.
        used = {name: (total - before[name]) / (end - start) for name, total in totals.items() if name in before}
        known = {name: value for name, value in used.items() if value >= 0}
        # The CPU time that belongs to no group is computed only if both samples have the same groups. The CPU time of a
        # group that is new or gone would otherwise be attributed wrongly.
        if host is not None and host_before is not None and known.keys() == before.keys() == totals.keys():
            known[NOT_ATTRIBUTED] = (host - host_before) / (end - start) - sum(known.values())
        stage = self._stage_at((start + end) / 2)
        return TierSample(start, end, stage.name or "", stage.phase or "", known)

    def _stage_at(self, at_s: float) -> RecordedStage:
        stages = segments.stages_of(self._recording)
        last = segments.stage_of(stages, len(stages) - 1)
        return next((stage for stage in stages if stage.start_s <= at_s < stage.end_s), last)


def _host_cpu_s(sample: SampleForm) -> float | None:
    """Return the CPU time of the host without Towtank's own processes (probe and conductor); None if it was not
    recorded. [s]
    """
    used = _sum_s(sample.host, *_CPU_TIMES)
    if used is None:
        return None
    observing = [_sum_s(sample.probe, key) or 0.0 for key in ("cpu_s_total", "observer_cpu_s_total")]
    return used + (_sum_s(sample.host, "cpu_irq_s_total") or 0.0) - sum(observing)


def _sum_s(part: Mapping[str, object], *counters: str) -> float | None:
    """Return the sum of counters of a part of a sample; None if it lacks one of them. [s]"""
    found = [float(value) for name in counters if isinstance(value := part.get(name), int | float)]
    return sum(found) if len(found) == len(counters) else None
