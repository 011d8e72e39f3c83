"""Results of the solver by transaction of a class, compared with a brute-force Markov chain and with exact laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from markov import mean, stationary
from models import model, solved

from towtank.errors import StudyError
from towtank.model import SimulationSettings, load_model, simulate_models, solve_models
from towtank.model.percentiles import response_percentiles
from towtank.model.stations import stations_of

USERS, THINK_S = 3, 0.4
SHARES = {"browse": 0.7, "buy": 0.3}
DEMANDS_S = {"web": {"browse": 0.02, "buy": 0.05}, "app": {"browse": 0.03, "buy": 0.11}}
SERVERS = {"web": 1, "app": 2}


def shop(**station: Any) -> dict[str, Any]:
    shares = {name: {"share": f"{100 * share:g} %"} for name, share in SHARES.items()}
    users = {"users": USERS, "think": THINK_S, "transactions": shares}
    stations = {
        name: {"servers": SERVERS[name], "discipline": "ps", "demand": DEMANDS_S[name], **station} for name in SERVERS
    }
    return model({"users": users}, stations)


def moves(state: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], float]]:
    """Return the next states of the example shop and the rates to them; its stations have processor sharing.

    In a state, each user is at a station with a transaction, or thinks (None).
    """
    found = []
    for place, user in enumerate(state):
        others = state[:place] + state[place + 1 :]
        if user is None:
            found += [(put(others, ("web", name)), share / THINK_S) for name, share in SHARES.items()]
            continue
        station, name = user
        present = sum(user is not None and user[0] == station for user in state)
        rate = min(1.0, SERVERS[station] / present) / DEMANDS_S[station][name]
        found.append((put(others, ("app", name) if station == "web" else None), rate))
    return found


def put(others: tuple[Any, ...], user: Any) -> tuple[Any, ...]:
    return tuple(sorted((*others, user), key=str))


def test_throughput_and_response_by_transaction_are_those_of_the_markov_chain() -> None:
    """Transactions at processor-sharing stations have a product form (Baskett et al. 1975), so the solution is
    exact.
    """
    chances = stationary((None,) * USERS, moves)
    answer = solved(shop())
    assert answer["exact"]
    found = answer["classes"]["users"]
    thinking = mean(chances, lambda state: sum(user is None for user in state))
    assert found["throughput_per_s"] == pytest.approx(thinking / THINK_S, rel=1e-9)
    for name, share in SHARES.items():
        figures = found["transactions"][name]
        present = mean(chances, lambda state, name=name: sum(each is not None and each[1] == name for each in state))
        assert figures["throughput_per_s"] == pytest.approx(share * thinking / THINK_S, rel=1e-9)
        assert figures["users_in_system"] == pytest.approx(present, rel=1e-9)
        assert figures["response_time_s"] == pytest.approx(present / (share * thinking / THINK_S), rel=1e-9)


@pytest.mark.parametrize("at_once", [2, 4])
def test_how_time_is_parted_changes_nothing_for_the_class(at_once: int) -> None:
    plain, parted = solved(shop())["classes"]["users"], solved(shop(at_once=at_once))["classes"]["users"]
    assert parted["response_time_s"] == plain["response_time_s"]
    shared = sum(share * parted["transactions"][name]["response_time_s"] for name, share in SHARES.items())
    assert shared == pytest.approx(plain["response_time_s"], rel=1e-12)
    slow, before = parted["transactions"]["buy"], plain["transactions"]["buy"]
    # With service in the order of arrival, all jobs wait equally long, however long their own work is. So long jobs are
    # faster than with processor sharing.
    assert slow["response_time_s"] < before["response_time_s"]


def test_in_turn_everybody_waits_the_same_for_each_visit() -> None:
    stations = {"cpu": {"discipline": "fcfs", "service_time": {"a": 0.01, "b": 0.03}, "visits": {"a": 1, "b": 2}}}
    users = {"users": 40, "think": 1.0, "transactions": {"a": {"share": "50 %"}, "b": {"share": "50 %"}}}
    cpu = solved(model({"users": users}, stations))["stations"]["cpu"]["residence_time_by_transaction_s"]
    assert cpu["b"] / 2 - 0.03 == pytest.approx(cpu["a"] - 0.01, rel=1e-9)


def test_the_simulator_agrees_with_the_chain() -> None:
    content = shop()
    exact = solved(content)["classes"]["users"]
    problem = _problem(content)
    settings = SimulationSettings(precision=0.005, events=4_000_000, seed=3)
    found = simulate_models([problem], settings).answers[0].document()["classes"]["users"]
    low, high = found["confidence_interval"]["response_time_s"]
    width = high - low
    assert low - width < exact["response_time_s"] < high + width
    for name in SHARES:
        simulated = found["transactions"][name]["response_time_s"]
        assert simulated == pytest.approx(exact["transactions"][name]["response_time_s"], rel=0.02)


def _problem(content: dict[str, Any]) -> dict[str, Any]:
    import json  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(json.dumps(content), "utf-8")
        return load_model(path).document


def test_own_think_times_count_by_their_shares() -> None:
    content = shop()
    content["classes"]["users"]["transactions"]["buy"]["think"] = "2 s"
    slower = solved(content)["classes"]["users"]
    cycle = USERS / slower["throughput_per_s"] - slower["response_time_s"]
    assert cycle == pytest.approx(0.7 * THINK_S + 0.3 * 2.0, rel=1e-9)


def test_percentiles_of_a_class_are_those_of_the_mixture_of_its_transactions() -> None:
    document = _problem(shop())
    answer = solve_models([document])[0].solution
    stations = stations_of(answer)
    whole, method = response_percentiles(document, answer, stations, "users")
    parts = {name: response_percentiles(document, answer, stations, name)[0] for name in SHARES}
    assert "of each transaction" in method
    at = whole(0.95)
    assert parts["browse"](0.95) < at < parts["buy"](0.95)
    below = 0.0
    for name, share in SHARES.items():
        low, high = 1e-9, 1 - 1e-12
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if parts[name](middle) < at else (low, middle)
        below += share * low
    assert below == pytest.approx(0.95, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "    users: 3\n    transactions: {a: {share: 60 %}, b: {share: 30 %}}",
            "shares that add up to 100 %, got 90 %",
        ),
        ("    users: 3\n    transactions: {a: {share: 60 %}, web: {share: 40 %}}", "a unique name, got 'web'"),
        ("    rate: 3 /s\n    transactions: {a: {share: 60 %}, b: {share: 40 %}}", "must be left out: an open class"),
    ],
)
def test_faults_of_transactions_are_reported_at_their_places(tmp_path: Path, change: str, words: str) -> None:
    path = tmp_path / "model.yaml"
    text = f"classes:\n  web:\n{change}\nstations:\n  cpu: {{demand: 10 ms}}\n"
    path.write_text(text, "utf-8")
    with pytest.raises(StudyError) as caught:
        load_model(path)
    found = [fault for fault in caught.value.faults if words in fault.message]
    assert len(found) == 1
    assert found[0].line == 4
