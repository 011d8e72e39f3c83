"""Defines the keys and types that lines of recorded streams must have. Any other line counts as damaged.

A checksum proves that a line is unchanged, but not that its values are plausible: a count may be 1e300, or a time may
not be a number. Unknown and missing keys are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

# Largest accepted time, which is a century. [ns]
LARGEST_NS = 3_155_760_000 * 10**9
# Largest accepted count. No real counter of a run is as large, and the sum of a few thousand accepted counts fits into
# 64 bits. [1]
LARGEST = 10**15
# Largest accepted metric value. Squares and sums of accepted values stay far below the largest float.
LARGEST_METRIC = 1e30
Instant = Annotated[int, Field(ge=-LARGEST_NS, le=LARGEST_NS)]
Span = Annotated[float, Field(ge=0, le=LARGEST_NS, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Name = Annotated[int, Field(ge=0, le=10**9)]
Content = tuple[int, str]
"""Type of the content of a stored item: size [bytes] and SHA-256 digest."""
StageTime = Annotated[float, Field(allow_inf_nan=False, ge=-1e9, le=1e9)]
StageRate = Annotated[float, Field(allow_inf_nan=False, ge=0, le=LARGEST)]
StatusCode = Annotated[str, Field(pattern=r"^[1-9][0-9]{2}$")]


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class RecordedStage(_Line):
    """Stage of the load: planned or actual start and end [s], and numbers of users [1] or arrival rates [1/s] at its
    end, of all user groups together and by group.
    """

    name: str | None = None
    phase: str | None = None
    start_s: StageTime = 0.0
    end_s: StageTime = 0.0
    users: Count | None = None
    rate: StageRate | None = None
    users_by_group: list[Count] | None = None
    rates_by_group: list[StageRate] | None = None


class RecordedPart(_Line):
    """Page or step, with the transaction that contains it."""

    name: str
    transaction: str


class SegmentHeader(_Line):
    """Header line of a segment file: number of load threads [1], number of changes to the stages [1], start of the run
    on two clocks [ns], and the names to whose indexes the other lines refer.
    """

    workers: Count = 0
    edits: Count = 0
    monotonic_ns: Instant | None = None
    wall_ns: Instant | None = None
    stages: list[RecordedStage] = []
    transactions: list[str] = []
    pages: list[RecordedPart] = []
    steps: list[RecordedPart] = []
    groups: list[str] = []


class SeriesForm(_Line):
    """Keys and types of the counts and times of one step, page or transaction."""

    of: str
    id: Name
    group: Name | None = None
    offered: Count | None = None
    started: Count | None = None
    ok: Count | None = None
    picked: Count | None = None
    failed: dict[str, Count] | None = None
    not_started: dict[str, Count] | None = None
    status_codes: dict[StatusCode, Count] | None = None
    bytes_out: Count | None = None
    bytes_in: Count | None = None
    response: str | None = None
    response_sum_ns: Span = 0
    exchange: str | None = None
    exchange_sum_ns: Span = 0
    first_byte: str | None = None


class PausesForm(_Line):
    """Keys and types of the pauses of one user group."""

    group: Name
    pause: str
    pause_sum_ns: Span


class ThinkForm(_Line):
    """Keys and types of the completed pauses of all user groups."""

    count: Count = 0
    sum_ns: Span = 0


class PlacesForm(_Line):
    """Numbers of successful and failed requests at each place of a target. [1]"""

    ok: list[Count]
    failed: list[Count]


class FramingForm(_Line):
    """Numbers of surplus bytes and of unasked responses on connections. [1]"""

    surplus: Count = 0
    unasked: Count = 0


class IntervalForm(_Line):
    """Keys and types of the record of one load thread between two times of the run. `stalls` are the recorded intervals
    with a stall of which a merged interval consists: start, end, stalled time and longest gap. [ns]
    """

    t0_ns: Instant
    t1_ns: Instant
    stage: Name
    users: Count
    user_ns: Span
    in_flight: Count
    connections: Count = 0
    cpu_ns: Span
    lag: str | None = None
    connect: str | None = None
    tls: str | None = None
    connection_wait: str | None = None
    think: ThinkForm | None = None
    series: list[SeriesForm]
    thinks: list[PausesForm] | None = None
    arrivals: list[Count] | None = None
    gaps: str | None = None
    gaps_sum_ns: Span = 0
    handshakes: dict[str, Count] | None = None
    waiting: Count = 0
    gap_ns: Span | None = None
    stalled_ns: Span = 0
    stalls: list[Annotated[list[Span], Field(min_length=4, max_length=4)]] = []
    places: PlacesForm | None = None
    framing: FramingForm | None = None


class StoredNote(_Line):
    """Note of a load thread about a stored item: kind `of` and `key` of the item, times of the note and of the start of
    the request [ns], and the response.
    """

    k: str
    of: str
    key: str
    t_ns: int = 0
    begun_ns: int | None = None
    does: str | None = None
    unknown: bool = False
    absent: bool = False
    status: int | None = None
    failure: str | None = None
    bytes: int | None = None
    sha256: str | None = None

    @property
    def content(self) -> Content | None:
        """Content that was sent or received; None if the note does not contain it."""
        return None if self.bytes is None or self.sha256 is None else (self.bytes, self.sha256)


Tree = dict[str, object]
"""Type of a part of a sample whose keys depend on the observed system. `has_form` checks its numbers."""


class ProbeHeader(_Line):
    """Header line of a probe: its time [ns], the interval between samples [s], the host, and the observed groups of
    processes.
    """

    t_ns: Instant | None = None
    interval_s: float | None = None
    host: Tree = {}
    groups: dict[str, Tree] = {}


class SampleForm(_Line):
    """Keys and types of a sample of the probe."""

    t_ns: Instant
    wall_ns: Instant | None = None
    host: Tree = {}
    cpus: list[Tree] = []
    disks: dict[str, Tree] = {}
    networks: dict[str, Tree] = {}
    groups: dict[str, Tree] = {}
    probe: Tree = {}


class MetricsForm(_Line):
    """Keys and types of the metrics that a service reported at one time."""

    t_ns: Instant
    wall_ns: Instant | None = None
    values: Tree


def has_form(form: type[_Line], document: Mapping[str, object]) -> bool:
    """Return True if a line has the keys and types of a form; in samples and metrics, all numbers must be finite."""
    try:
        form.model_validate(document)
    except ValidationError:
        return False
    return not issubclass(form, SampleForm | MetricsForm) or _is_finite(document)


def _is_finite(tree: Any) -> bool:
    """Return True if all numbers in nested lists and mappings are finite, and small enough for finite sums."""
    if isinstance(tree, dict):
        return all(map(_is_finite, tree.values()))
    if isinstance(tree, list):
        return all(map(_is_finite, tree))
    return not isinstance(tree, int | float) or -LARGEST_METRIC <= tree <= LARGEST_METRIC
