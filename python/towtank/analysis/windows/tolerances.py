"""Sizes of changes over a window: the smallest relevant change, and the smallest change that must be excluded.

A change counts if it is significant and larger than `tolerance`. Without such a change, the window counts as steady if
the change plus its error is below `allowed`. The second limit is wider because the error of a change falls with the
square root of the length: to exclude 5 % of throughput, a window must be four times as long as to exclude 10 %. A
change between both limits is relevant if it is found, but may remain hidden in a window that counts as steady.
"""

from __future__ import annotations

TOLERANCE = {"throughput": 0.05, "response_time": 0.20}
"""Size from which a significant change over the window is relevant. Response time near saturation fluctuates more than
throughput; a system whose change alters its capacity by a twentieth is not steady. [1]
"""
ALLOWED = {"throughput": 0.10, "response_time": 0.25}
"""Change over the window that must be excluded; for response time, of its logarithm: 28 %. [1]"""
CPU_TOLERANCE = 0.10
"""Both limits for all other series, such as CPU time of tiers. [1]"""
GROSS = 3.0
"""Multiple of the tolerance above which a change makes the run invalid. [1]"""
NEGLIGIBLE = 0.005
"""Trend that a settle stage ignores, even if it is significant. [1]"""


def tolerance(metric: str) -> float:
    """Return the largest change of a metric over a window that is not relevant. [1]"""
    return TOLERANCE.get(metric, CPU_TOLERANCE)


def allowed(metric: str) -> float:
    """Return the largest change of a metric that a steady window may hide; for response time, of its logarithm. [1]"""
    return ALLOWED.get(metric, CPU_TOLERANCE)
