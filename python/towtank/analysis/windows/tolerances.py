"""Defines the sizes of changes over a window: the smallest relevant change, and the change that must be excluded.

A change counts if it is significant and larger than `tolerance`. Without such a change, a steady state is shown if the
change plus its error is at most `allowed`. The second limit is larger, because the error of a change falls only with
the square root of the length. To exclude changes of 5 % of throughput, a window must be four times as long as to
exclude changes of 10 %. A change between the two limits is relevant if it is detected, but a window that counts as
steady may hide it.
"""

from __future__ import annotations

TOLERANCE = {"throughput": 0.05, "response_time": 0.20}
"""A change over the window is relevant if it is significant and larger than this, by metric. [1]

Response time near saturation fluctuates more than throughput. A system whose capacity changes by a twentieth is not
steady.
"""
ALLOWED = {"throughput": 0.10, "response_time": 0.25}
"""Largest change over the window that noise may hide in a steady window, by metric. For response time, it is the
change of the logarithm: 0.25 equals 28 %. [1]
"""
CPU_TOLERANCE = 0.10
"""For other series, such as the CPU time of tiers, a change that is larger than this is relevant, and must be
excluded. [1]
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
