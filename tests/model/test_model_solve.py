from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from markov import mean, stationary
from models import closed, model, solved

from towtank.errors import StudyError


def queue_lengths(answer: dict[str, Any]) -> list[float]:
    return [station["queue_length"] for station in answer["stations"].values()]


def throughputs(answer: dict[str, Any]) -> list[float]:
    return [job_class["throughput_per_s"] for job_class in answer["classes"].values()]


def sharing_network(users, think, demands, speeds, *, arrivals=(), most=0):
    """Return the state probabilities of processor-sharing stations in a row, computed from the Markov chain.

    Classes with 0 users are open, with at most `most` jobs. A state counts the jobs by class and station; the other
    users of a closed class think.
    """
    classes, stations = len(users), len(speeds)

    def moves(state):
        for r in range(classes):
            row = state[r]
            outside = users[r] - sum(row)
            rate = outside / think[r] if users[r] else (arrivals[r] if sum(row) < most else 0.0)
            if rate > 0:
                yield changed(state, r, None, 0), rate
            for k in range(stations):
                if row[k]:
                    present = sum(other[k] for other in state)
                    rate = speeds[k](present) * row[k] / present / demands[r][k]
                    yield changed(state, r, k, k + 1 if k + 1 < stations else None), rate

    def changed(state, r, source, to):
        rows = [list(row) for row in state]
        if source is not None:
            rows[r][source] -= 1
        if to is not None:
            rows[r][to] += 1
        return tuple(tuple(row) for row in rows)

    return stationary(tuple((0,) * stations for _ in users), moves)


def servers(count):
    return lambda jobs: float(min(jobs, count))


def test_two_classes_at_many_servers_are_those_of_the_markov_chain():
    users, think, demands = [3, 4], [1.0, 0.5], [[0.4, 0.3, 0.9], [0.7, 0.2, 0.1]]
    chances = sharing_network(users, think, demands, [servers(2), servers(1), servers(3)])
    stations = {
        f"s{k}": {"discipline": "ps", "servers": count, "demand": {"a": demands[0][k], "b": demands[1][k]}}
        for k, count in enumerate((2, 1, 3))
    }
    classes = {"a": {"users": 3, "think": 1.0}, "b": {"users": 4, "think": 0.5}}
    answer = solved(model(classes, stations))
    assert answer["exact"] is True
    expected = [mean(chances, lambda state, k=k: sum(row[k] for row in state)) for k in range(3)]
    assert queue_lengths(answer) == pytest.approx(expected, rel=1e-9)
    rates = [mean(chances, lambda state, r=r: (users[r] - sum(state[r])) / think[r]) for r in range(2)]
    assert throughputs(answer) == pytest.approx(rates, rel=1e-9)


@pytest.mark.parametrize("rates", [[1.0, 1.9, 2.5], [1.0, 2.0, 1.2, 0.7]])
def test_speeds_that_depend_on_the_load_are_those_of_the_markov_chain(rates):
    speed = lambda jobs: rates[min(jobs, len(rates)) - 1]  # noqa: E731
    chances = sharing_network([8], [2.0], [[0.5, 0.4]], [speed, servers(1)])
    stations = {"a": {"discipline": "ps", "rates": rates, "demand": 0.5}, "b": {"demand": 0.4}}
    answer = solved(model({"jobs": {"users": 8, "think": 2.0}}, stations))
    assert answer["exact"] is True
    expected = [mean(chances, lambda state, k=k: state[0][k]) for k in range(2)]
    assert queue_lengths(answer) == pytest.approx(expected, rel=1e-9)


def test_mixed_classes_at_many_servers_are_those_of_the_markov_chain():
    demands = [[0.5, 0.2], [0.6, 0.3]]
    # The chain ends at 25 jobs of the open class, which uses 0.42 of 2 servers and 0.21 of one. More jobs have a
    # probability below 1e-12.
    chances = sharing_network([3, 0], [1.0, 0.0], demands, [servers(2), servers(1)], arrivals=(0.0, 0.7), most=25)
    stations = {
        f"s{k}": {"discipline": "ps", "servers": count, "demand": {"a": demands[0][k], "b": demands[1][k]}}
        for k, count in enumerate((2, 1))
    }
    answer = solved(model({"a": {"users": 3, "think": 1.0}, "b": {"rate": 0.7}}, stations))
    assert answer["exact"] is True
    expected = [mean(chances, lambda state, k=k: sum(row[k] for row in state)) for k in range(2)]
    assert queue_lengths(answer) == pytest.approx(expected, rel=1e-8)


def random_closed(seed: int, **station: Any) -> dict[str, Any]:
    """Return a random network of two closed classes."""
    draw = np.random.default_rng(seed)
    users = draw.integers(1, 25, 2)
    names = ("a", "b")
    classes = {name: {"users": int(users[r]), "think": float(draw.uniform(0, 5))} for r, name in enumerate(names)}
    stations = {
        f"s{k}": {"discipline": "ps", "demand": {name: float(draw.uniform(0.01, 0.5)) for name in names}, **station}
        for k in range(int(draw.integers(1, 6)))
    }
    return model(classes, stations)


@pytest.mark.parametrize("seed", range(12))
def test_approximations_are_near_the_exact_answer_and_all_within_bounds(seed):
    content = random_closed(seed)
    exact, linearizer, schweitzer = (solved(content, name) for name in ("exact", "linearizer", "bard-schweitzer"))
    # Chandy and Neuse (1982) report errors below 1 % for the Linearizer, and errors of several percent for the method
    # of Bard and Schweitzer.
    assert throughputs(linearizer) == pytest.approx(throughputs(exact), rel=0.01)
    assert throughputs(schweitzer) == pytest.approx(throughputs(exact), rel=0.06)
    assert [answer["exact"] for answer in (exact, linearizer, schweitzer)] == [True, False, False]
    for answer in (exact, linearizer, schweitzer):
        checks = answer["checks"]
        assert checks["within_bounds"] is True
        assert max(checks[law] for law in ("little", "utilization_law", "population", "forced_flow")) < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_many_servers_approximated_are_near_the_exact_answer(seed):
    content = random_closed(seed, servers=4)
    exact, near = solved(content, "exact"), solved(content, "linearizer")
    assert throughputs(near) == pytest.approx(throughputs(exact), rel=0.06)
    assert exact["checks"]["within_bounds"] is near["checks"]["within_bounds"] is True


def test_servers_written_as_rates_are_the_same():
    reference = solved(closed(40, [0.3, 0.2], 1.0, servers=4))
    other = solved(closed(40, [0.3, 0.2], 1.0, rates=[1.0, 2.0, 3.0, 4.0]))
    assert throughputs(reference) == pytest.approx(throughputs(other), rel=1e-11)
    assert queue_lengths(reference) == pytest.approx(queue_lengths(other), rel=1e-11)


def test_a_class_split_in_two_and_stations_in_another_order_change_nothing():
    whole = solved(closed(24, [0.1, 0.25, 0.07], 2.0, servers=2))
    halves = {"a": {"users": 10, "think": 2.0}, "b": {"users": 14, "think": 2.0}}
    stations = {f"s{k}": {"servers": 2, "demand": demand} for k, demand in ((2, 0.07), (0, 0.1), (1, 0.25))}
    split = solved(model(halves, stations))
    assert sum(throughputs(split)) == pytest.approx(throughputs(whole)[0], rel=1e-10)
    for name, station in whole["stations"].items():
        assert split["stations"][name]["queue_length"] == pytest.approx(station["queue_length"], rel=1e-10)


def test_throughput_grows_with_users_towards_the_slowest_station():
    before = 0.0
    for users in (1, 3, 10, 40, 200, 1000, 20_000):
        answer = solved(
            model(
                {"jobs": {"users": users, "think": 3.0}},
                {f"s{k}": {"servers": m, "demand": d} for k, (m, d) in enumerate(((128, 1.0), (64, 0.4), (16, 0.12)))},
            )
        )
        found = throughputs(answer)[0]
        assert answer["exact"] is True
        assert answer["checks"]["population"] < 1e-10
        # The limit is 128 /s. At saturation, more users change the throughput by less than rounding does.
        assert before * (1 - 1e-12) <= found <= 128 * (1 + 1e-12)
        before = found
    assert before == pytest.approx(128, rel=1e-9)


def test_more_users_than_can_be_exact_are_approximated_and_said_so():
    stations = {f"s{k}": {"discipline": "ps", "demand": 0.01 * (k + 1)} for k in range(3)}
    classes = {f"c{r}": {"users": 3000 + r, "think": 100.0} for r in range(4)}
    answer = solved(model(classes, stations))
    assert answer["exact"] is False
    assert "too long" in answer["warnings"][0]
    assert answer["checks"]["within_bounds"] is True
    assert sum(throughputs(answer)) == pytest.approx(1 / 0.03, rel=1e-3)


def pooled_network(users, think, demands, size):
    """Return the state probabilities of one class with a pool, from the Markov chain.

    Each user thinks, waits for a unit of the pool, and holds it while using the CPU and then the disk.
    """

    def moves(state):
        cpu, disk, waiting = state
        thinking = users - sum(state)
        inside = cpu + disk < size
        if thinking:
            yield (cpu + 1, disk, 0) if inside else (cpu, disk, waiting + 1), thinking / think
        if cpu:
            yield (cpu - 1, disk + 1, waiting), 1 / demands[0]
        if disk:
            yield (cpu + (waiting > 0), disk - 1, waiting - (waiting > 0)), 1 / demands[1]

    return stationary((0, 0, 0), moves)


@pytest.mark.parametrize("size", [1, 2, 4, 12])
def test_a_pool_is_near_the_markov_chain(size):
    chances = pooled_network(12, 1.0, [0.1, 0.15], size)
    rate = mean(chances, lambda state: 12 - sum(state))
    stations = {"cpu": {"demand": 0.1}, "disk": {"demand": 0.15}}
    content = model({"jobs": {"users": 12, "think": 1.0}}, stations)
    content["pools"] = {"threads": {"size": size, "holds": ["cpu", "disk"]}}
    answer = solved(content)
    # The method decomposes the network, with an error of at most 1 % here. If no user waits for the pool (size 12), the
    # method is exact.
    assert throughputs(answer) == pytest.approx([rate], rel=1e-9 if size == 12 else 0.01)
    assert answer["exact"] is (size == 12)
    pool = answer["pools"]["threads"]
    assert pool["held"] == pytest.approx(sum(queue_lengths(answer)), rel=1e-9)
    assert pool["waiting"] == pytest.approx(mean(chances, lambda state: state[2]), rel=0.03, abs=1e-9)


def test_a_pool_within_a_pool_and_of_several_classes_agree():
    stations = {"cpu": {"discipline": "ps", "servers": 2, "demand": 0.05}, "db": {"discipline": "ps", "demand": 0.04}}
    pools = {"threads": {"size": 6, "holds": ["cpu", "connections"]}, "connections": {"size": 2, "holds": ["db"]}}
    reference = solved({**model({"a": {"users": 40, "think": 0.5}}, stations), "pools": pools})
    halves = {"a": {"users": 20, "think": 0.5}, "b": {"users": 20, "think": 0.5}}
    two = solved({**model(halves, stations), "pools": pools})
    assert sum(throughputs(two)) == pytest.approx(throughputs(reference)[0], rel=0.05)
    assert max(reference["pools"], key=lambda name: reference["pools"][name]["waiting"]) == "threads"
    assert reference["checks"]["population"] < 1e-9


def test_a_pool_under_arrivals_is_refused_where_it_cannot_keep_up():
    content = model({"jobs": {"rate": 9.0}}, {"cpu": {"servers": 4, "demand": 0.1}})
    content["pools"] = {"lock": {"size": 1, "holds": ["cpu"]}}
    assert solved(content)["pools"]["lock"]["utilization"] == pytest.approx(0.9, rel=1e-9)
    # A pool with a single unit admits one job at a time, so the system is an M/M/1 queue with a service time of 0.1 s.
    assert solved(content)["classes"]["jobs"]["response_time_s"] == pytest.approx(1.0, rel=1e-9)
    content["classes"]["jobs"]["rate"] = "11 /s"
    with pytest.raises(StudyError, match=r"pools\.lock: must have a utilization below 1 .* got 1\.1000"):
        solved(content)


def test_two_equal_branches_of_a_fork_are_those_of_nelson_and_tantawi():
    content = model({"jobs": {"rate": 5.0}}, {"a": {"demand": 0.1}, "b": {"demand": 0.1}})
    content["forks"] = {"both": {"branches": ["a", "b"]}}
    answer = solved(content)
    # For two parallel branches (Nelson and Tantawi), R_2 = (12 - rho)/8 R_1. Here rho = 1/2, so (12 - rho)/8 = 11.5/8,
    # and the response time of one branch is R_1 = 0.1/(1 - 1/2) = 0.2 s.
    assert answer["classes"]["jobs"]["response_time_s"] == pytest.approx(11.5 / 8 * 0.2, rel=1e-12)
    assert answer["exact"] is False


def test_a_closed_fork_lies_between_its_slowest_branch_and_doing_all_in_turn():
    stations = {"a": {"demand": 0.1}, "b": {"demand": 0.08}, "c": {"demand": 0.05}}
    content = model({"jobs": {"users": 10, "think": 1.0}}, stations)
    in_turn = solved(content)["classes"]["jobs"]["throughput_per_s"]
    content["forks"] = {"all": {"branches": ["a", "b", "c"]}}
    answer = solved(content)
    found = answer["classes"]["jobs"]["throughput_per_s"]
    assert in_turn < found < 10 / (1.0 + 0.1)
    assert answer["checks"]["within_bounds"] is True
    assert answer["checks"]["population"] < 1e-9


def ranked_station(users, think, times, preemptive):
    """Return the state probabilities of one server where class 0 has priority over class 1, from the Markov chain.

    A state contains the number of jobs of each class, and the class in service.
    """

    def choose(first, second, serving):
        if serving is not None and not preemptive:
            return serving
        return 0 if first else 1 if second else None

    def moves(state):
        jobs, serving = list(state[:2]), state[2]
        for r in range(2):
            if jobs[r] < users[r]:
                more = [jobs[0] + (r == 0), jobs[1] + (r == 1)]
                yield (*more, choose(*more, serving)), (users[r] - jobs[r]) / think[r]
        if serving is not None:
            fewer = [jobs[0] - (serving == 0), jobs[1] - (serving == 1)]
            yield (*fewer, choose(*fewer, None)), 1 / times[serving]

    return stationary((0, 0, None), moves)


@pytest.mark.parametrize("preemptive", [False, True])
def test_ranks_in_a_closed_network_are_near_the_markov_chain(preemptive):
    users, think, times = [4, 6], [2.0, 3.0], [0.2, 0.3]
    chances = ranked_station(users, think, times, preemptive)
    rates = [mean(chances, lambda state, r=r: (users[r] - state[r]) / think[r]) for r in range(2)]
    classes = {"a": {"users": 4, "think": 2.0, "priority": 1}, "b": {"users": 6, "think": 3.0, "priority": 2}}
    station = {"discipline": "priority", "demand": {"a": 0.2, "b": 0.3}}
    answer = solved(model(classes, {"s": {**station, "preemptive": preemptive} if preemptive else {"s": station}["s"]}))
    assert throughputs(answer) == pytest.approx(rates, rel=0.03)
    assert answer["exact"] is False
    assert "priority" in answer["warnings"][0]


def test_open_ranks_and_their_order_in_the_station():
    classes = {"a": {"rate": 0.4}, "b": {"rate": 0.3}}
    station = {"discipline": "priority", "preemptive": True, "priority": ["b", "a"], "demand": 1.0}
    answer = solved(model(classes, {"s": station}))
    assert answer["exact"] is True
    # The response time is S/(1 - rho_1) for the class with priority, and S/((1 - rho_1)(1 - rho)) for the other class.
    assert answer["classes"]["b"]["response_time_s"] == pytest.approx(1 / 0.7, rel=1e-12)
    assert answer["classes"]["a"]["response_time_s"] == pytest.approx(1 / (0.7 * 0.3), rel=1e-12)


def test_a_full_station_thins_what_comes_after_it():
    stations = {"door": {"capacity": 1, "demand": 0.5}, "desk": {"demand": 0.1}}
    answer = solved(model({"jobs": {"rate": 2.0}}, stations))
    # The door is an M/M/1/1 queue (one server, no place to wait). At an offered load of 2 /s x 0.5 s = 1 it loses half
    # of its arrivals. So 1 /s arrives at the desk, whose utilization is 1 /s x 0.1 s = 0.1.
    assert answer["stations"]["door"]["loss_probability"] == pytest.approx(0.5, rel=1e-12)
    assert answer["stations"]["desk"]["utilization"] == pytest.approx(0.1, rel=1e-12)
    assert answer["exact"] is False


def test_no_steady_state_is_refused_with_every_station_that_has_none():
    stations = {"cpu": {"servers": 2, "demand": 1.0}, "disk": {"demand": 0.2}, "net": {"demand": 0.6}}
    with pytest.raises(StudyError) as refused:
        solved(model({"jobs": {"rate": 2.0}}, stations))
    found = [(fault.where, fault.message) for fault in refused.value.faults]
    assert [where for where, _ in found] == ["stations.cpu", "stations.net"]
    assert "got 1.0000" in found[0][1]
    assert "got 1.2000" in found[1][1]


def test_exact_is_refused_where_there_is_none():
    stations = {"s": {"demand": {"a": 0.1, "b": 0.2}}}
    with pytest.raises(
        StudyError, match="must be an approximate method or 'auto' for this model, got 'exact': station \"s\""
    ):
        solved(model({"a": {"users": 2}, "b": {"users": 2}}, stations), "exact")


def test_an_error_of_a_whole_response_time_and_more_bounds_nothing_below():
    """If the error may be 100 % or more, the warning must not state that the solution is "approximate within" it.

    Eight users have priority over three users; all have a service time of 1 s. The response time of the three is 3,550
    s by simulation, but 83 s by the solver.
    """
    cpu = {"demand": {"hi": 1.0, "lo": 1.0}, "discipline": "priority", "preemptive": True}
    ranks = {"hi": {"users": 8, "think": 2.0, "priority": 1}, "lo": {"users": 3, "think": 2.0, "priority": 2}}
    answer = solved(model(ranks, {"cpu": cpu}))
    assert answer["approximate_within"] >= 1.0
    assert any("many times too small or too large" in text for text in answer["warnings"]), answer["warnings"]
    assert not any("approximate within" in text for text in answer["warnings"])
    near = solved(closed(8, [1.0], 2.0, scv=0.3))
    assert 0.0 < near["approximate_within"] < 1.0
    assert any(text.startswith("approximate within") for text in near["warnings"]), near["warnings"]
