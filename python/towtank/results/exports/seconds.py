"""Combines the recorded intervals of all load threads and user groups into seconds.

A second never spans two stages. If a stage ends within a second, the second is divided at the end of the stage.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from towtank.results import segments
from towtank.results.recording import RecordedInterval, RecordedSeries, Recording
from towtank.results.stream_forms import RecordedStage


@dataclass(slots=True)
class SecondItem:
    """Counts and response times of a step, page or transaction in one second.

    Histograms stay encoded, one for each load thread and user group.

    Attributes
    ----------
    of : str
        `step`, `page` or `transaction`.
    offered, started, bytes_out, bytes_in : int
        Counts that are recorded for steps only.
    response_sum_s, exchange_sum_s : float
        Exact sums of the values in the histograms. [s]
    status_codes : dict of int to int, or None
        Complete responses of a step by status code; None if a load thread did not record them. [1]
    """

    of: str
    name: str
    offered: int = 0
    started: int = 0
    ok: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    response_sum_s: float = 0.0
    exchange_sum_s: float = 0.0
    failed: dict[str, int] = field(default_factory=dict)
    not_started: dict[str, int] = field(default_factory=dict)
    status_codes: dict[int, int] | None = field(default_factory=dict)
    response: list[str] = field(default_factory=list)
    exchange: list[str] = field(default_factory=list)
    first_byte: list[str] = field(default_factory=list)

    @property
    def ended(self) -> int:
        """Number of requests or transactions that ended in this second, successful or failed."""
        return self.ok + sum(self.failed.values())

    def add(self, other: RecordedSeries | SecondItem) -> None:
        """Add the counts and histograms of a load thread, or of another item, to this item."""
        for name in ("offered", "started", "ok", "bytes_out", "bytes_in", "response_sum_s", "exchange_sum_s"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for own, counts in ((self.failed, other.failed), (self.not_started, other.not_started)):
            for kind, count in counts.items():
                own[kind] = own.get(kind, 0) + count
        self.status_codes = _sum_of_codes(self.status_codes, other.status_codes)
        for texts, more in (
            (self.response, other.response),
            (self.exchange, other.exchange),
            (self.first_byte, other.first_byte),
        ):
            texts.extend(more if isinstance(more, list) else [more] if more else [])


def _sum_of_codes(some: dict[int, int] | None, more: dict[int, int] | None) -> dict[int, int] | None:
    """Add up two mappings of status codes to counts; return None if one of them was not recorded."""
    if some is None or more is None:
        return None
    return {code: some.get(code, 0) + more.get(code, 0) for code in sorted({*some, *more})}


@dataclass(slots=True)
class RecordedSecond:
    """Records of all load threads between two times of the run, at most one second apart. [s]

    Attributes
    ----------
    users : float
        Mean number of active users. [1]
    in_flight, connections : int
        Number of requests without a response, and number of open connections, both at the end of the second. [1]
    cpu_s : float
        CPU time of the load threads. [s]
    lag, connection_wait : list of str
        Encoded histograms of the start lag, and of the time that requests waited for a pooled connection. The time is 0
        if a connection was free.
    items : list of SecondItem
        Transactions, then pages, then steps.
    """

    start_s: float
    end_s: float
    stage: str
    phase: str
    users: float
    in_flight: int
    lag: list[str]
    items: list[SecondItem]
    connections: int = 0
    cpu_s: float = 0.0
    connection_wait: list[str] = field(default_factory=list)

    def of(self, kind: str) -> list[SecondItem]:
        """Return the items of a kind (`step`, `page` or `transaction`) in this second."""
        return [item for item in self.items if item.of == kind]


def seconds(recording: Recording) -> Iterator[RecordedSecond]:
    """Yield the seconds of a run, in order of time."""
    known = recorded_names(recording)
    stages = segments.stages_of(recording)
    groups: dict[tuple[float, int], list[RecordedInterval]] = defaultdict(list)
    for interval in recording.intervals:
        groups[recording.bin_of(interval)].append(interval)
    for key in sorted(groups):
        yield combine_second(groups[key], segments.stage_of(stages, key[1]), known)


def recorded_names(recording: Recording) -> dict[str, list[str]]:
    """Return the names of all transactions, pages and steps, in the order of their indexes."""
    return {of: list(segments.names_of(recording, of)) for of in ("transaction", "page", "step")}


def combine_second(parts: list[RecordedInterval], stage: RecordedStage, known: dict[str, list[str]]) -> RecordedSecond:
    """Combine the intervals of all load threads within one second of one stage."""
    start, end = min(part.start_s for part in parts), max(part.end_s for part in parts)
    items: dict[tuple[int, int], SecondItem] = {}
    for part in parts:
        for series in part.series:
            names = known.get(series.of, [])
            name = names[series.number] if 0 <= series.number < len(names) else f"{series.of} {series.number}"
            place = ("transaction", "page", "step").index(series.of) if series.of in known else 3
            items.setdefault((place, series.number), SecondItem(series.of, name)).add(series)
    return RecordedSecond(
        start_s=start,
        end_s=end,
        stage=stage.name or "",
        phase=stage.phase or "",
        users=sum(part.user_s for part in parts) / (end - start) if end > start else 0.0,
        in_flight=sum(part.in_flight for part in parts),
        lag=[part.lag for part in parts if part.lag],
        items=[items[key] for key in sorted(items)],
        connections=sum(part.connections for part in parts),
        cpu_s=sum(part.cpu_s for part in parts),
        connection_wait=[part.connection_wait for part in parts if part.connection_wait],
    )


def total(items: Iterable[SecondItem], of: str, name: str) -> SecondItem:
    """Return the sum of several items (steps, pages or transactions) as one item."""
    whole = SecondItem(of, name)
    for item in items:
        whole.add(item)
    return whole
