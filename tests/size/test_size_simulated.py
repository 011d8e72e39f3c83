from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sizing import CLOSED_TIERS, sized, written

from towtank.model import SimulatedOutcome, SimulationSettings, load_model, simulate_models
from towtank.sizing import simulated
from towtank.sizing.factors import Factor, drawn_factors

ASKED = ("--objective", "p95 < 280 ms", "--cpus", "app=2", "--cpus", "db=1")
SHORT = (
    "measured for only 1.8 times the relaxation time of 10.286 s, in which the influence of the initial state "
    "disappears: allow more events"
)
Json = dict[str, Any]


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Json], None]], None]:
    """Return a function that changes the results of the simulator before the sizing uses them."""

    def change(how: Callable[[Json], None]) -> None:
        simulate = simulated.simulate_models

        def other(*arguments: Any) -> SimulatedOutcome:
            answer = simulate(*arguments).answers[0].document()
            how(answer)
            return SimulatedOutcome.model_validate({"answers": [answer]})

        monkeypatch.setattr(simulated, "simulate_models", other)

    return change


def measured_short(answer: Json) -> None:
    answer["simulation"] |= {"stopped": "events", "measured_relaxations": 1.8}
    answer["warnings"] = [SHORT]


def law_broken(answer: Json) -> None:
    answer["classes"]["web"]["little"]["holds"] = False
    answer["warnings"] = [SHORT]


@pytest.mark.parametrize("how", [measured_short, law_broken])
def test_a_simulation_that_was_too_short_gives_no_factor(
    tmp_path: Path, capsys: Any, changed: Any, how: Callable[[Json], None]
) -> None:
    model = written(tmp_path, "model.yaml", CLOSED_TIERS)
    worked_out = sized(capsys, model, *ASKED, "--no-simulation")["answer"]["objectives"][0]
    changed(how)
    found = sized(capsys, model, *ASKED)
    (objective,) = found["answer"]["objectives"]
    assert found["search"]["simulated"] == 1
    assert objective == worked_out
    assert objective["interval"] is None
    assert found["answer"]["scenarios"][0]["simulated"] == {}
    (doubt,) = [text for text in found["trust"]["doubts"] if text.startswith("simulation")]
    assert doubt.startswith(f"simulation: {SHORT}; percentiles stay approximate (")
    assert "the error of the simulation" not in found["trust"]["no_interval"]


def test_a_warning_of_the_simulator_is_a_doubt(tmp_path: Path, capsys: Any, changed: Any) -> None:
    model = written(tmp_path, "model.yaml", CLOSED_TIERS)
    changed(lambda answer: answer["warnings"].append("stopped by the limit on events"))
    found = sized(capsys, model, *ASKED)
    assert "simulation: stopped by the limit on events" in found["trust"]["doubts"]
    assert found["answer"]["scenarios"][0]["simulated"]


def test_a_value_beyond_its_interval_still_has_an_error(tmp_path: Path, capsys: Any, changed: Any) -> None:
    model = written(tmp_path, "model.yaml", CLOSED_TIERS)

    def above(answer: Json) -> None:
        figures = answer["classes"]["web"]
        value = figures["response_time_percentiles_s"]["p95"]
        figures["confidence_interval"]["p95"] = [0.9 * value, 0.99 * value]

    changed(above)
    (objective,) = sized(capsys, model, *ASKED)["answer"]["objectives"]
    assert objective["interval"]["low"] == pytest.approx(0.9 * objective["value"])
    assert objective["interval"]["high"] == pytest.approx(objective["value"])


@pytest.mark.parametrize("factor", [Factor(1.02, 0.9, 1.0), Factor(0.88, 0.9, 1.0), Factor(1.0, 0.0, 1.1)])
def test_no_factor_becomes_certain_in_silence(factor: Factor) -> None:
    """The random values of a correction factor must cover the interval of this factor. If the interval does not contain
    the factor itself, the interval is extended.
    """
    draws = [drawn_factors({0: factor}, {}, (place, 200), None)[0].value for place in range(200)]
    assert max(draws) - min(draws) > 0.09
    assert max(draws) == pytest.approx(max(factor.value, factor.high), rel=0.1)
    known = max(factor.low, factor.value**2 / factor.high if factor.low <= 0 else 0.0)
    assert min(draws) == pytest.approx(min(factor.value, known), rel=0.1)


def test_a_factor_without_a_lower_end_falls_as_far_as_it_rises() -> None:
    """The upper end 4 is twice the factor 2, and the lower end is unknown. It is taken as half of the factor, 1."""
    factor = Factor(2.0, 0.0, 4.0)
    assert [factor.drawn(score) for score in (-1.959964, 0.0, 1.959964)] == pytest.approx([1.0, 2.0, 4.0])


RANKS = """
classes:
  hi: {users: 6, think: 2 s}
  lo: {users: 1, think: 2 s}
stations:
  cpu: {discipline: priority, preemptive: true, priority: [hi, lo], demand: {hi: 1 s, lo: 1 s}}
"""


def exact_of_ranks(users: int = 6, think_s: float = 2.0, service_s: float = 1.0) -> float:
    """Return the mean response time of the only user of the class with the lower priority. [s]

    It is computed from the Markov chain of both classes at one server.
    """
    states = [(high, low) for high in range(users + 1) for low in (0, 1)]
    place = {state: number for number, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for (high, low), start in place.items():
        if high < users:
            rates[start, place[high + 1, low]] += (users - high) / think_s
        if not low:
            rates[start, place[high, 1]] += 1 / think_s
        if high:
            rates[start, place[high - 1, low]] += 1 / service_s
        elif low:
            rates[start, place[0, 0]] += 1 / service_s
    balance = (rates - np.diag(rates.sum(axis=1))).T
    balance[-1] = 1.0
    chance = np.linalg.solve(balance, np.eye(len(states))[-1])
    throughput = chance[place[0, 1]] / service_s
    return float(1 / throughput - think_s)


def test_a_mean_of_a_coarse_approximation_is_simulated(tmp_path: Path, capsys: Any) -> None:
    """With priorities of closed classes, the approximation underestimates response times of the lower priority by a
    third.
    """
    model, exact = written(tmp_path, "model.yaml", RANKS), exact_of_ranks()
    objective = ("--objective", f"mean of lo < {2 * exact:.0f} s", "--cpus", "cpu=1")
    rough = sized(capsys, model, *objective, "--no-simulation")
    assert rough["answer"]["objectives"][0]["value"] < 0.75 * exact
    (doubt,) = [text for text in rough["trust"]["doubts"] if "no exact solution" in text]
    assert doubt.endswith("too small or too large; no interval includes this error")
    found = sized(capsys, model, *objective)
    scenario = found["answer"]["scenarios"][0]
    (value,) = (objective["value"] for objective in scenario["objectives"])
    low, high = scenario["simulated"][found["objectives"][0]]["confidence_interval"]
    assert value == pytest.approx(exact, rel=0.06)
    assert 0.97 * low <= exact <= 1.03 * high
    assert scenario["classes"]["lo"]["response_time_s"] == value
    (doubt,) = [text for text in found["trust"]["doubts"] if "no exact solution" in text]
    assert doubt.endswith("only simulated values do not have this error")


def test_a_coarse_approximation_within_the_objective_is_no_answer(tmp_path: Path, capsys: Any) -> None:
    """The objective is 80 % of the exact response time with one CPU, so one CPU is no answer.

    The approximate response time meets the objective. So without simulation, the sizing answers one CPU.
    """
    model, exact = written(tmp_path, "model.yaml", RANKS), exact_of_ranks()
    asked = ("--objective", f"mean of lo < {0.8 * exact:.1f} s", "--cpus", "cpu=1..2")
    assert sized(capsys, model, *asked, "--no-simulation")["answer"]["tiers"]["cpu"]["cpus"] == 1
    found = sized(capsys, model, *asked)
    assert found["answer"]["tiers"]["cpu"]["cpus"] == 2
    assert found["next_cheaper"]["objectives"][0]["value"] == pytest.approx(exact, rel=0.06)


def test_throughputs_of_a_coarse_approximation_are_simulated(tmp_path: Path, capsys: Any) -> None:
    model, exact = written(tmp_path, "model.yaml", RANKS), 1 / (exact_of_ranks() + 2)
    asked = ("--objective", f"throughput of lo > {0.5 * exact * 3600:.3g} /h", "--cpus", "cpu=1")
    found = sized(capsys, model, *asked)
    assert found["answer"]["objectives"][0]["value"] == pytest.approx(exact, rel=0.06)


SHARED = """
classes: {a: {users: 30, think: 2 s}, b: {users: 20, think: 1 s}}
stations:
  app: {servers: 4, discipline: ps, demand: {a: 20 ms, b: 50 ms}}
  db: {discipline: ps, demand: 30 ms}
"""
SHARED_SIZING = """
objectives: [mean of a < 3 s]
tiers: {app: {cpus: 4}, db: {cpus: 1}}
pools: {threads: {holds: [app, db], wait_at_most: 20 ms}}
"""


@pytest.mark.waits
def test_a_pool_of_several_classes_is_enough_by_simulation(tmp_path: Path, capsys: Any) -> None:
    """For a pool that several classes use, the approximate wait is half of the true wait. By the approximation, 8 units
    would suffice, but they do not.
    """
    model = written(tmp_path, "model.yaml", SHARED)
    settings = SimulationSettings(precision=0.02, seed=9)

    def waits(size: int) -> float:
        held = f"pools: {{threads: {{size: {size}, holds: [app, db]}}}}\n"
        document = load_model(Path(written(tmp_path, "held.yaml", SHARED + held))).document
        return max(simulate_models([document], settings).answers[0].pools["threads"].waiting_time_s.values())

    asked = written(tmp_path, "asked.yaml", f"{SHARED_SIZING}uncertainty: 2 %\nprobability: 80 %\n")
    pool = sized(capsys, model, "--for", asked)["pools"]["threads"]
    assert pool["simulated"]
    assert not sized(capsys, model, "--for", asked, "--no-simulation")["pools"]["threads"]["simulated"]
    assert waits(pool["size_at_best"]) > 1.3 * 0.02
    assert waits(pool["size"]) < 1.05 * 0.02
    assert pool["wait_s"] == pytest.approx(waits(pool["size"]), rel=0.1)
    assert pool["probability"] >= 0.8
    assert pool["wait_interval"]["low"] < pool["wait_s"] < pool["wait_interval"]["high"]
