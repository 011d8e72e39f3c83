"""Percentiles of a closed class at a processor-sharing queue, compared with exact moments and with simulations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from towtank.model import SimulationSettings, load_model, simulate_models, solve_models
from towtank.model.closed_percentiles import _spread_of_wait, repairman_moments, sharing_moments
from towtank.model.percentiles import response_percentiles
from towtank.model.stations import NODE_SEPARATOR, stations_of


def test_two_users_who_never_think_share_the_server_for_ever() -> None:
    """Two users without think time are both at the server all the time, so the response time is exponential with mean 2
    S. For a single user the mean is S.
    """
    assert sharing_moments(2, 3.0, 1, 0.0) == pytest.approx((6.0, 36.0), rel=1e-12)
    assert sharing_moments(1, 3.0, 1, 5.0) == pytest.approx((3.0, 9.0), rel=1e-12)
    # If there is a server for each user, no user waits.
    assert sharing_moments(4, 3.0, 4, 1.0) == pytest.approx((3.0, 9.0), rel=1e-12)


def test_two_users_who_think_by_hand() -> None:
    """Two users have a service time of 1 and a think time of 1. An arriving user finds the other with probability 1/2.

    T0 and T1 are the mean response times of a user who finds 0 or 1 other user; E0 and E1 are the mean squares.
    Alone, the user ends, or the other user arrives, at the total rate 2: T0 = 1/2 + T1 / 2 and E0 = T0 + E1 / 2. With
    both users, each ends at the rate 1/2: T1 = 1 + T0 / 2 and E1 = 2 T1 + E0 / 2. So T0 = 4/3, T1 = 5/3, E0 = 4 and E1
    = 16/3. The mean is (T0 + T1) / 2 = 1.5, and the variance is (E0 + E1) / 2 - 1.5^2.
    """
    mean, variance = sharing_moments(2, 1.0, 1, 1.0)
    assert mean == pytest.approx(1.5, rel=1e-12)
    assert variance == pytest.approx((4 + 16 / 3) / 2 - 1.5**2, rel=1e-12)


@pytest.mark.parametrize("users", [1, 3, 40, 300])
@pytest.mark.parametrize("servers", [1, 4])
@pytest.mark.parametrize("away_s", [0.5, 10.0, 200.0])
def test_the_mean_is_that_of_jobs_in_turn(users: int, servers: int, away_s: float) -> None:
    """Processor sharing and service in the order of arrival have the same mean number of jobs, and so by Little's law
    the same mean response time.
    """
    mean, _ = repairman_moments(users, 1.0, servers, away_s)
    assert sharing_moments(users, 1.0, servers, away_s)[0] == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("used", [0.3, 0.8])
def test_many_users_are_an_open_queue(used: float) -> None:
    """For many users the moments are those of M/M/1 with processor sharing: mean r = S / (1 - u) and variance r^2 (2 +
    u) / (2 - u) (Coffman, Muntz and Trotter, 1970).
    """
    mean, variance = sharing_moments(50_000, 1.0, 1, 50_000 / used)
    assert mean == pytest.approx(1 / (1 - used), rel=2e-3)
    assert variance == pytest.approx(mean**2 * (2 + used) / (2 - used), rel=5e-3)


def test_beyond_the_knee_the_time_is_exponential() -> None:
    """Of 600 users, the server completes 1 / 0.01 s = 100 per second, so 110 users think for 1.1 s, and 490 wait.

    About 490 users always share the server, so each is served at a nearly constant rate. The response time is then
    exponential: its variance is the square of its mean, 600 x 0.01 - 1.1 = 4.9 s.
    """
    mean, variance = sharing_moments(600, 0.01, 1, 1.1)
    assert mean == pytest.approx(600 * 0.01 - 1.1, rel=1e-6)
    assert variance == pytest.approx(mean**2, rel=0.02)


@pytest.mark.parametrize(("users", "servers"), [(60, 4), (25, 4), (15, 1)])
def test_a_percentile_worked_out_is_that_of_the_simulator(users: int, servers: int, tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    stations = {"cpu": {"servers": servers, "discipline": "ps", "demand": "1 s"}}
    path.write_text(json.dumps({"classes": {"web": {"users": users, "think": "10 s"}}, "stations": stations}), "utf-8")
    model = load_model(path).document
    answer = solve_models([model])[0].solution
    found = response_percentiles(model, answer, stations_of(answer), "web")[0]
    simulated = simulate_models([model], SimulationSettings(precision=0.01)).answers[0].document()["classes"]["web"]
    for name, share, within in (("p95", 0.95, 0.05), ("p99", 0.99, 0.08)):
        assert found(share) == pytest.approx(simulated["response_time_percentiles_s"][name], rel=within), name


SEVERAL = {
    "closed": {"web": {"users": 60, "think": "1 s"}, "batch": {"users": 3, "think": "1 s"}},
    "open": {"web": {"users": 60, "think": "1 s"}, "batch": {"rate": "3 /s"}},
    "few": {"web": {"users": 2, "think": "100 ms"}, "batch": {"users": 1, "think": "100 ms"}},
    "half open": {"web": {"users": 10, "think": "1 s"}, "batch": {"rate": "4 /s"}},
    "alike": {"web": {"users": 20, "think": "1 s"}, "batch": {"users": 2, "think": "1 s"}},
    "transactions": {
        "all": {
            "users": 60,
            "think": "1 s",
            "transactions": {"web": {"share": "80 %"}, "batch": {"share": "20 %"}},
        }
    },
}


@pytest.mark.parametrize("case", list(SEVERAL))
def test_percentiles_among_several_classes_are_those_of_the_simulator(case: str, tmp_path: Path) -> None:
    """The computed p95 and p99 of each class are those of the simulator.

    The number of jobs at a saturated station is nearly constant, even with several classes. In an open queue it would
    vary: the formula for an open queue overestimates p95 by 44 % and p99 by 74 % (60 users).
    """
    path = tmp_path / "model.yaml"
    stations = {"cpu": {"servers": 2, "discipline": "ps", "demand": {"web": "100 ms", "batch": "200 ms"}}}
    path.write_text(json.dumps({"classes": SEVERAL[case], "stations": stations}), "utf-8")
    model = load_model(path).document
    answer = solve_models([model])[0].solution
    settings = SimulationSettings(precision=0.01, events=4_000_000)
    simulated = simulate_models([model], settings).answers[0].document()["classes"]
    for each in SEVERAL[case]:
        found = response_percentiles(model, answer, stations_of(answer), each)[0]
        # Response times of open arrivals have a longer tail than a gamma distribution with the same variance, so p99
        # may differ more.
        for name, share, within in (("p95", 0.95, 0.04), ("p99", 0.99, 0.10 if case == "half open" else 0.06)):
            seen = simulated[each]["response_time_percentiles_s"][name]
            assert found(share) == pytest.approx(seen, rel=within), (each, name)


@pytest.mark.parametrize("case", ["closed", "open", "transactions"])
def test_percentiles_of_several_classes_in_turn_are_those_of_the_simulator(case: str, tmp_path: Path) -> None:
    """The computed percentiles with service in the order of arrival are those of the simulator.

    With more users than the servers can serve at once, the queue length hardly varies, and so does the waiting time.
    The formula for an open queue would give twice the p95.
    """
    path = tmp_path / "model.yaml"
    stations = {"cpu": {"servers": 2, "discipline": "fcfs", "demand": {"web": "100 ms", "batch": "100 ms"}}}
    path.write_text(json.dumps({"classes": SEVERAL[case], "stations": stations}), "utf-8")
    model = load_model(path).document
    answer = solve_models([model])[0].solution
    settings = SimulationSettings(precision=0.01, events=4_000_000)
    simulated = simulate_models([model], settings).answers[0].document()["classes"]
    for each in SEVERAL[case]:
        found = response_percentiles(model, answer, stations_of(answer), each)[0]
        for name, share, within in (("p95", 0.95, 0.04), ("p99", 0.99, 0.06)):
            seen = simulated[each]["response_time_percentiles_s"][name]
            assert found(share) == pytest.approx(seen, rel=within), (each, name)


def p95_of(path: Path, classes: dict[str, dict[str, object]]) -> float:
    """Return the computed p95 of the response time of a class `web`, at four servers with a demand of 1 s. [s]"""
    stations = {"cpu": {"servers": 4, "discipline": "ps", "demand": "1 s"}}
    path.write_text(json.dumps({"classes": classes, "stations": stations}), "utf-8")
    model = load_model(path).document
    answer = solve_models([model])[0].solution
    return response_percentiles(model, answer, stations_of(answer), "web")[0](0.95)


def test_a_class_of_nearly_nothing_changes_nothing(tmp_path: Path) -> None:
    path, web = tmp_path / "model.yaml", {"users": 60, "think": "10 s"}
    alone = p95_of(path, {"web": dict(web)})
    assert p95_of(path, {"web": dict(web), "rare": {"rate": "0.001 /s"}}) == pytest.approx(alone, rel=0.01)
    assert p95_of(path, {"web": dict(web), "rare": {"users": 1, "think": "1000 s"}}) == pytest.approx(alone, rel=0.01)


@pytest.mark.parametrize(("users", "think"), [(3, "1 s"), (4, "3 s"), (30, "10 s")])
def test_two_classes_alike_are_one(users: int, think: str, tmp_path: Path) -> None:
    path, half = tmp_path / "model.yaml", {"users": users, "think": think}
    alone = p95_of(path, {"web": {"users": 2 * users, "think": think}})
    assert p95_of(path, {"web": dict(half), "batch": dict(half)}) == pytest.approx(alone, rel=1e-4)


@pytest.mark.parametrize("names", [["web"], ["web", "batch"]])
def test_percentiles_at_nodes_are_those_of_the_simulator(names: list[str], tmp_path: Path) -> None:
    """Each transaction visits one of three nodes, so each node gets a third of all visits."""
    service = {"servers": 2, "discipline": "ps", "service_time": "100 ms"}
    routes = {"start": {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}, **{each: {"end": 1} for each in "abc"}}
    routed = {
        "classes": {name: {"users": 90 // len(names), "think": "1 s"} for name in names},
        "stations": dict.fromkeys("abc", service),
        "routing": dict.fromkeys(names, routes),
    }
    path = tmp_path / "model.yaml"
    path.write_text(json.dumps(routed), "utf-8")
    model = load_model(path).document
    simulated = simulate_models([model], SimulationSettings(precision=0.01)).answers[0].document()["classes"]["web"]
    nodes = [
        replace(
            station,
            name=f"cpu{NODE_SEPARATOR}{number}",
            services=[replace(each, visits=1 / 3) for each in station.services],
        )
        for number, station in enumerate(model.stations, start=1)
    ]
    split = replace(model, stations=nodes, routing=())
    answer = solve_models([split])[0].solution
    found = response_percentiles(split, answer, stations_of(answer), "web")[0]
    assert found(0.95) == pytest.approx(simulated["response_time_percentiles_s"]["p95"], rel=0.08)


def test_the_variation_of_other_times_is_that_of_the_own_size() -> None:
    """The variation (scv) of service times changes the variance of the response time, but not its mean.

    With 60 users the server is always busy, so the number of jobs hardly varies. The response time of a job then varies
    mostly with its own service time. With constant service times (scv 0), its variance is small.
    """
    mean, exponential = sharing_moments(60, 1.0, 1, 1.0)
    for scv in (0.0, 0.25, 4.0):
        _, variance = sharing_moments(60, 1.0, 1, 1.0, scv)
        assert variance == pytest.approx(scv * mean**2 + (1 + scv) / 2 * (exponential - mean**2), rel=1e-9)
    assert sharing_moments(60, 1.0, 1, 1.0, 0.0)[1] < 0.02 * mean**2
    # The response time of a single job varies only by its own service time.
    assert sharing_moments(1, 3.0, 1, 5.0, 0.25) == pytest.approx((3.0, 2.25), rel=1e-12)


def test_a_wait_that_is_scaled_is_met_more_often_before_it_is_longer() -> None:
    """Jobs wait with probability p, for an exponential time with a mean of 1 s. The wait is scaled to another mean w.

    Down from the mean p, the length becomes w / p, so the second moment is 2 p (w / p)^2. Up to a mean of 1 s, only the
    probability rises, to w, so it is 2 w. Above 1 s, all jobs wait, and the length becomes w, so it is 2 w^2.
    """
    ends = np.array([0.0, 1.0])
    cases = ((0.5, 0.5, 1.0), (0.5, 0.8, 1.6), (0.5, 1.5, 4.5), (0.5, 0.25, 0.25), (1e-300, 0.8, 1.6))
    for share, mean, square in cases:
        weights = np.array([1 - share, share])
        assert _spread_of_wait(ends, weights, 1.0, 1.0, mean) == pytest.approx(square - mean**2), (share, mean)
    assert _spread_of_wait(ends, np.array([1.0, 0.0]), 1.0, 1.0, 0.1) == 0.0
    assert _spread_of_wait(ends, np.array([0.5, 0.5]), 1.0, 1.0, -1e-17) == 0.0
