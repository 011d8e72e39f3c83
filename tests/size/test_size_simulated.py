"""Simulated percentiles: what of a simulation counts, and what is doubted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sizing import CLOSED_TIERS, sized, written

from towtank.size import simulated
from towtank.size.factors import Factor, drawn_factors

ASKED = ("--objective", "p95 < 280 ms", "--cpus", "app=2", "--cpus", "db=1")
SHORT = "measured for only 1.8 times the 10.286 s in which the network forgets how it began: allow more events"
Json = dict[str, Any]


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Json], None]], None]:
    """Changes the answers of the simulator."""

    def change(how: Callable[[Json], None]) -> None:
        simulate = simulated.simulate_models

        def other(*arguments: Any) -> Json:
            found = simulate(*arguments)
            how(found["answers"][0])
            return found

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
    assert "simulation only" not in found["trust"]["no_interval"]


def test_a_warning_of_the_simulator_is_a_doubt(tmp_path: Path, capsys: Any, changed: Any) -> None:
    model = written(tmp_path, "model.yaml", CLOSED_TIERS)
    changed(lambda answer: answer["warnings"].append("stopped by the bound on events"))
    found = sized(capsys, model, *ASKED)
    assert "simulation: stopped by the bound on events" in found["trust"]["doubts"]
    assert found["answer"]["scenarios"][0]["simulated"]


def test_a_value_beyond_its_interval_still_has_an_error(tmp_path: Path, capsys: Any, changed: Any) -> None:
    model = written(tmp_path, "model.yaml", CLOSED_TIERS)

    def above(answer: Json) -> None:
        one = answer["classes"]["web"]
        value = one["response_time_percentiles_s"]["p95"]
        one["confidence_interval"]["p95"] = [0.9 * value, 0.99 * value]

    changed(above)
    (objective,) = sized(capsys, model, *ASKED)["answer"]["objectives"]
    assert objective["interval"]["low"] == pytest.approx(0.9 * objective["value"])
    assert objective["interval"]["high"] == pytest.approx(objective["value"])


@pytest.mark.parametrize("factor", [Factor(1.02, 0.9, 1.0), Factor(0.88, 0.9, 1.0), Factor(1.0, 0.0, 1.1)])
def test_no_factor_becomes_certain_in_silence(factor: Factor) -> None:
    """The draws of a factor reach from one end of its interval, widened to hold the value, to the other."""
    draws = [drawn_factors({0: factor}, {}, (place, 200), None)[0].value for place in range(200)]
    assert max(draws) - min(draws) > 0.09
    assert max(draws) == pytest.approx(max(factor.value, factor.high), rel=0.1)
    known = max(factor.low, factor.value**2 / factor.high if factor.low <= 0 else 0.0)
    assert min(draws) == pytest.approx(min(factor.value, known), rel=0.1)
