"""Throughput of a closed network by load, computed by convolution and compared with exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from towtank.model.fitting.closed_curve import ClosedCurve, ThroughputTable, scaled_throughput
from towtank.model.fitting.network import network_throughput


def exact(users: int, stations: list[tuple[Fraction, int]], delay: Fraction) -> list[Fraction]:
    """Return the throughput X(n) = G(n-1) / G(n) from the definition of the normalising constants G, in rational
    numbers.
    """
    constants = [delay**n / factorial(n) for n in range(users + 1)]
    for demand, servers in stations:
        factors = [Fraction(1)]
        for present in range(1, users + 1):
            factors.append(factors[-1] * demand / min(present, servers))
        constants = [sum(factors[j] * constants[n - j] for j in range(n + 1)) for n in range(users + 1)]
    return [constants[n - 1] / constants[n] for n in range(1, users + 1)]


def test_convolution_against_rational_numbers() -> None:
    stations = [(Fraction(4), 8), (Fraction(1, 3), 1), (Fraction(3, 2), 3)]
    expected = [float(rate) for rate in exact(60, stations, Fraction(10))]
    found = network_throughput(60, [(float(demand), servers) for demand, servers in stations], 10.0)
    # The computation uses logarithms of a few hundred, so two of the sixteen digits are lost.
    assert found == pytest.approx(expected, rel=1e-12)


def test_many_servers_do_not_lose_digits() -> None:
    # Eight servers with a demand of 4 s have a throughput of at most 8 / 4 s = 2 /s. 70 users, who think for 10 s, have
    # a response time of 70 / 2 - 10 = 25 s. The textbook recursion loses digits and would give R(80) = -369 s.
    rates = network_throughput(90, [(4.0, 8)], 10.0)
    assert 70 / rates[69] - 10 == pytest.approx(25.0, rel=3e-3)
    assert rates[89] == pytest.approx(2.0, rel=1e-6)
    assert (np.diff(rates) > -1e-12).all()


@pytest.mark.parametrize(("users", "servers"), [(1, 1), (5, 1), (7, 3), (40, 8), (3, 16), (150, 4)])
def test_one_station_is_the_machine_repairman(users: int, servers: int) -> None:
    for ratio in (Fraction(1, 50), Fraction(3), Fraction(90)):
        expected = float(exact(users, [(Fraction(1), servers)], ratio)[-1])
        found = scaled_throughput(users, servers, np.array([float(ratio)]))[0]
        assert found == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("users", "servers"), [(1, 1), (2, 1), (5, 3), (80, 8), (1000, 1), (1000, 16), (20_000, 64), (20_000, 10_000)]
)
def test_the_spline_is_the_exact_solution(users: int, servers: int) -> None:
    stream = np.random.default_rng(users)
    near = max(users / servers - 1, 0.05) * np.exp(stream.uniform(-1, 1, 100))
    ratios = np.concatenate([np.exp(stream.uniform(-12, 12, 100)), near])
    assert ThroughputTable(users, servers)(ratios) == pytest.approx(scaled_throughput(users, servers, ratios), rel=2e-6)


def test_without_a_delay_all_servers_are_busy() -> None:
    assert scaled_throughput(9, 4, np.array([0.0]))[0] == pytest.approx(4.0, rel=1e-12)
    assert scaled_throughput(3, 4, np.array([0.0]))[0] == pytest.approx(3.0, rel=1e-12)


def test_response_time_follows_from_little() -> None:
    curve = ClosedCurve(2, 5.0)
    load = np.array([1.0, 50, 1000])
    parameters = np.array([[0.02, 0.3]])
    rate = curve.throughput(parameters, load)
    response = curve.response(parameters, load, np.full(3, 5.0))
    assert load == pytest.approx((rate * (response + 5.0))[0], rel=1e-12)
    assert response[0, 0] == pytest.approx(0.32, rel=1e-6)
    assert rate[0, -1] == pytest.approx(2 / 0.02, rel=1e-6)


def test_users_that_are_not_whole_lie_between() -> None:
    curve = ClosedCurve(1, 1.0)
    parameters = np.array([[0.1, 0.0]])
    low, middle, high = curve.throughput(parameters, np.array([10.0, 10.25, 11.0]))[0]
    assert middle == pytest.approx(0.75 * low + 0.25 * high, rel=1e-12)


def test_background_leaves_a_tenth_of_the_servers() -> None:
    curve = ClosedCurve(4, 1.0, with_busy=True)
    assert curve.bounds.upper == pytest.approx([np.inf, np.inf, 3.6])
    assert list(curve.bounds.lower) == [0, 0, 0]
