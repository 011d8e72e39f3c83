"""Random requests whose true throughput, mean and percentiles are known: M/M/1 queues, and autocorrelated lognormal
response times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import lfilter
from scipy.stats import norm

from towtank.foreign import Requests

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
SIGMA = 0.7
"""Standard deviation of the logarithm of the lognormal response times. [1]"""
_WARM = 3000


@dataclass(frozen=True)
class Known:
    """Requests with their true throughput and response times.

    Attributes
    ----------
    throughput_per_s : float
        True throughput. [1/s]
    times_s : dict
        True mean and percentiles of the response time. [s]
    """

    requests: Requests
    throughput_per_s: float
    times_s: dict[str, float]


def queue(rng: np.random.Generator, count: int, utilization: float, service_s: float = 0.01) -> Known:
    """Return the requests of an M/M/1 queue in equilibrium.

    Response times are exponential; their mean is the mean service time divided by (1 - utilization).
    """
    gaps = rng.exponential(service_s / utilization, count + _WARM)
    services = rng.exponential(service_s, count + _WARM)
    # Lindley's recursion: the waiting time is the height of a random walk above its lowest value so far. The steps of
    # the walk are service times minus interarrival times.
    walk = np.cumsum(np.concatenate([[0.0], services[:-1] - gaps[1:]]))
    response = walk - np.minimum.accumulate(np.minimum(walk, 0.0)) + services
    starts = np.cumsum(gaps)[_WARM:]
    mean = service_s / (1 - utilization)
    times = {name: -math.log(1 - share) * mean for name, share in QUANTILES.items()}
    return Known(_requests(starts - starts[0], response[_WARM:]), utilization / service_s, {"mean": mean, **times})


def lognormal(
    rng: np.random.Generator, count: int, correlation: float, gap_s: float = 0.02, median_s: float = 0.01
) -> Known:
    """Return requests at a fixed rate with lognormal response times, whose logarithms are a first-order autoregressive
    series.
    """
    noise = rng.normal(size=count + 500) * math.sqrt(1 - correlation**2)
    logs = lfilter([1.0], [1.0, -correlation], noise)[500:]
    times = {name: median_s * math.exp(SIGMA * float(norm.ppf(share))) for name, share in QUANTILES.items()}
    mean = median_s * math.exp(SIGMA**2 / 2)
    requests = _requests(np.arange(count) * gap_s, median_s * np.exp(SIGMA * logs))
    return Known(requests, 1 / gap_s, {"mean": mean, **times})


def _requests(starts: np.ndarray, elapsed: np.ndarray) -> Requests:
    count = len(starts)
    return Requests(starts, elapsed, np.ones(count, dtype=bool), np.zeros(count, dtype=np.int64), ("",))


def write_csv(path: Path, requests: Requests) -> Path:
    rows = zip(requests.start_s.tolist(), requests.elapsed_s.tolist(), requests.ok.tolist(), strict=True)
    lines = (f"{start:.9f},{1e3 * elapsed:.9f},{int(ok)}\n" for start, elapsed, ok in rows)
    path.write_text("start_s,elapsed_ms,ok\n" + "".join(lines), "utf-8")
    return path
