"""Sizes of a change over a window: the smallest that matters, and the smallest that must be excluded.

A change that was found counts if it is beyond chance and larger than `tolerance`. If none was found, the window is
shown to be at rest if the change plus its error stays below `allowed`. The second limit is wider: the error of a change
falls with the square root of the length, so that a window that excludes 5 % of throughput must be four times as long as
one that excludes 10 %. A change between both limits matters if it is found, and may stay hidden in a window at rest.
"""

from __future__ import annotations

TOLERANCE = {"throughput": 0.05, "response_time": 0.20}
"""Size from which a significant change over the window matters. Response time near saturation fluctuates more than
throughput does; a system whose change alters a capacity figure by a twentieth is not steady. [1]"""
ALLOWED = {"throughput": 0.10, "response_time": 0.25}
"""Change over the window that rest must exclude; for response time, of its logarithm: 28 %. [1]"""
CPU_TOLERANCE = 0.10
"""Both limits for all other series: CPU time of tiers. [1]"""
GROSS = 3.0
"""Multiple of the tolerance from which the run cannot carry an answer at all. [1]"""
NEGLIGIBLE = 0.005
"""Trend that no settle stage waits for, even if it is beyond chance. [1]"""


def tolerance(metric: str) -> float:
    """Return the largest change of a metric over a window that does not matter. [1]"""
    return TOLERANCE.get(metric, CPU_TOLERANCE)


def allowed(metric: str) -> float:
    """Return the largest change of a metric that a window at rest may hide; for response time, of its logarithm. [1]"""
    return ALLOWED.get(metric, CPU_TOLERANCE)
