"""Curves whose demand changes with the load, compared with exact networks and with simulated systems whose server must
wake up after idling.

The tests also check that such a curve is chosen only if the data require it.
"""

from __future__ import annotations

import heapq
import json
import random
from fractions import Fraction
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from towtank.errors import ModelError
from towtank.model import SimulationSettings, load_model, simulate_models
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.fit import fit_curve
from towtank.model.fitting.goodness import FIT_REJECTED, joint_aicc
from towtank.model.fitting.intervals import t_intervals
from towtank.model.fitting.model_file import checked, model_text, stations
from towtank.model.fitting.network import network_throughput
from towtank.model.fitting.observations import Observations, observations
from towtank.model.fitting.prediction import held_out
from towtank.model.fitting.selection import candidate, choose

USERS = np.array([30.0, 60, 100, 140, 180, 220])
CURVES = ("usl", "amdahl", "linear", "closed", "load-dependent")


def exact_throughput(users: int, demand: Fraction, rates: list[Fraction], delay: Fraction) -> list[Fraction]:
    """Return the throughput X(n) = G(n-1) / G(n) of a load-dependent station and a delay, in rational numbers.

    The normalising constants G are computed from their definition.
    """
    factors = [Fraction(1)]
    for jobs in range(1, users + 1):
        factors.append(factors[-1] * demand / rates[min(jobs, len(rates)) - 1])
    constants = [
        sum((factors[j] * delay ** (n - j) / factorial(n - j) for j in range(n + 1)), Fraction(0))
        for n in range(users + 1)
    ]
    return [constants[n - 1] / constants[n] for n in range(1, users + 1)]


def measured(curve: ClosedCurve, truth: Any, seed: int, users: Any = USERS, spread: float = 0.01) -> Observations:
    """Simulate measurements of a system that follows a curve: throughput, response time and busy servers, with random
    errors.
    """
    noise = np.random.default_rng(seed).standard_normal((3, len(users)))
    parameters = np.array([truth])
    rate = curve.throughput(parameters, users)[0]
    busy = curve.busy(parameters, rate[None, :])[0]
    response = users / rate - curve.think_s
    return observations(
        users,
        rate * (1 + spread * noise[0]),
        error=spread * rate,
        response=response * (1 + 0.05 * noise[1]),
        response_error=0.05 * response,
        think=np.full(len(users), curve.think_s),
        busy=busy * (1 + spread * noise[2]),
        busy_error=spread * busy,
    )


def test_rates_against_rational_numbers() -> None:
    rates = [Fraction(4, 5), Fraction(1), Fraction(3, 2)]
    expected = [float(rate) for rate in exact_throughput(60, Fraction(1, 10), rates, Fraction(3))]
    found = network_throughput(60, [(0.1, tuple(map(float, rates)))], 3.0)
    # The computation uses logarithms of a few hundred, so two of the sixteen digits are lost.
    assert found == pytest.approx(expected, rel=1e-12)


def test_rates_of_equal_servers_are_servers() -> None:
    other = (0.05, 2)
    found = network_throughput(80, [(0.2, (1.0, 2.0, 3.0)), other], 1.5)
    assert found == pytest.approx(network_throughput(80, [(0.2, 3), other], 1.5), rel=1e-12)


def test_a_constant_demand_is_the_closed_curve() -> None:
    parameters = np.array([[0.02, 0.1, 1.0]])
    plain = ClosedCurve(2, 1.0).throughput(parameters[:, :2], USERS)
    assert DependentCurve(2, 1.0, with_busy=True).throughput(parameters, USERS) == pytest.approx(plain, rel=1e-10)


@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.2, 1.8, 3.0])
def test_the_utilization_is_its_own_fixed_point(ratio: float) -> None:
    curve = DependentCurve(2, 1.0, with_busy=True)
    parameters = np.array([[0.02, 0.1, ratio]])
    rate = curve.throughput(parameters, USERS)
    share = curve.busy(parameters, rate) / 2
    # At each point, the utilization is the throughput times the demand at this utilization, divided by two servers. A
    # closed curve with this demand at every load has the same throughput at this point.
    assert share == pytest.approx(rate * curve.demand_at(parameters, share) / 2, rel=1e-12)
    for number, users in enumerate(USERS):
        demand = float(curve.demand_at(parameters, share[:, number])[0])
        plain = ClosedCurve(2, 1.0).throughput(np.array([[demand, 0.1]]), np.array([users]))[0, 0]
        assert rate[0, number] == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("servers", [1, 2, 8])
@pytest.mark.parametrize("ratio", [0.6, 1.2, 1.8])
def test_the_mean_demand_is_near_that_of_the_exact_network(servers: int, ratio: float) -> None:
    curve = DependentCurve(servers, 1.0, with_busy=True)
    parameters = np.array([0.01 * servers, 0.05, ratio])
    exact = network_throughput(200, [(0.01 * servers, curve.rates(parameters))], 1.05)
    users = np.arange(5.0, 201, 5)
    assert curve.throughput(parameters[None, :], users)[0] == pytest.approx(exact[4::5], rel=0.025)


@pytest.mark.waits
def test_the_demands_come_back_with_intervals_that_hold() -> None:
    curve = DependentCurve(1, 1.0, with_busy=True)
    truth = (0.008, 0.02, 1.3)
    hits = np.zeros(3)
    for seed in range(60):
        found = fit_curve(curve, measured(curve, truth, seed))
        document = t_intervals(found)
        hits += [
            document[name][0] <= value <= document[name][1] for name, value in zip(curve.parameters, truth, strict=True)
        ]  # type: ignore[operator]
    # The limit is 95 % minus three standard errors of 3 % each (60 sets of measurements).
    assert (hits / 60 >= 0.86).all(), hits


@pytest.mark.waits
@pytest.mark.parametrize(
    ("name", "curve", "truth"),
    [
        ("load-dependent", DependentCurve(1, 1.0, with_busy=True), (0.006, 0.02, 1.4)),
        ("closed", ClosedCurve(1, 1.0, with_busy=True), (0.006, 0.02, 0.12)),
    ],
)
def test_use_of_the_bottleneck_distinguishes_background_from_a_demand_that_falls(
    name: str, curve: ClosedCurve, truth: tuple[float, ...]
) -> None:
    right = 0
    for seed in range(20):
        choice = choose(CURVES, measured(curve, truth, seed), 1, 1.0, None)
        right += choice.chosen is not None and choice.chosen.name == name
    assert right >= 17, right


def waking_system(users: int, seed: int, *, service_s: float, wake_s: float, seconds: float) -> tuple[float, ...]:
    """Simulate users who think for 1 s, and a server that serves in the order of arrival. When it was idle, it must
    wake up before it serves.

    The fitted curve does not assume this mechanism. Return throughput, mean response time and utilization.
    """
    stream = random.Random(seed)
    queue = [(stream.expovariate(1.0), user) for user in range(users)]
    heapq.heapify(queue)
    free, busy, done, spent, warm = 0.0, 0.0, 0, 0.0, 20.0
    while True:
        arrival, user = heapq.heappop(queue)
        if arrival > seconds:
            break
        work = stream.expovariate(1 / service_s) + (wake_s if arrival >= free else 0.0)
        free = max(arrival, free) + work
        if arrival > warm:
            busy, done, spent = busy + work, done + 1, spent + free - arrival
        heapq.heappush(queue, (free + stream.expovariate(1.0), user))
    return done / (seconds - warm), spent / done, busy / (seconds - warm)


@pytest.mark.parametrize(("service_s", "wake_s"), [(0.008, 0.002), (0.006, 0.004)])
def test_a_server_that_wakes_up_is_predicted_at_the_level_that_was_held_out(service_s: float, wake_s: float) -> None:
    users = np.array([20.0, 50, 80, 105, 190 if service_s == 0.008 else 240])
    seen = np.array([
        waking_system(int(count), 7 + place, service_s=service_s, wake_s=wake_s, seconds=1500.0)
        for place, count in enumerate(users)
    ])  # fmt: skip
    points = observations(
        users,
        seen[:, 0],
        error=0.005 * seen[:, 0],
        response=seen[:, 1],
        response_error=0.05 * seen[:, 1],
        think=np.full(len(users), 1.0),
        busy=seen[:, 2],
        busy_error=0.005 * seen[:, 2],
    )
    # The demand falls as the load rises, because at low utilization many transactions include the wake-up.
    assert seen[0, 2] / seen[0, 0] == pytest.approx(service_s + wake_s * (1 - seen[0, 2]), rel=0.05)
    choice = choose(CURVES, points, 1, 1.0, None)
    assert choice.chosen is not None
    assert choice.chosen.name == "load-dependent", choice.why
    found: Any = held_out(choice.chosen, points)
    assert found is not None
    row = found["points"][0]
    assert abs(row["error"]) < 0.05
    assert abs(row["response_error"]) < 0.10
    assert row["within_95"]
    # A curve with a constant demand has a larger error at the highest level.
    constant = next(contender for contender in choice.candidates if contender.name == "closed")
    assert abs(fit_error(constant, points)) > abs(row["error"])


def fit_error(fitted: Any, points: Observations) -> float:
    """Return the error at the highest level of a curve of the same kind that is fitted to the lower levels only."""
    alone = candidate(fitted.name, points, 1, 1.0, None).held_out
    assert alone is not None
    return alone.worst_error


@pytest.mark.waits
def test_the_model_file_simulates_to_the_curve(tmp_path: Path) -> None:
    curve = DependentCurve(2, 1.0, with_busy=True)
    points = measured(curve, (0.02, 0.05, 1.5), 3, users=np.array([20.0, 40, 60, 80, 100, 120]))
    fitted = candidate("load-dependent", points, 2, 1.0, None)
    found, left = stations(fitted, None, {})
    assert max(abs(row["error"]) for row in checked(fitted, found, left, 1.0)) < 0.03
    path = tmp_path / "model.yaml"
    path.write_text(model_text(fitted, "here", found, left, 1.0), "utf-8")
    outcome = simulate_models([load_model(path).document], SimulationSettings(precision=0.005))
    answer = outcome.answers[0].document()
    assert answer["steady"], json.dumps(answer)
    simulated = answer["classes"]["transactions"]["throughput_per_s"]
    assert float(fitted.fit.throughput(np.array([120.0]))[0]) == pytest.approx(simulated, rel=0.01)


def test_without_the_use_of_the_bottleneck_there_is_no_such_curve() -> None:
    curve = DependentCurve(1, 1.0, with_busy=True)
    points = measured(curve, (0.008, 0.02, 1.3), 1)
    blind = observations(points.load, points.throughput, think=points.think)
    with pytest.raises(ModelError, match="must have the utilization of the bottleneck"):
        fit_curve(DependentCurve(1, 1.0), blind)
    near = points.chosen(points.load >= 140)
    with pytest.raises(ModelError, match=r"at least 0\.25 apart"):
        fit_curve(curve, near)


def test_a_demand_that_changes_beyond_one_way_of_working_is_rejected() -> None:
    curve = DependentCurve(1, 1.0, with_busy=True)
    points = measured(curve, (0.004, 0.02, 6.0), 1)
    assert candidate("load-dependent", points, 1, 1.0, None).judgement.level == FIT_REJECTED


def test_the_joint_criterion_by_hand() -> None:
    curve = DependentCurve(1, 1.0, with_busy=True)
    found = fit_curve(curve, measured(curve, (0.008, 0.02, 1.3), 2))
    rows = found.solution.residuals.reshape(3, -1)
    squares = float(np.sum(rows[0] ** 2) + np.sum(rows[2] ** 2))
    # n = 12 values of throughput and busy servers, and k = 4 for three parameters and the variance.
    assert joint_aicc(found) == pytest.approx(12 * np.log(squares / 12) + 8 + 40 / 7)
