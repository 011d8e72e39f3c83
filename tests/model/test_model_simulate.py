"""`towtank model simulate`, compared with published networks and with other simulators."""

from __future__ import annotations

import json
import math
import random
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cases import case
from models import model

from towtank.cli.app import run
from towtank.model import SimulationSettings, load_model, simulate_models

PRECISE = SimulationSettings(precision=0.004)
LONG = SimulationSettings(precision=1e-6, events=8_000_000)
MM1 = "classes: {web: {rate: 0.5 /s}}\nstations: {cpu: {demand: 1 s}}\n"


def simulated(content: dict[str, Any], settings: SimulationSettings = PRECISE) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(json.dumps(content), "utf-8")
        outcome = simulate_models([load_model(path).document], settings)
    return outcome.answers[0].document()


def covers(figures: dict[str, Any], name: str, exact: float) -> bool:
    """Return True if the interval of a value contains the exact value. The interval is widened to a confidence of 99.9
    %.
    """
    low, high = figures["confidence_interval"][name]
    return abs((low + high) / 2 - exact) <= 2.2 * (high - low) / 2


def test_v25_first_come_first_served_with_times_by_class():
    inputs = case("V25")["inputs"]
    classes = {f"c{k}": {"users": inputs["N"][k], "think": 1 / inputs["think_rate"][k]} for k in range(2)}
    demand = {f"c{k}": 1 / inputs["service_rate"][k] for k in range(2)}
    answer = simulated(model(classes, {"s": {"servers": inputs["servers"], "demand": demand}}))
    exact = case("V25")["verified"]
    for k in range(2):
        found = answer["classes"][f"c{k}"]
        assert covers(found, "throughput_per_s", exact["X"][k])
        assert covers(found, "response_time_s", exact["R"][k])
        assert found["throughput_per_s"] == pytest.approx(exact["X"][k], rel=0.01)


def test_v26_discriminatory_processor_sharing():
    inputs = case("V26")["inputs"]
    names = ["c0", "c1"]
    rates = {"q1": inputs["q1_rate"], "q2": inputs["q2_rate"]}
    stations: dict[str, Any] = {
        name: {"discipline": "ps", "service_time": {each: 1 / rates[name][k] for k, each in enumerate(names)}}
        for name in rates
    }
    stations["q2"]["weights"] = dict(zip(names, inputs["q2_weights"], strict=True))
    shares = inputs["routing_from_delay"]
    routing = {each: {"start": {"q1": shares[k][0], "q2": shares[k][1]}} for k, each in enumerate(names)}
    classes = {each: {"users": inputs["N"][k], "think": 1 / inputs["think_rate"][k]} for k, each in enumerate(names)}
    answer = simulated(model(classes, stations, routing=routing), LONG)
    exact = case("V26")["verified"]
    for k, each in enumerate(names):
        found = answer["classes"][each]
        at_stations = exact[f"Q_class{k + 1}"]
        jobs = [answer["stations"][name]["residence_time_s"][each] * found["throughput_per_s"] for name in rates]
        assert jobs == pytest.approx(at_stations[1:], rel=0.02)
        assert covers(found, "users_in_system", sum(at_stations[1:]))


def test_an_independent_simulator_agrees_on_two_classes_at_a_shared_queue():
    """The simulator Ciw and Towtank's simulator must agree on a network that no analytic method solves.

    Service times differ by class, jobs are served in the order of arrival, and a station with two servers is followed
    by a station with one.
    """
    ciw = pytest.importorskip("ciw")
    mean = {"short": (0.2, 0.3), "long": (1.0, 0.6)}
    network = ciw.create_network(
        arrival_distributions={
            "short": [ciw.dists.Exponential(1.0), None],
            "long": [ciw.dists.Exponential(0.4), None],
        },
        service_distributions={
            name: [ciw.dists.Deterministic(first), ciw.dists.Exponential(1 / second)]
            for name, (first, second) in mean.items()
        },
        routing={name: [[0.0, 1.0], [0.0, 0.0]] for name in mean},
        number_of_servers=[2, 1],
    )
    times: dict[str, list[float]] = {"short": [], "long": []}
    for seed in range(5):
        ciw.seed(seed)
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(4000)
        first = {}
        for record in simulation.get_all_records():
            if record.node == 1:
                first[record.id_number] = record.arrival_date
        done = [record for record in simulation.get_all_records() if record.node == 2 and record.id_number in first]
        for name, found in times.items():
            each = [
                record.exit_date - first[record.id_number]
                for record in done
                if record.customer_class == name and record.arrival_date > 200
            ]
            found.append(sum(each) / len(each))
    classes = {"short": {"rate": 1.0}, "long": {"rate": 0.4}}
    stations = {
        "first": {"servers": 2, "distribution": "deterministic", "demand": {k: v[0] for k, v in mean.items()}},
        "second": {"demand": {k: v[1] for k, v in mean.items()}},
    }
    answer = simulated(model(classes, stations))
    for name, found in times.items():
        middle = sum(found) / len(found)
        # The tolerance is six standard errors of the mean of the five Ciw runs, plus 1 %.
        error = (sum((value - middle) ** 2 for value in found) / 4 / 5) ** 0.5
        assert answer["classes"][name]["response_time_s"] == pytest.approx(middle, abs=6 * error + 0.01 * middle)


def impatient_in_simpy(seed: int, customers: int) -> tuple[float, float, float]:
    """Return completed and failed transactions per second and the mean response time, simulated by SimPy.

    One server has lognormal service times with a mean of 1 s and a squared coefficient of variation of 4. Users arrive
    at 0.8 /s, leave after 3 s, and try once more after an exponential pause with a mean of 0.5 s.
    """
    simpy = pytest.importorskip("simpy")
    source, environment = random.Random(seed), simpy.Environment()
    server, times, failed = simpy.Resource(environment), [], []
    deviation = math.sqrt(math.log(1 + 4.0))

    def attempt() -> Any:
        patience = environment.now + 3.0
        with server.request() as turn:
            yield turn | environment.timeout(3.0)
            if not turn.triggered:
                return False
            work = source.lognormvariate(-deviation * deviation / 2, deviation)
            left = patience - environment.now
            yield environment.timeout(min(work, left))
            return work <= left

    def transaction() -> Any:
        begin = environment.now
        for number in range(2):
            if number:
                yield environment.timeout(source.expovariate(2.0))
            if (yield environment.process(attempt())):
                times.append(environment.now - begin)
                return
        failed.append(environment.now)

    def arrivals() -> Any:
        for _ in range(customers):
            yield environment.timeout(source.expovariate(0.8))
            environment.process(transaction())

    environment.process(arrivals())
    environment.run()
    return len(times) / environment.now, len(failed) / environment.now, sum(times) / len(times)


@pytest.mark.waits
def test_simpy_agrees_on_impatience_heavy_tails_and_retries():
    runs = [impatient_in_simpy(seed, 20_000) for seed in range(6)]
    stations = {"s": {"demand": 1.0, "distribution": "lognormal", "scv": 4.0}}
    patience = {"timeout": "3 s", "retries": 1, "retry_delay": "500 ms", "on_timeout": "cancel"}
    # Long times are rare, so a stricter precision is requested. The run then reaches 0.1 %, a tenth of the tolerance
    # below.
    settings = SimulationSettings(precision=0.02)
    found = simulated(model({"jobs": {"rate": 0.8, **patience}}, stations), settings)["classes"]["jobs"]
    figures = [found[name] for name in ("throughput_per_s", "failed_per_s", "response_time_s")]
    for figure, values in zip(figures, zip(*runs, strict=True), strict=True):
        middle = sum(values) / len(values)
        # Each SimPy run begins and ends with an empty system, which adds an error of up to 1 %. So the tolerance is
        # this plus six standard errors of the mean of six runs.
        error = (sum((value - middle) ** 2 for value in values) / 5 / 6) ** 0.5
        assert figure == pytest.approx(middle, abs=6 * error + 0.01 * middle)


def test_what_differs_in_the_ninth_digit_is_simulated_alike():
    # BLAS runs different code on different CPUs, so results of fits agree only to about nine digits. Such a difference
    # must not change a simulation.
    def of(demand: float) -> dict[str, Any]:
        content = model({"jobs": {"users": 20, "think": 1.0}}, {"cpu": {"demand": demand}})
        return simulated(content, SimulationSettings(precision=0.05))["classes"]["jobs"]

    assert of(0.0415731928) == of(0.0415731928 * (1 + 3e-9))
    assert of(0.0415731928) != of(0.0415731928 * (1 + 1e-4))


def write(folder: Path, text: str) -> str:
    path = folder / "model.yaml"
    path.write_text(text, "utf-8")
    return str(path)


def test_the_command_prints_its_precision(tmp_path, capsys):
    assert run(["model", "simulate", write(tmp_path, MM1), "--precision", "2 %", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "towtank/simulate/1"
    assert answer["simulation"]["stopped"] == "precision"
    assert answer["classes"]["web"]["response_time_s"] == pytest.approx(2.0, rel=0.06)
    assert run(["model", "simulate", write(tmp_path, MM1), "--precision", "2 %"]) == 0
    text = capsys.readouterr().out
    assert "stopped by precision" in text
    assert re.search(r"\d \[[\d.]+, [\d.]+\] s", text)


def test_users_and_failures_of_a_class_stand_beside_their_intervals(tmp_path, capsys, monkeypatch):
    """The table shows the number of users in the system and the rate of timeouts, each with its interval.

    The service time is 1 s, and the utilization one half. Transactions that exceed the timeout of 2 s fail.
    """
    monkeypatch.setenv("COLUMNS", "200")
    file = write(tmp_path, MM1.replace("rate: 0.5 /s", "rate: 0.5 /s, timeout: 2 s"))
    assert run(["model", "simulate", file, "--events", "200000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [each.strip() for each in next(line for line in lines if "in system" in line).strip("┃ ").split("┃")]
    cells = [each.strip() for each in next(line for line in lines if line.startswith("│ web")).strip("│ ").split("│")]
    shown = dict(zip(heads, cells, strict=True))
    for name in ("in system", "timed out /s"):
        assert re.fullmatch(r"[\d.]+ \[[\d.]+, [\d.]+\]", shown[name]), shown


def test_the_command_compares_alternatives(tmp_path, capsys):
    file = write(tmp_path, MM1)
    options = ["--compare-set", "stations.cpu.demand=0.9 s", "--events", "400000", "--json"]
    assert run(["model", "simulate", file, *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = answer["comparison"]["figures"]["classes.web.response_time_s"]
    assert found["differs"]
    assert found["difference"] == pytest.approx(0.9 / 0.55 - 2.0, rel=0.1)
    assert answer["alternative"]["classes"]["web"]["response_time_s"] == pytest.approx(found["second"])
    assert run(["model", "simulate", file, *options[:-1]]) == 0
    assert "classes.web.response_time_s" in capsys.readouterr().out


def test_faults_of_the_alternative_are_reported_at_its_file(tmp_path, capsys):
    file, other = write(tmp_path, MM1), tmp_path / "other.yaml"
    # The solver accepts this number of users; for the simulator it is too large.
    other.write_text("classes:\n  web: {users: 2000000, think: 1 s}\nstations: {cpu: {demand: 1 s}}\n", "utf-8")
    assert run(["model", "simulate", file, "--compare", str(other)]) == 2
    assert capsys.readouterr().err == (
        f"{other}:2:3: classes: must have at most 1000000 users to be simulated, got 2000000 instead\n"
    )


def test_what_never_comes_to_rest_is_status_4(tmp_path, capsys):
    file = write(tmp_path, MM1.replace("0.5 /s", "1.5 /s"))
    assert run(["model", "simulate", file, "--events", "500000"]) == 4
    assert "no steady state" in capsys.readouterr().out


def test_behaviour_is_read_from_the_file(tmp_path):
    text = """
classes:
  web: {rate: 1 /s, timeout: 2 s, retries: 2, retry_delay: 100 ms, on_timeout: cancel}
stations:
  one: {service_time: 200 ms, visits: 0.5, up: 10 min, down: 5 s, failover: two}
  two: {service_time: 200 ms, visits: 0.5, samples: {web: [100 ms, 300 ms]}}
  disk: {demand: 300 ms, cache: {items: 10, keys: 100, skew: 0.8, hit_time: 1 ms}}
  queue: {demand: 100 ms, quantum: 10 ms, levels: 3}
  shared: {discipline: ps, demand: 10 ms, weights: {web: 2}}
balancers:
  front: {policy: power-of-two, stations: [one, two]}
"""
    behaviour = load_model(write(tmp_path, text)).document.behaviour
    assert behaviour == {
        "patience": [
            {
                "class": "web",
                "timeout_s": 2.0,
                "retries": 2,
                "retry_delay_s": 0.1,
                "on_timeout": "cancel",
                "patience_s": None,
            },
        ],
        "failures": [{"station": "one", "up_s": 600.0, "down_s": 5.0, "failover": "two"}],
        "balancers": [{"name": "front", "policy": "power-of-two", "stations": ["one", "two"]}],
        "caches": [
            {"station": "disk", "hit_ratio": None, "items": 10, "keys": 100, "skew": 0.8, "hit_time_s": 0.001},
        ],
        "feedback": [{"station": "queue", "quantum_s": 0.01, "levels": 3}],
        "weights": [{"station": "shared", "class": "web", "weight": 2.0}],
        "samples": [{"station": "two", "class": "web", "values_s": [0.1, 0.3]}],
        "batches": [],
        "after": [],
    }


def test_all_faults_are_reported_at_their_places(tmp_path, capsys):
    text = """classes:
  web: {rate: 1 /s, on_timeout: cancel}
stations:
  cpu: {demand: 1 ms, up: 1 h, weights: {wob: 2}}
  disk: {demand: 1 ms, cache: {hit_ratio: 1.5}}
balancers:
  front: {stations: [cpu, dsk]}
"""
    assert run(["model", "simulate", write(tmp_path, text)]) == 2
    lines = capsys.readouterr().err
    for part in ("model.yaml:2:33: classes.web.on_timeout", "model.yaml:4:27: stations.cpu.up", "'wob'"):
        assert part in lines, lines
    assert "model.yaml:5:" in lines
    assert "Traceback" not in lines


def test_options_that_are_wrong_are_reported_at_once(tmp_path, capsys):
    options = ["--precision", "2", "--confidence", "100 %", "--replications", "1", "--seed", "-1"]
    assert run(["model", "simulate", write(tmp_path, MM1), *options]) == 2
    lines = capsys.readouterr().err
    assert all(option in lines for option in ("--precision", "--confidence", "--replications", "--seed")), lines


def test_solving_refuses_what_only_simulation_knows(tmp_path, capsys):
    assert run(["model", "solve", write(tmp_path, MM1.replace("0.5 /s", "0.5 /s, timeout: 1 s"))]) == 2
    assert "model simulate" in capsys.readouterr().err


TIERS = """
schema: towtank/model/1
name: tiers
stations:
  cpu: {demand: 1 s}
  db: {demand: 0.5 s, servers: 4}
pools: {connections: {size: 3, holds: [db]}}
classes:
  web: {rate: 0.5 /s}
"""


def test_times_by_class_and_pools_have_intervals_that_hold_the_truth(tmp_path, capsys):
    """Most of the 30 simulated intervals of each quantity must contain the exact value.

    The response time is 1 s / (1 - 0.5) = 2 s, and the delay uses 0.5 /s x 0.5 s = 0.25 connections.
    """
    file = write(tmp_path, TIERS)
    found = {"cpu": 0, "db": 0, "connections": 0}
    for seed in range(30):
        assert run(["model", "simulate", file, "--events", "60000", "--seed", str(seed), "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        known = {
            name: figures["confidence_interval"] for name, figures in (answer["stations"] | answer["pools"]).items()
        }
        for name, figure, truth in (
            ("cpu", "residence_time_s.web", 2.0),
            ("db", "residence_time_s.web", 0.5),
            ("connections", "utilization", 0.25 / 3),
        ):
            low, high = known[name][figure]
            found[name] += low <= truth <= high
        assert known["connections"]["waiting_time_s.web"] is not None
        assert known["cpu"]["utilization_by_class.web"][1] <= 1.0
    # If intervals contain the true value in 95 % of cases, the probability that fewer than 24 of 30 do is 0.001.
    assert min(found.values()) >= 24, found


def test_times_of_stations_and_pools_are_printed_with_their_intervals(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["model", "simulate", write(tmp_path, TIERS), "--events", "200000"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"│ cpu .*│ [\d.]+ \[[\d.]+, [\d.]+\] s +│", text), text
    assert re.search(r"│ connections │ [\d.]+ \[[\d.]+, [\d.]+\] % .*web [\d.]+ \[[\d.]+, [\d.]+\] µs", text), text
