"""Networks that a fit solves as arrays have the results of the same networks as models with transactions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from towtank.errors import EngineError
from towtank.model.fitting.measured import Resource
from towtank.model.fitting.networks.closed import CLASS, Condition, class_names, solve
from towtank.model.fitting.networks.estimate import Parameters
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.one_class import OneClassNetworks, solve_one_class

CLASSES = ("read", "write", "search")
STATIONS = (Resource("web", 2, ("web",), 0.75), Resource("db", 1, ("db",), 0.4), Resource("sda", 1, ()))
MEASURED = Measured(
    "drawn", CLASSES, STATIONS, np.array([1.0, 2.0]), np.ones(2), np.zeros((2, 3)), np.array([1.0, 3.0, 2.5]), ()
)


def drawn(seed: int) -> tuple[Parameters, Condition]:
    """Return a random network; some of its demands, delays, shares and backgrounds are zero."""
    stream = np.random.default_rng(seed)

    def some(*shape: int) -> Any:
        return stream.uniform(0.001, 0.02, shape) * (stream.random(shape) < 0.8)

    demands = some(3, 3)
    if seed % 5 == 0:
        demands = np.tile(stream.uniform(0.001, 0.02, (3, 1)), 3) * MEASURED.visits  # equal times of all visits
    parameters = Parameters(demands, 5 * some(3), some(3), seed % 3 == 0, (None, 1, 2, 8)[seed % 4])
    shares = stream.dirichlet(np.ones(3)) if seed % 7 else np.array([0.5, 0.0, 0.5])
    return parameters, Condition(int(stream.integers(1, 60)), float(stream.uniform(0, 1)), shares, 5 * some(3))


def test_arrays_and_models_have_the_same_results() -> None:
    solved = solve(MEASURED, [drawn(seed) for seed in range(80)])
    assert not np.isnan(solved.responses).any()
    for place, (_, network) in enumerate(solved.networks):
        found = network.classes[CLASS]
        responses = [found.transactions[name].response_time_s for name in class_names(MEASURED)]
        assert solved.throughput[place] == pytest.approx(found.throughput_per_s, rel=1e-9)
        assert solved.response[place] == pytest.approx(found.response_time_s, rel=1e-9)
        assert list(solved.responses[place]) == pytest.approx(responses, rel=1e-9), place
        parameters, at = solved.rows[place]
        busy = parameters.background + found.throughput_per_s * (parameters.demands @ at.shares)
        assert list(solved.utilization[place]) == pytest.approx(list(busy / np.array([1.5, 0.4, 1.0])), rel=1e-9)


@pytest.mark.parametrize("in_turn", [True, False])
@pytest.mark.parametrize(
    ("demands", "delays"),
    [
        ([[0.01, 0.02, 0.0], [0.003, 0.01, 0.0], [0.0, 0.0, 0.0]], [0.0, 0.0, 0.05]),
        ([[0.01, 0.02, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [0.01, 0.0, 0.0]),
        ([[0.0, 0.0, 0.0]] * 3, [0.01, 0.02, 0.05]),
    ],
)
def test_an_idle_resource_and_a_transaction_without_demand(
    demands: list[list[float]], delays: list[float], in_turn: bool
) -> None:
    """A transaction without any demand visits all stations, also one at which no transaction has a demand."""
    parameters = Parameters(np.array(demands), np.zeros(3), np.array(delays), in_turn)
    solved = solve(MEASURED, [(parameters, Condition(12, 0.2, np.array([0.3, 0.3, 0.4]), np.zeros(3)))])
    found = solved.networks[0][1].classes[CLASS]
    responses = [found.transactions[name].response_time_s for name in class_names(MEASURED)]
    assert solved.throughput[0] == pytest.approx(found.throughput_per_s, rel=1e-9)
    assert solved.response[0] == pytest.approx(found.response_time_s, rel=1e-9)
    assert list(solved.responses[0]) == pytest.approx(responses, rel=1e-9)


def test_one_user_has_no_wait() -> None:
    """The response time of a single user is the sum of its slowed demands and delays."""
    parameters, free = drawn(1)[0], np.zeros(3)
    alone = Condition(1, 0.3, np.array([0.2, 0.3, 0.5]), free)
    busy = Parameters(parameters.demands, free, parameters.delays, in_turn=False, at_once=4)
    slowed = parameters.demands / np.array([0.75, 0.4, 1.0])[:, None]
    solved = solve(MEASURED, [(busy, alone)])
    assert solved.responses[0] == pytest.approx(slowed.sum(axis=0) + parameters.delays, rel=1e-9)


def test_a_refused_network_is_an_error() -> None:
    networks = OneClassNetworks([0], [1.0], ["web"], [1], [["ps"]], *(np.ones((1, 1)) for _ in range(3)))
    with pytest.raises(EngineError, match="users"):
        solve_one_class(networks)
