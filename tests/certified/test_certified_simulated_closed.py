"""Coverage of the simulator's intervals for random closed networks of 2 to 2,000 users, with exact mean value analysis
as the reference.

`TOWTANK_CLOSED` is the number of networks: 40 by default, 400 for the certification of a release.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from certification import Section, Tabled, percent
from models import engine_model
from scipy import stats

from towtank.model import SimulationSettings, simulate_models, solve_models

NETWORKS = int(os.environ.get("TOWTANK_CLOSED", "40"))
PRECISION = 0.02
CONFIDENCE = 0.95
CHANCE = 0.002
"""Probability that, at a true coverage of 95 %, the observed coverage lies outside the allowed range by chance, for
each bound of the range. [1]
"""


def network(seed: int) -> dict[str, Any]:
    """Return a network with one closed class, one to three product-form queues and a delay station.

    The load is random, from light to ten times the knee.
    """
    stream = np.random.default_rng([seed, 1141])
    users = int(np.round(2 * 1000 ** stream.uniform()))
    think_s = float(stream.choice([1.0, 5.0, 10.0]) * stream.uniform(0.5, 1.5))
    # Load relative to the knee. Above 1, the busiest station is saturated.
    intensity = float(np.exp(stream.uniform(np.log(0.3), np.log(10.0))))
    demand_s = intensity * think_s / users
    stations: list[dict[str, Any]] = [
        {"name": "wan", "discipline": "delay", "services": [{"class": "web", "service_time_s": 0.03}]}
    ]
    for number in range(int(stream.integers(1, 4))):
        share = 1.0 if number == 0 else float(stream.uniform(0.1, 0.95))
        servers = int(stream.choice([1, 1, 2, 4]))
        stations.append(
            {
                "name": f"queue {number}",
                "discipline": str(stream.choice(["ps", "fcfs"])),
                "servers": servers,
                "services": [{"class": "web", "service_time_s": demand_s * share * servers}],
            }
        )
    return {"classes": [{"name": "web", "users": users, "think_time_s": think_s}], "stations": stations}


@cache
def rows() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the exact and the simulated solution of each network."""
    models = [network(seed) for seed in range(NETWORKS)]
    solved = [each.solution.document() for each in solve_models([engine_model(each) for each in models])]
    assert all(answer["exact"] for answer in solved)

    def simulated(seed: int) -> dict[str, Any]:
        settings = SimulationSettings(precision=PRECISION, confidence=CONFIDENCE, seed=seed + 1, threads=1)
        answer: dict[str, Any] = simulate_models([engine_model(models[seed])], settings).answers[0].document()
        return answer

    with ThreadPoolExecutor(2) as pool:
        return list(zip(solved, pool.map(simulated, range(NETWORKS)), strict=True))


def coverage(figure: str) -> int:
    """Return the number of networks whose exact value lies in the simulator's interval."""
    held = 0
    for exact, simulated in rows():
        low, high = simulated["classes"]["web"]["confidence_interval"][figure]
        held += low <= exact["classes"]["web"][figure] <= high
    return held


SECTION = Section(
    "Intervals of the simulator, closed networks",
    "quantity | networks | coverage",
    f"Random product-form networks with 2 to 2,000 users, simulated at a precision of {100 * PRECISION:g} % and "
    "compared with exact mean value analysis. The coverage of the 95 % intervals must lie in the range that contains "
    f"{1 - 2 * CHANCE:.1%} of the coverages of so many networks.",
)


@pytest.mark.waits
@pytest.mark.certify
def test_intervals_of_closed_networks_hold_the_exact_means(tabled: Tabled) -> None:
    least, most = stats.binom.ppf([CHANCE, 1 - CHANCE], NETWORKS, CONFIDENCE)
    for figure, words in (
        ("response_time_s", "mean response time"), ("throughput_per_s", "throughput"),
        ("users_in_system", "users in the system"),
    ):  # fmt: skip
        held = coverage(figure)
        tabled(SECTION, words, str(NETWORKS), percent(held / NETWORKS), holds=bool(least <= held <= most))


def test_no_mean_is_off_by_more_than_the_precision_and_chance_explain() -> None:
    for exact, simulated in rows():
        assert simulated["simulation"]["stopped"] == "precision"
        assert simulated["steady"]
        ratio = simulated["classes"]["web"]["response_time_s"] / exact["classes"]["web"]["response_time_s"]
        assert abs(ratio - 1) < 1.5 * PRECISION


def test_the_law_of_little_holds_in_every_answer() -> None:
    for _, simulated in rows():
        web = simulated["classes"]["web"]
        assert web["little"]["holds"], web
        assert abs(web["throughput_per_s"] * web["response_time_s"] / web["users_in_system"] - 1) < PRECISION / 2
        assert simulated["warnings"] == []
