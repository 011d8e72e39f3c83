from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sizing import sized, written

from towtank.model import EngineModel
from towtank.sizing.interval import Interval, size_text
from towtank.sizing.scores import scores

TWO = """
classes:
  in: {rate: 10 /s}
  web: {users: 20, think: 1 s}
stations:
  app: {servers: 1, discipline: ps, demand: {in: 20 ms, web: 10 ms}}
"""
ONE = "classes: {in: {rate: 10 /s}}\nstations:\n  app: {demand: 20 ms}\n"
GIB = 2**30
MACHINES = """
schema: towtank/machine/1
machines:
  small: {cpus: 1, memory: 128 MiB, ratings: {towtank: 400}, price: {amount: 1, currency: EUR, per: month}}
  large: {cpus: 1, memory: 1 GiB, ratings: {towtank: 400}, price: {amount: 2, currency: EUR, per: month}}
"""


def asked(**parts: str) -> str:
    lines = [f"{name}: {text}" for name, text in parts.items()]
    return "\n".join(["schema: towtank/sizing/1", "objectives: [mean < 5 s]", *lines]) + "\n"


def test_connections_of_open_classes_stay_until_they_are_idle_long_enough(tmp_path: Path, capsys: Any) -> None:
    """The closed class has one connection for each of its 20 users.

    By Little's law, the open class has 10 /s x (R + 2 s) connections, with response time R and an idle time of 2 s.
    """
    text = asked(tiers="{app: {cpus: 1..4}}", keep_alive="2 s")
    found = sized(capsys, written(tmp_path, "model.yaml", TWO), "--for", written(tmp_path, "sizing.yaml", text))
    response = found["answer"]["scenarios"][0]["classes"]["in"]["response_time_s"]
    assert found["connections"] == pytest.approx(20 + 10 * (response + 2), rel=1e-9)
    step = next(step for step in found["steps"] if step["step"] == "connections")
    assert step["with"]["users"] == 20
    assert step["with"]["open classes"] == pytest.approx(10 * (response + 2), rel=1e-9)


def test_memory_counts_transactions_connections_and_data(tmp_path: Path, capsys: Any) -> None:
    """The memory of a node is the sum of its parts: 1 GiB for each transaction and connection, the index, and 1 GiB.

    An M/M/1 queue at 20 % utilization holds 0.25 transactions. With an idle time of 1 s at 10 /s, there are 10 + 0.25
    connections. A tenth of the data must fit into memory, and the 20 GiB of data double until the horizon.
    """
    memory = (
        "{app: [{what: work, size: 1 GiB, per: transaction}, {what: sockets, size: 1 GiB, per: connection}, "
        "{what: index, share: 10 %}, {what: system, size: 1 GiB, per: node}]}"
    )
    text = asked(
        tiers="{app: {cpus: 1}}", keep_alive="1 s", memory=memory, memory_free="20 %",
        data="{now: 20 GiB, growth: 100 % / year}", load="{growth: 0 % / year, horizon: 1 year}",
    )  # fmt: skip
    found = sized(capsys, written(tmp_path, "model.yaml", ONE), "--for", written(tmp_path, "sizing.yaml", text))
    parts = {
        step["step"].rpartition(": ")[2]: step["value"] / GIB
        for step in found["steps"]
        if step["step"].startswith("memory of a node of app: ")
    }
    assert parts == {
        "work": pytest.approx(0.25),
        "sockets": pytest.approx(10.25),
        "index": pytest.approx(4.0),
        "system": pytest.approx(1.0),
    }
    assert found["answer"]["tiers"]["app"]["memory_bytes"] == pytest.approx(15.5 * GIB / 0.8)
    data = next(step for step in found["steps"] if step["step"] == "data at the horizon")
    assert data["with"] == {"D0": 20 * GIB, "g": pytest.approx(2.0)}


def test_data_without_a_growth_of_their_own_grow_as_the_load(tmp_path: Path, capsys: Any) -> None:
    text = asked(
        tiers="{app: {cpus: 1..4}}", data="{now: 10 GiB, free: 50 %}", load="{growth: 50 % / year, horizon: 2 years}"
    )
    found = sized(capsys, written(tmp_path, "model.yaml", ONE), "--for", written(tmp_path, "sizing.yaml", text))
    steps = {step["step"]: step for step in found["steps"]}
    assert steps["data at the horizon"]["value"] == pytest.approx(22.5 * GIB)
    assert steps["room on disks"]["value"] == pytest.approx(45 * GIB)


def test_the_nodes_that_are_left_need_the_memory_of_a_lost_one(tmp_path: Path, capsys: Any) -> None:
    """Each of 20 users needs 1 GiB. If one of two nodes is lost, the remaining node needs the memory for all
    20 users.
    """
    text = asked(
        tiers="{app: {cpus: 4, nodes: 2}}", nodes_lost="1", memory_free="0 %",
        memory="{app: [{what: sessions, size: 1 GiB, per: user}]}",
    )  # fmt: skip
    found = sized(capsys, written(tmp_path, "model.yaml", TWO), "--for", written(tmp_path, "sizing.yaml", text))
    assert found["answer"]["tiers"]["app"]["memory_bytes"] == pytest.approx(20 * GIB)


def test_a_what_if_says_whether_its_memory_is_enough(tmp_path: Path, capsys: Any) -> None:
    text = asked(
        tiers="{app: {cpus: 1}}", memory="{app: [{what: base, size: 1 GiB}]}", memory_free="50 %",
        what_if="[memory app=3 GiB, memory app=2 GiB, memory app=1 GiB]",
    )  # fmt: skip
    found = sized(capsys, written(tmp_path, "model.yaml", ONE), "--for", written(tmp_path, "sizing.yaml", text))
    assert [row["notes"][-1] for row in found["what_if"][1:]] == [
        "3 GiB for a node of app is enough: it needs 2 GiB",
        "2 GiB for a node of app is enough: it needs 2 GiB",
        "1 GiB for a node of app is too little: it needs 2 GiB",
    ]


@pytest.mark.waits
def test_texts_about_memory_have_the_interval_of_what_is_needed(tmp_path: Path, capsys: Any) -> None:
    """Each text about memory must state the needed memory with its interval.

    Each transaction in the system needs 1 GiB, and an M/M/1 queue holds Q = 10 D / (1 - 10 D) transactions. The demand
    D is log-normal with a mean of 20 ms and a relative standard deviation of 5 %, so Q has an interval. 205 MiB are
    below it, 257 MiB suffice for the best estimate of 256 MiB only, and 1 GiB is above it.
    """
    text = asked(
        tiers="{app: {machines: [small, large], nodes: 1}}",
        memory="{app: [{what: work, size: 1 GiB, per: transaction}]}",
        memory_free="0 %", uncertainty="5 %", machine_files="[machines.yaml]", measured_on="small",
        what_if='["memory app=205 MiB", "memory app=257 MiB", "memory app=1 GiB"]',
    )  # fmt: skip
    written(tmp_path, "machines.yaml", MACHINES)
    found = sized(capsys, written(tmp_path, "model.yaml", ONE), "--for", written(tmp_path, "sizing.yaml", text))
    width = math.sqrt(math.log1p(0.05**2))
    demands = np.sort(0.02 * np.exp(width * np.array(scores(200, "demand app")) - width**2 / 2))
    needs = GIB * 10 * demands / (1 - 10 * demands)
    needed = size_text(GIB * 0.25, Interval(needs[5], needs[194]))
    assert "[" in needed
    notes = [row["notes"][-1] for row in found["what_if"][1:]]
    assert [note.split(": ")[1] for note in notes] == [f"it needs {needed}"] * 3
    enough = ["too little", "enough for the best estimate", "enough"]
    assert [note.split(" is ")[1].split(":")[0] for note in notes] == enough
    (refused,) = found["neighbours"]
    assert refused["why_not"] == [f"a node of app needs {needed} of memory, small has 128 MiB"]
    assert found["next_cheaper"]["why_not"] == refused["why_not"]


def test_a_pool_is_the_least_whose_wait_is_allowed(tmp_path: Path, capsys: Any) -> None:
    """The pool has the smallest number of units with which the mean wait is at most 20 ms.

    The wait is W = C / (c mu - lambda) for c units, with Erlang's C at 50 /s x 100 ms = 5 erlang. This is 59 ms for 6
    units and 16 ms for 7 units, so 7 units are needed.
    """
    text = asked(tiers="{app: {cpus: 1}}", pools="{threads: {holds: [work], wait_at_most: 20 ms}}")
    model = (
        "classes: {in: {rate: 50 /s}}\nstations:\n  app: {demand: 1 us}\n  work: {discipline: delay, demand: 100 ms}\n"
    )
    found = sized(capsys, written(tmp_path, "model.yaml", model), "--for", written(tmp_path, "sizing.yaml", text))
    pool = found["pools"]["threads"]
    assert pool["held"] == pytest.approx(5.0)
    assert pool["size"] == 7
    assert pool["wait_s"] == pytest.approx(0.0162, abs=5e-5)
    assert pool["wait_at_most_s"] == 0.02


def erlang_c(work: float, servers: int) -> float:
    """Return the probability of waiting in M/M/m, by the recursion of Erlang B. [1]"""
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = work * blocked / (count + work * blocked)
    return blocked / (1 - work / servers * (1 - blocked))


@pytest.mark.waits
@pytest.mark.parametrize("uncertainty", ["", "uncertainty: 1 %\nprobability: 50 %\n"])
def test_a_pool_is_enough_with_a_node_lost(tmp_path: Path, capsys: Any, uncertainty: str) -> None:
    """The pool has the smallest size with which the mean wait is at most 5 ms after the loss of one of two nodes.

    The remaining node is M/M/4 with 100 /s x 36 ms = 3.6 erlang. A pool of s >= 4 units does not change the number of
    jobs N. Of these, N - s wait for a unit if N > s. So the mean wait is their mean number divided by the arrival rate:
    W = C rho^(s - 4) rho / (1 - rho) / lambda, with Erlang's C.
    """
    text = asked(
        tiers="{app: {cpus: [4], nodes: [2]}}", nodes_lost="1", pools="{units: {holds: [app], wait_at_most: 5 ms}}"
    )
    model = written(
        tmp_path,
        "model.yaml",
        "classes: {in: {rate: 100 /s}}\nstations:\n  app: {servers: 4, discipline: ps, demand: 36 ms}\n",
    )
    found = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", text + uncertainty))
    pool, load = found["pools"]["units"], 3.6 / 4
    waits = {size: erlang_c(3.6, 4) * load ** (size - 4) * load / (1 - load) / 100 for size in range(4, 60)}
    least = next(size for size, wait in waits.items() if wait <= 0.005)
    assert pool["size_at_best"] == least
    assert pool["lost"] == {"tier": "app", "nodes": 1}
    # The mean wait hardly varies over the random samples of the inputs, so the size is the least one or the next.
    assert least <= pool["size"] <= least + 1
    assert pool["wait_s"] == pytest.approx(waits[pool["size"]], rel=0.01)
    assert pool["wait_interval"]["low"] < waits[pool["size"]] < pool["wait_interval"]["high"]
    assert pool["wait_interval"]["low"] < pool["wait_s"] < pool["wait_interval"]["high"]
    assert pool["held"] == pytest.approx(found["answer"]["scenarios"][1]["classes"]["in"]["users_in_system"])


@pytest.mark.waits
@pytest.mark.parametrize(("uncertainty", "above"), [("", 1.3), ("uncertainty: 0.01 %\nprobability: 90 %\n", 1.188)])
def test_the_error_of_the_simulation_counts_for_a_pool(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, uncertainty: str, above: float
) -> None:
    """The simulated wait has an error of 30 %, so the pool is sized for a wait that is longer by this error.

    With fixed demands, the pool is sized for the upper end of the 95 % interval, 1.3 times the wait. With nearly fixed
    demands and a probability of 90 %, it is sized for the 90 % quantile, 1.3^(1.2816 / 1.96) = 1.188 times the wait.
    """
    load, asked_of = 3.6 / 4, list[tuple[int, float]]()

    def known(model: EngineModel, name: str, precision: float) -> tuple[float, Interval]:
        (pool,) = model.pools
        wait = erlang_c(3.6, 4) * load ** (pool.size - 3) / (1 - load) / 100
        asked_of.append((pool.size, precision))
        assert name == "units"
        return wait, Interval(wait / 1.3, wait * 1.3)

    monkeypatch.setattr("towtank.sizing.simulated_pool._wait", known)
    text = asked(
        tiers="{app: {cpus: [4], nodes: [2]}}", nodes_lost="1", pools="{units: {holds: [app], wait_at_most: 5 ms}}"
    )
    model = written(
        tmp_path,
        "model.yaml",
        "classes: {in: {rate: 100 /s}}\nstations:\n  app: {servers: 4, discipline: ps, demand: 36 ms}\n",
    )
    found = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", text + uncertainty))["pools"]["units"]
    waits = {size: erlang_c(3.6, 4) * load ** (size - 3) / (1 - load) / 100 for size in range(4, 60)}
    assert above * waits[found["size"]] <= 0.005
    before = {size for size, _ in asked_of if size < found["size"]}
    assert before
    assert all(above * waits[size] > 0.005 for size in before)


@pytest.mark.waits
@pytest.mark.parametrize("uncertainty", ["", "uncertainty: 1 %\nprobability: 50 %\n"])
def test_a_pool_for_which_hardly_anybody_waits_has_a_size(tmp_path: Path, capsys: Any, uncertainty: str) -> None:
    """The wait for the pool may be at most 20 us, which needs 82 units.

    So few jobs wait that the error of the simulated wait is above a factor of two, and the wait has no interval. The
    interval of the number of waiting jobs is used instead.
    """
    text = asked(
        tiers="{app: {cpus: [4], nodes: [2]}}", nodes_lost="1", pools="{units: {holds: [app], wait_at_most: 20 us}}"
    )
    model = written(
        tmp_path,
        "model.yaml",
        "classes: {in: {rate: 100 /s}}\nstations:\n  app: {servers: 4, discipline: ps, demand: 36 ms}\n",
    )
    found = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", text + uncertainty))
    pool, load = found["pools"]["units"], 3.6 / 4
    least = next(size for size in range(4, 200) if erlang_c(3.6, 4) * load ** (size - 3) / (1 - load) / 100 <= 2e-5)
    assert pool["size_at_best"] == least
    assert least <= pool["size"] <= 1.15 * least
    assert pool["wait_interval"]["low"] <= pool["wait_s"] < pool["wait_interval"]["high"]
    if not uncertainty:
        assert pool["wait_interval"]["high"] <= 2e-5


def test_a_station_that_others_route_to_stays_on_one_node(tmp_path: Path, capsys: Any) -> None:
    from towtank.cli import main  # noqa: PLC0415

    model = written(tmp_path, "model.yaml", ROUTED)
    for nodes, status in (("1", 0), ("1..2", 2)):
        assert (
            main(["size", model, "--objective", "mean < 5 s", "--cpus", "app=1", "--nodes", f"app={nodes}"]) == status
        )
    assert "must be 1: the model routes jobs from 'app' by probabilities" in capsys.readouterr().err


ROUTED = """
classes: {in: {rate: 1 /s}}
stations:
  app: {service_time: 20 ms}
  disk: {service_time: 10 ms}
routing: {in: {start: {app: 1}, app: {disk: 0.5, end: 0.5}, disk: {app: 1}}}
"""
