"""Response times of random networks, by solution method: the solver and the simulator agree within the stated errors.

`TOWTANK_GRID` is the number of networks; the certification of a release uses 600. `test_certified_ranges.py` compares
all other quantities.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from certification import Section, Tabled, percent
from models import engine_model
from random_networks import Compared, compared, network

from towtank.model import SimulationSettings, simulate_models, solve_models

pytestmark = pytest.mark.waits

NETWORKS = int(os.environ.get("TOWTANK_GRID", "48"))
EVENTS = 400_000
SLACK = 1e-6
"""Allowed rounding error of a value that equals its bound. [ratio]"""


@cache
def grid() -> tuple[list[Compared], list[dict[str, Any]]]:
    """Return the comparisons of solver and simulator, and all solutions of the solver.

    Networks whose simulation reached no steady state are not compared.
    """
    drawn = [(seed, *network(seed)) for seed in range(NETWORKS)]
    solved = solve_models([engine_model(model) for *_, model in drawn])
    result = [(document, each.answer.document()) for document, each in zip(drawn, solved, strict=True) if each.answer]

    def rows(pair: tuple[Any, dict[str, Any]]) -> list[Compared]:
        (seed, kind, load, model), answer = pair
        settings = SimulationSettings(precision=0.01, events=EVENTS, seed=seed + 1)
        simulated = simulate_models([engine_model(model)], settings).answers[0].document()
        return list(compared(seed, kind, load, answer, simulated)) if simulated["steady"] else []

    with ThreadPoolExecutor(2) as pool:
        found = [row for each in pool.map(rows, result) for row in each]
    return found, [answer for _, answer in result]


def table_rows() -> list[dict[str, Any]]:
    """Return the rows of the certification table: method, numbers of networks and classes, and largest significant
    error.

    `stated` is the largest error bound that solutions of the method state, or None for exact methods.
    """
    found, answers = grid()
    stated = defaultdict(float)
    for answer in answers:
        stated[answer["method"], answer["exact"]] = max(
            stated[answer["method"], answer["exact"]], answer["approximate_within"] or 0.0
        )
    groups: dict[tuple[str, bool], list[Compared]] = defaultdict(list)
    for row in found:
        groups[row.method, row.exact].append(row)
    return [
        {
            "method": method,
            "exact": exact,
            "networks": len({row.seed for row in rows}),
            "classes": len(rows),
            "largest_error": max(row.error for row in rows),
            "stated": None if exact else max(stated[method, exact], *(row.stated or 0.0 for row in rows)),
        }
        for (method, exact), rows in sorted(groups.items())
    ]


def test_most_networks_are_solved_and_within_their_bounds() -> None:
    found, answers = grid()
    assert len(answers) >= 0.9 * NETWORKS
    assert len({row.seed for row in found}) >= 0.8 * NETWORKS
    assert {row.load for row in found} == {"open", "closed", "mixed"}
    for answer in answers:
        assert answer["checks"]["within_bounds"], answer["method"]
        assert all(station["utilization"] <= 1 + SLACK for station in answer["stations"].values()), answer["method"]


SECTION = Section(
    "The solver against the simulator",
    "method | exact | networks | classes | largest significant error | stated error",
    f"{NETWORKS} random networks with all kinds of stations. Mean response times of exact methods must lie in the "
    "simulated 95 % intervals, widened by the factor 2.2. For other methods, they may differ by the error that the "
    "solution states.",
)


@pytest.mark.certify
def test_every_method_is_within_what_it_states(tabled: Tabled) -> None:
    """Exact methods must lie in the simulated intervals, other methods must be within the error that they state.

    The intervals are 95 % intervals, widened by the factor 2.2. By chance, such an interval excludes the true value in
    fewer than one of a thousand cases. The test allows one miss for each 500 networks.
    """
    assert len([row for row in grid()[0] if row.exact and row.error > 0]) <= NETWORKS // 500
    for row in table_rows():
        stated = "" if row["exact"] else percent(row["stated"]) if math.isfinite(row["stated"]) else "no upper bound"
        counts = (str(row["networks"]), str(row["classes"]), percent(row["largest_error"]))
        allowed = row["exact"] or row["largest_error"] <= row["stated"]
        tabled(SECTION, row["method"], "yes" if row["exact"] else "no", *counts, stated, holds=allowed)


@pytest.mark.certify
def test_approximate_answers_are_within_the_error_that_they_state() -> None:
    found, answers = grid()
    assert all((answer["approximate_within"] is None) == answer["exact"] for answer in answers)
    assert all(row.stated is not None and row.error <= row.stated for row in found if not row.exact), [
        row for row in found if not row.exact and row.error > (row.stated or 0.0)
    ]


def solved(classes: list[dict[str, Any]], **station: Any) -> dict[str, Any]:
    model = engine_model({"classes": classes, "stations": [{"name": "s", **station}]})
    return solve_models([model])[0].solution.document()


def services(times: dict[str, float], scv: float) -> list[dict[str, Any]]:
    return [{"class": name, "service_time_s": time, "variation": {"scv": scv}} for name, time in times.items()]


def times_of(answer: dict[str, Any]) -> list[float]:
    return [class_["response_time_s"] for class_ in answer["classes"].values()]


@pytest.mark.parametrize("servers", [1, 2, 8, 64])
@pytest.mark.parametrize("users", [0, 1, 20, 200])
def test_variation_near_one_joins_the_exact_answer(servers: int, users: int) -> None:
    """The load is open if `users` is 0, otherwise closed."""
    load = {"users": users, "think_time_s": 1.0} if users else {"arrival_rate_per_s": 0.8 * servers}
    classes = [{"name": "a", **load}]
    exact = times_of(solved(classes, servers=servers, services=services({"a": 1.0}, 1.0)))
    for scv in (1 - 1e-7, 1 + 1e-7):
        near = times_of(solved(classes, servers=servers, services=services({"a": 1.0}, scv)))
        assert near == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("scv", [0.0, 0.25, 1.0, 4.0])
def test_a_lone_user_and_as_many_servers_as_users_never_wait(scv: float) -> None:
    for users, servers in ((1, 1), (8, 8), (8, 64)):
        answer = solved([{"name": "a", "users": users, "think_time_s": 1.0}], servers=servers,
                        services=services({"a": 0.5}, scv))  # fmt: skip
        assert times_of(answer) == pytest.approx([0.5], rel=1e-9)
    seldom = solved([{"name": "a", "arrival_rate_per_s": 1e-9}], servers=2, services=services({"a": 0.5}, scv))
    assert times_of(seldom) == pytest.approx([0.5], rel=1e-6)


@pytest.mark.parametrize("scv", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("servers", [1, 8])
def test_one_open_class_split_in_two_is_the_same(servers: int, scv: float) -> None:
    rate = 0.8 * servers
    whole = solved([{"name": "a", "arrival_rate_per_s": rate}], servers=servers, services=services({"a": 1.0}, scv))
    parts = [{"name": "a", "arrival_rate_per_s": 0.3 * rate}, {"name": "b", "arrival_rate_per_s": 0.7 * rate}]
    both = solved(parts, servers=servers, services=services({"a": 1.0, "b": 1.0}, scv))
    assert times_of(both) == pytest.approx(2 * times_of(whole), rel=1e-9)


@pytest.mark.parametrize("scv", [0.25, 4.0])
def test_one_closed_class_split_in_two_is_the_same_within_what_is_stated(scv: float) -> None:
    whole = solved([{"name": "a", "users": 20, "think_time_s": 9.0}], servers=2, services=services({"a": 1.0}, scv))
    parts = [{"name": name, "users": 10, "think_time_s": 9.0} for name in "ab"]
    both = solved(parts, servers=2, services=services({"a": 1.0, "b": 1.0}, scv))
    stated = whole["approximate_within"] + both["approximate_within"]
    assert times_of(both) == pytest.approx(2 * times_of(whole), rel=stated)
    assert times_of(both)[0] == pytest.approx(times_of(both)[1], rel=1e-9)
