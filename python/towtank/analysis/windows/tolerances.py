"""Defines the sizes of changes over a window: the smallest relevant change, and the change that must be excluded.

A change counts if it is significant and larger than `tolerance`. Without such a change, a steady state is shown if the
change plus its error is at most `allowed`. `allowed` is larger than `tolerance`, because the error of a change falls
only with the square root of the window's length. To exclude changes of 5 % of throughput, a window must be four times
as long as to exclude changes of 10 %. A change between `tolerance` and `allowed` is relevant if it is detected, but a
window that counts as steady may hide it.
"""

from __future__ import annotations

TOLERANCE = {"throughput": 0.05, "response_time": 0.20}
"""A change over the window is relevant if it is significant and larger than this, by metric. [1]

Response time has the larger tolerance, because near saturation it fluctuates more than throughput.
"""
ALLOWED = {"throughput": 0.10, "response_time": 0.25}
"""Largest change over the window that noise may hide in a steady window, by metric. For response time, it is the
change of the logarithm: 0.25 equals 28 %. [1]
"""
CPU_TOLERANCE = 0.10
"""Smallest relevant change of other series, such as the CPU time of tiers, and largest change that noise may
hide. [1]
"""
GROSS = 3.0
"""A change over the window makes the run invalid if it significantly exceeds this multiple of the tolerance. [1]"""
NEGLIGIBLE = 0.005
"""A settle stage ignores a trend of at most this size, even if it is significant. [1]"""


def tolerance(metric: str) -> float:
    """Return the largest change of a metric over a window that is not yet relevant. [1]"""
    return TOLERANCE.get(metric, CPU_TOLERANCE)


def allowed(metric: str) -> float:
    """Return the largest change of a metric that noise may hide in a steady window. [1]

    For response time, it is the change of the logarithm.
    """
    return ALLOWED.get(metric, CPU_TOLERANCE)
