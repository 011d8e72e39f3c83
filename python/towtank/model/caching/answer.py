"""Types of the document of `towtank model cache`, as `docs/reference/model-cache.md` describes."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.model.parts import KeptPart, Part


class DiskLoad(Part):
    """Load that misses cause: disk visits [1] and demand [s] of a transaction, and utilization of the disk [ratio];
    None if not requested.
    """

    disk_visits: float | None = None
    disk_demand_s: float | None = None
    disk_utilization: float | None = None


class CachePoint(KeptPart, DiskLoad):
    """Miss ratio of a cache, with half the width of its interval; `independent_miss_ratio` is that of independent
    references. [ratio]
    """

    miss_ratio: float
    half_width: float | None = None
    independent_miss_ratio: float | None = None


class EntriesPoint(CachePoint):
    """Point of the curve over the number of entries. [1]"""

    entries: int


class BytesPoint(CachePoint):
    """Point of the curve over the size of the cache [byte], with the share of the requested bytes that miss [ratio]."""

    bytes: int
    byte_miss_ratio: float


class CacheLimit(CachePoint):
    """Cache limited by bytes [byte] and entries [1]; None without this limit. `entry_miss_ratio` is the share of
    references without an entry. [ratio]
    """

    bytes: int | None
    entries: int | None
    entry_miss_ratio: float
    byte_miss_ratio: float | None
    metadata_bytes: int | None = None


class SkewRow(DiskLoad):
    """Hit and miss ratio of an index for one exponent of Zipf's law. [ratio]"""

    skew: float
    hit_ratio: float
    miss_ratio: float


class CachedIndexAnswer(Part):
    """Index, the memory that programs leave free, and the memory of a host into which it fits. [byte]"""

    index_bytes: int
    room_bytes: int
    spare_bytes: int
    fits: bool
    memory_needed_bytes: int


class TraceAnswer(Part):
    """Number of references and of their distinct keys [1], requested bytes and bytes of distinct entries [byte], rate
    of references [1/s] and share of first references [ratio].
    """

    references: int
    keys: float
    requested_bytes: int | float | None
    footprint_bytes: int | float | None
    references_per_s: float | None
    warm_up_references: int
    first_reference_ratio: float


class Sampling(Part):
    """Sampled keys [1], sampling rate, and mean and largest half-width of the intervals [ratio]."""

    keys: int
    rate: float
    mean_half_width: float | None
    largest_half_width: float | None


class CacheAnswer(Part):
    """Miss ratios of a trace (`trace`), of an index (`index`), or of Zipf's law."""

    source: str = ""
    method: str
    exact: bool
    trace: TraceAnswer | None = None
    sampling: Sampling | None = None
    curve: tuple[EntriesPoint, ...] = ()
    curve_by_bytes: tuple[BytesPoint, ...] = ()
    limits: tuple[CacheLimit, ...] = ()
    index: CachedIndexAnswer | None = None
    by_skew: tuple[SkewRow, ...] = ()
    warnings: tuple[str, ...] = ()


class TraceFault(Part):
    """Fault in a trace: line and column, counted from 1, name of the value, and the rule that it breaks."""

    line: int
    column: int
    where: str
    message: str


class TraceOutcome(Part):
    """Analysis of a trace as a JSON object, or faults of the trace and the number of further faults."""

    answer: Mapping[str, object] | None = None
    faults: tuple[TraceFault, ...] = ()
    more: int = 0
