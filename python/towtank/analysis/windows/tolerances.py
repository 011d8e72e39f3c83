"""Defines limits for the change of a metric over a window: the largest irrelevant change, and the largest change that
noise may hide in a steady window.

A change counts if it is significant and larger than `tolerance`. If there is no such change, a steady state is shown if
the change plus its error is at most `allowed`. `allowed` is larger than `tolerance`, because the error is inversely
proportional to the square root of the length of the window: to exclude changes of 5 % of throughput, a window must be
four times as long as to exclude changes of 10 %. A change between `tolerance` and `allowed` is relevant if it is
detected, but a window that counts as steady may hide it.
"""

from __future__ import annotations

TOLERANCE = {"throughput": 0.05, "response_time": 0.20}
"""A change over the window is relevant if it is significant and larger than this, by metric. [1]

The value is larger for response time, which fluctuates more than throughput near saturation.
"""
ALLOWED = {"throughput": 0.10, "response_time": 0.25}
"""Largest change over the window that noise may hide in a steady window, by metric. [1]

For response time, this is the change of the logarithm: 0.25 corresponds to 28 %.
"""
CPU_TOLERANCE = 0.10
"""Largest irrelevant change of other series, such as the CPU time of tiers. It is also the largest change that noise
may hide in a steady window. [1]
"""
GROSS = 3.0
"""A change over the window is gross, so that the run is invalid, if it significantly exceeds this multiple of the
tolerance. [1]
"""
NEGLIGIBLE = 0.005
"""A settle stage ignores a trend of at most this size, even if it is significant. [1]"""


def tolerance(metric: str) -> float:
    """Return the largest change of a metric over a window that counts as irrelevant. [1]"""
    return TOLERANCE.get(metric, CPU_TOLERANCE)


def allowed(metric: str) -> float:
    """Return the largest change of a metric that noise may hide in a steady window. For response time, this is the
    change of the logarithm. [1]
    """
    return ALLOWED.get(metric, CPU_TOLERANCE)
