"""Whether a load that is held has been measured precisely enough: the decision that ends a steady stage."""

from __future__ import annotations

from dataclasses import dataclass, field

from towtank.analysis.statistics import ratio_of_sums
from towtank.analysis.windows.settling import Look, Seconds, look


@dataclass
class Precision:
    """Looks at the record of a steady stage, second by second.

    Attributes
    ----------
    to : float
        Half of the 95 % interval of throughput over its value that is narrow enough. [1]
    at_least_s : float
        No end before this. [s]
    half_width : float or None
        That of the last look; None without an interval. [1]
    last : Look or None
        Whether the system was at rest.

    Notes
    -----
    A stage that ends once an interval is narrow ends a little too often on intervals that are too narrow by chance. The
    shortest time keeps that small: from 15 s on, each second an observation, the interval holds its value as often as
    one over a time set in advance, within 3 points (`tests/certified/test_certified_precision.py`).
    """

    to: float
    at_least_s: float
    half_width: float | None = field(default=None, init=False)
    last: Look | None = field(default=None, init=False)

    def take(self, seconds: Seconds) -> bool:
        """Look once more, with a second more of record; whether the stage may end."""
        found, _ = ratio_of_sums(seconds.ended, seconds.lengths_s)
        self.half_width = None if not found.value or found.half_width is None else found.half_width / found.value
        if float(seconds.lengths_s.sum()) < self.at_least_s or self.half_width is None or self.half_width > self.to:
            return False
        self.last = look(seconds)
        return self.last.steady
