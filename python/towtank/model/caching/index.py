"""Determines whether an index fits completely into the page cache, and, if it does not, the hit ratio of the page
cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from towtank.model.caching.disk import CacheDisk
from towtank.model.caching.trace import SCHEMA, zipf_hit_ratios

SKEWS = (0.0, 0.6, 0.8, 1.0)
"""Exponents of Zipf's law that are assumed if the popularity of the index pages is unknown. 0 means that all pages
are equally popular; 0.6 to 1.0 are usual for content. [1]
"""
NEAR = 0.05
"""Free memory beside the index below which a warning is given, as a share of the index size. An index grows, so a
smaller reserve is soon used up. [ratio]
"""


@dataclass(frozen=True)
class CachedIndex:
    """An index on disk that is read through the page cache of its host: size of the index, memory of the host, largest
    memory that programs use, and size of a page [byte]; all are > 0, except that programs may use none. `skew` is the
    exponent of Zipf's law for the popularity of the pages, >= 0; None stands for each of `SKEWS`. [1]
    """

    index_bytes: int
    memory_bytes: int
    heap_bytes: int = 0
    page_bytes: int = 4096
    skew: float | None = None

    @property
    def room_bytes(self) -> int:
        """Memory of the host that is available to the page cache. [byte]"""
        return self.memory_bytes - self.heap_bytes

    @property
    def fits(self) -> bool:
        """True if the index is smaller than `room_bytes`, so that the whole index stays in memory.

        Examples
        --------
        >>> [CachedIndex(39, memory, heap).fits for memory, heap in ((32, 16), (64, 24))]
        [False, True]
        """
        return self.index_bytes < self.room_bytes


def index_document(index: CachedIndex, disk: CacheDisk | None = None) -> dict[str, object]:
    """Return a JSON document: whether an index fits into the page cache, and the hit ratio for each exponent of Zipf's
    law.

    The page cache must hold at least one page. The visits and demands of `disk` are added to the document.
    """
    pages = -(-index.index_bytes // index.page_bytes)
    room = index.room_bytes // index.page_bytes
    skews = SKEWS if index.skew is None else (index.skew,)
    rows = []
    for skew in skews:
        ratio = 1.0 if index.fits else zipf_hit_ratios(pages, skew, (room,))[0]
        row = {"skew": skew, "hit_ratio": ratio, "miss_ratio": 1 - ratio}
        rows.append({**row, **(disk.figures(1 - ratio, None) if disk is not None else {})})
    spare = index.room_bytes - index.index_bytes
    warnings = []
    if index.fits and spare < NEAR * index.index_bytes:
        share = 100 * spare / index.index_bytes
        warnings.append(f"the index only just fits: it may grow by {share:.2g} %")
    return {
        "schema": SCHEMA,
        "source": "index",
        "method": "size against room" if index.fits else "Che's approximation, independent references to pages",
        "exact": index.fits,
        "index": {
            "index_bytes": index.index_bytes,
            "memory_bytes": index.memory_bytes,
            "heap_bytes": index.heap_bytes,
            "room_bytes": index.room_bytes,
            "spare_bytes": spare,
            "fits": index.fits,
            "pages": pages,
            "pages_in_room": room,
            "memory_needed_bytes": index.index_bytes + index.heap_bytes,
        },
        "by_skew": rows,
        "warnings": warnings,
    }
