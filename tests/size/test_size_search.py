from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cases import case
from models import engine_model
from sizing import sized, written

from towtank.cli import main
from towtank.model import solve_models

MODEL = """
classes:
  web: {users: 200, think: 2 s}
stations:
  app: {servers: 4, discipline: ps, demand: 40 ms}
  db: {servers: 2, discipline: ps, demand: 25 ms}
  lan: {discipline: delay, demand: 30 ms}
"""


def means(configurations: list[tuple[int, int, int]]) -> dict[tuple[int, int, int], float]:
    """Return the mean response time for each combination of number of nodes, CPUs per node, and CPUs of the database.

    Each node is a separate station. All models are solved in one call.
    """
    models = []
    for nodes, app, db in configurations:
        stations = [(f"app{n}", app, 0.040, 1 / nodes) for n in range(nodes)] + [("db", db, 0.025, 1.0)]
        models.append(
            {
                "classes": [{"name": "web", "users": 200, "think_time_s": 2.0}],
                "stations": [
                    {"name": name, "discipline": "ps", "servers": servers,
                     "services": [{"class": "web", "visits": visits, "service_time_s": time}]}
                    for name, servers, time, visits in stations
                ]
                + [{"name": "lan", "discipline": "delay", "services": [{"class": "web", "service_time_s": 0.030}]}],
            }
        )  # fmt: skip
    answers = [
        solved.solution.classes["web"].response_time_s
        for solved in solve_models([engine_model(each) for each in models])
    ]
    return dict(zip(configurations, answers, strict=True))


@pytest.mark.parametrize("limit_ms", [105, 120, 160])
def test_the_answer_is_that_of_brute_force_over_the_whole_grid(tmp_path: Path, capsys: Any, limit_ms: int) -> None:
    grid = list(product((1, 2, 3), range(1, 7), range(1, 6)))
    solved = means(grid)
    good = [nodes * app + db for (nodes, app, db), mean in solved.items() if mean <= limit_ms / 1000]
    model = written(tmp_path, "model.yaml", MODEL)
    options = ("--objective", f"mean <= {limit_ms} ms", "--cpus", "app=1..6", "--cpus", "db=1..5",
               "--nodes", "app=1..3")  # fmt: skip
    found = sized(capsys, model, *options)
    assert found["answer"]["cost"] == min(good)
    tiers = found["answer"]["tiers"]
    chosen = (tiers["app"]["nodes"], tiers["app"]["cpus"], tiers["db"]["cpus"])
    assert found["answer"]["objectives"][0]["value"] == pytest.approx(solved[chosen], rel=1e-9)
    assert found["search"]["candidates"] == len(grid)
    assert sized(capsys, model, *options, "--exhaustive")["answer"]["cost"] == min(good)


def test_the_bookstore_of_gross_and_harris_needs_four_cashiers(tmp_path: Path, capsys: Any) -> None:
    """40 customers an hour need 4 minutes each. With 4 cashiers the customers wait 1.135 min and stay 5.135 min in
    total.

    With 3 cashiers the customers wait far longer.
    """
    book = case("V37")
    text = "classes: {customers: {rate: 40 /h}}\nstations:\n  cashiers: {demand: 4 min}\n"
    model = written(tmp_path, "model.yaml", text)
    found = sized(capsys, model, "--objective", "mean < 5.2 min", "--cpus", "cashiers=1..10")
    assert found["answer"]["tiers"]["cashiers"]["cpus"] == book["inputs"]["c"]
    seen = found["answer"]["objectives"][0]["value"] / 60
    assert seen == pytest.approx(book["verified"]["W_min"], rel=1e-9)


def test_a_fitted_demand_that_depends_on_the_load_stays_what_it_is(tmp_path: Path, capsys: Any) -> None:
    """The demand of the fitted model depends on the load. With the measured number of CPUs, sizing gives the same
    result as `model solve`.

    With more CPUs the response time is shorter.
    """
    # Station with two CPUs whose demand is D(u) = D (1 + 0.6 (1 - u)) at the utilization u.
    rates = [0.625, 1.3 / 1.3 * 2 / 1.3, 2.0]
    text = f"""
classes: {{a: {{users: 40, think: 1 s}}}}
stations:
  q: {{rates: {rates}, discipline: ps, demand: 30 ms}}
"""
    model = written(tmp_path, "model.yaml", text)
    assert main(["model", "solve", model, "--json"]) == 0
    solved = json.loads(capsys.readouterr().out)["classes"]["a"]["response_time_s"]
    found = sized(capsys, model, "--objective", "mean < 10 s", "--cpus", "q=2")
    assert found["answer"]["objectives"][0]["value"] == pytest.approx(solved, rel=1e-9)
    more = sized(capsys, model, "--objective", "mean < 10 s", "--cpus", "q=4")
    assert 0.03 < more["answer"]["objectives"][0]["value"] < solved
    assert (
        main(["size", written(tmp_path, "other.yaml", text.replace("0.625", "0.5")), "--objective", "mean < 1 s"]) == 2
    )
    assert "'rates' hold for one number of CPUs only" in capsys.readouterr().err


def test_what_is_one_step_cheaper_misses_and_says_why(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", MODEL)
    found = sized(capsys, model, "--objective", "mean < 120 ms", "--cpus", "app=1..8", "--cpus", "db=1..8")
    assert found["neighbours"]
    for neighbour in found["neighbours"]:
        assert neighbour["objectives"][0]["value"] > 0.12
        assert "mean of web < 120 ms" in neighbour["why_not"][0]


def test_utilization_alone_is_the_utilization_law(tmp_path: Path, capsys: Any) -> None:
    """30 /s with 0.1 s each are 3 erlang. For a utilization of at most 70 %, 3 / 0.7 = 4.29 servers are
    needed, so 5.
    """
    text = "classes:\n  in: {rate: 30 /s}\nstations:\n  cpu: {servers: 4, demand: 100 ms}\n"
    found = sized(capsys, written(tmp_path, "model.yaml", text), "--utilization", "70 %", "--cpus", "cpu=1..20")
    assert found["answer"]["tiers"]["cpu"]["cpus"] == 5
    assert found["answer"]["tiers"]["cpu"]["utilization"]["cpu"] == pytest.approx(0.6, rel=1e-12)
    work = next(step for step in found["steps"] if step["step"] == "work at cpu")
    assert (work["value"], work["unit"]) == (pytest.approx(3.0), "erlang")


def test_a_node_may_be_lost(tmp_path: Path, capsys: Any) -> None:
    """If one of n nodes is lost, each remaining node serves n / (n - 1) times its former load.

    80 /s with 50 ms each are 4 erlang. They need 3 nodes of 2 CPUs for a steady state, and 4 nodes if one may be lost.
    """
    text = "classes:\n  in: {rate: 80 /s}\nstations:\n  app: {servers: 2, discipline: ps, demand: 50 ms}\n"
    model = written(tmp_path, "model.yaml", text)
    options = ("--objective", "mean < 10 s", "--cpus", "app=2", "--nodes", "app=1..8")
    assert sized(capsys, model, *options)["answer"]["tiers"]["app"]["nodes"] == 3
    found = sized(capsys, model, *options, "--lose", "1")
    assert found["answer"]["tiers"]["app"]["nodes"] == 4
    normal, lost = found["answer"]["scenarios"]
    assert normal["utilization"]["app"] == pytest.approx(4 / 8)
    assert lost["lost"] == {"tier": "app", "nodes": 1}
    assert lost["utilization"]["app"] == pytest.approx(4 / 6)


@pytest.mark.waits
def test_the_load_grows_by_steps(tmp_path: Path, capsys: Any) -> None:
    """The load is 1000 users x 1.5 (peak) x 1.2^2 (growth of two years) x 1.1 (headroom) = 2376 users."""
    model = written(tmp_path, "model.yaml", MODEL)
    options = ("--users", "1000", "--peak", "1.5", "--growth", "20 % / year", "--horizon", "2 years",
               "--headroom", "10 %")  # fmt: skip
    found = sized(capsys, model, *options, "--utilization", "80 %", "--cpus", "app=1..128", "--cpus", "db=1..128")
    assert found["load"]["users"]["web"] == pytest.approx(2376)
    values = [step["value"] for step in found["steps"][:4]]
    assert values == pytest.approx([1000, 1500, 2160, 2376])
    assert found["steps"][2]["formula"] == "N g^years"


def test_nothing_meets_it_is_exit_3_and_says_so(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", MODEL)
    found = sized(capsys, model, "--objective", "mean < 50 ms", "--cpus", "app=1..4", status=3)
    assert found["answer"] is None
    assert main(["size", model, "--objective", "mean < 50 ms", "--cpus", "app=1..4"]) == 3
    assert "none of 4 candidates meets these requirements" in capsys.readouterr().out


@pytest.mark.waits
def test_the_same_question_has_the_same_answer(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", MODEL)
    options = ("--objective", "p95 < 300 ms", "--uncertainty", "10 %", "--nodes", "app=1..3", "--cpus", "app=1..8",
               "--cpus", "db=1..8", "--lose", "1", "--growth", "10 % / year", "--start", "2026-01-01")  # fmt: skip
    first = sized(capsys, model, *options)
    assert first == sized(capsys, model, *options)
    assert first["answer"]["probability"] >= 0.9
    found = first["answer"]["scenarios"][0]["simulated"]["p95 of web < 300 ms"]
    low, high = found["confidence_interval"]
    assert low <= found["value"] <= high


@pytest.mark.waits
def test_uncertain_demands_need_more(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", MODEL)
    options = ("--objective", "mean < 130 ms", "--cpus", "app=1..32", "--cpus", "db=1..32")
    sure = sized(capsys, model, *options)
    unsure = sized(capsys, model, *options, "--uncertainty", "15 %")
    assert sure["answer"]["probability"] is None
    assert unsure["answer"]["probability"] >= 0.9
    assert unsure["answer"]["cost"] > sure["answer"]["cost"]


def test_the_front_has_nobody_who_is_better_in_everything(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", MODEL)
    found = sized(capsys, model, "--objective", "mean < 120 ms", "--cpus", "app=1..12", "--cpus", "db=1..12")
    rows = [(row["cost"], row["objectives"][0]["value"], row["busiest"]["utilization"]) for row in found["pareto"]]
    assert len(rows) > 2
    assert found["pareto"][0]["configuration"] == found["answer"]["configuration"]
    for row in rows:
        assert not any(other != row and all(a <= b for a, b in zip(other, row, strict=True)) for other in rows)


def test_the_next_bottleneck_is_what_limits_after_the_first_is_doubled(tmp_path: Path, capsys: Any) -> None:
    """The application with 4 CPUs saturates first, at 4 / 40 ms = 100 /s. If it is doubled, the database with 3 CPUs
    saturates first, at 3 / 25 ms = 120 /s.
    """
    model = written(tmp_path, "model.yaml", MODEL)
    found = sized(capsys, model, "--objective", "mean < 20 s", "--cpus", "app=4", "--cpus", "db=3")
    first, second = found["bottlenecks"][:2]
    assert (first["station"], second["station"]) == ("app", "db")
    assert second["load"] > first["load"] > 200
    # Near saturation, N = X (Z + R) with the throughput X of the bottleneck: 100 /s (2 s + 20 s) = 2200 users. After
    # the first bottleneck is doubled, X is that of the database, 3 CPUs / 25 ms = 120 /s.
    assert first["load"] == pytest.approx(2200, rel=0.01)
    assert second["load"] == pytest.approx(2640, rel=0.01)


def test_a_model_of_several_classes_is_sized_by_class(tmp_path: Path, capsys: Any) -> None:
    text = """
classes:
  web: {users: 50, think: 5 s}
  batch: {rate: 2 /s}
stations:
  cpu: {servers: 2, discipline: ps, demand: {web: 50 ms, batch: 200 ms}}
  disk: {servers: 1, demand: {web: 10 ms, batch: 50 ms}}
"""
    model = written(tmp_path, "model.yaml", text)
    options = ("--users", "web=200", "--rate", "batch=5 /s", "--objective", "mean of web < 120 ms",
               "--objective", "mean of batch < 500 ms", "--cpus", "cpu=1..16", "--cpus", "disk=1..4")  # fmt: skip
    found = sized(capsys, model, *options)
    assert found["objectives"] == ["mean of web < 120 ms", "mean of batch < 500 ms"]
    assert all(objective["value"] < objective["limit"] for objective in found["answer"]["objectives"])
    assert found["load"] == {"users": {"web": 200.0}, "rate_per_s": {"batch": 5.0}, "think_s": {"web": 5.0}}
    assert found == {**sized(capsys, model, *options, "--exhaustive"), "search": found["search"],
                     "next_cheaper": found["next_cheaper"]}  # fmt: skip
