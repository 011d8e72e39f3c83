"""Coverage of the simulator's intervals for queues with known mean and percentiles. Each simulation ends at a requested
precision.

`TOWTANK_CERTIFY` is the number of simulations of each queue, by default 30.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from certification import Section, Tabled, percent
from covering import QUANTILES, SERIES
from models import engine_model
from scipy import stats

from towtank.model import SimulationSettings, simulate_models

RUNS = SERIES or 30
SERVICE_S = 1.0
COVERAGE = 0.93
CHANCE = 0.0001
"""Probability that, at a true coverage of `COVERAGE`, the observed coverage is below the allowed range by chance.
[1]
"""


@dataclass(frozen=True)
class Queue:
    """A first-come-first-served server with Poisson arrivals."""

    utilization: float
    precision: float
    scv: float = 1.0
    distribution: str | None = None

    @property
    def name(self) -> str:
        service = "M/M/1" if self.distribution is None else f"M/G/1, {self.distribution}, scv {self.scv:g}"
        return f"{service} at {self.utilization:g}"

    @property
    def model(self) -> dict[str, Any]:
        more = {} if self.distribution is None else {"distribution": self.distribution}
        service = {"class": "jobs", "service_time_s": SERVICE_S, "variation": {"scv": self.scv, **more}}
        return {
            "classes": [{"name": "jobs", "arrival_rate_per_s": self.utilization / SERVICE_S}],
            "stations": [{"name": "server", "services": [service]}],
        }

    @property
    def truths(self) -> dict[str, float]:
        """True throughput [1/s], mean response time [s] and percentiles of the response time [s].

        The mean is given by the Pollaczek-Khinchine formula; response times of M/M/1 are exponential.
        """
        load = self.utilization
        mean = SERVICE_S * (1 + load * (1 + self.scv) / (2 * (1 - load)))
        found = {"throughput_per_s": load / SERVICE_S, "response_time_s": mean}
        if self.distribution is None:
            found |= {name: -mean * math.log(1 - share) for name, share in QUANTILES.items()}
        return found


QUEUES = [
    Queue(0.5, 0.03),
    Queue(0.8, 0.03),
    Queue(0.8, 0.05),
    Queue(0.9, 0.05),
    Queue(0.6, 0.05, 2.0, "lognormal"),
    Queue(0.6, 0.10, 8.0, "lognormal"),
    Queue(0.6, 0.05, 4.0, "hyperexponential"),
]
SECTION = Section(
    "Intervals of the simulator, open queues",
    "queue | requested precision | quantity | coverage",
    f"{RUNS} simulations of each queue, with seeds from 5000, each until the requested precision is reached. At least "
    f"{100 * COVERAGE:.0f} % of the 95 % intervals must contain the true value, less a tolerance for chance.",
)


@pytest.mark.waits
@pytest.mark.certify
@pytest.mark.parametrize("queue", QUEUES, ids=lambda queue: f"{queue.name} to {queue.precision:g}")
def test_intervals_hold_what_is_known(queue: Queue, tabled: Tabled) -> None:
    def intervals_of(seed: int) -> dict[str, Any]:
        settings = SimulationSettings(precision=queue.precision, seed=seed, threads=1)
        answer: dict[str, Any] = simulate_models([engine_model(queue.model)], settings).answers[0].document()
        assert answer["simulation"]["stopped"] == "precision"
        return dict(answer["classes"]["jobs"]["confidence_interval"])

    with ThreadPoolExecutor(2) as pool:
        intervals = list(pool.map(intervals_of, range(5000, 5000 + RUNS)))
    least = float(stats.binom.ppf(CHANCE, RUNS, COVERAGE))
    for figure, truth in queue.truths.items():
        ends = [interval[figure] for interval in intervals]
        held = sum(low <= truth <= high for low, high in ends)
        words = {"throughput_per_s": "throughput", "response_time_s": "mean"}.get(figure, figure)
        tabled(SECTION, queue.name, percent(queue.precision), words, percent(held / RUNS), holds=held >= least)
