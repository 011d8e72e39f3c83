"""Error ranges stated by approximate solutions, compared with the simulator for random stations and networks, also with
repeated visits to a station.

`TOWTANK_STATIONS`, `TOWTANK_NETWORKS` and `TOWTANK_RETURNS` set the numbers of models. The certification of a release
uses 400, 200 and 200 models, and longer simulations.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from certification import Section, Tabled, percent
from models import engine_model
from random_networks import STRETCH, network
from random_returns import returning
from random_stations import station
from stated_ranges import RATIOS, Ranged, ranged

from towtank.model import SimulationSettings, simulate_models, solve_models

FIRST = 200
"""Seed of the first model. Models with smaller seeds, and with seeds from 1000, were used to determine the ranges."""
FEW = 12
COUNTS = {
    "station": int(os.environ.get("TOWTANK_STATIONS", FEW)),
    "network": int(os.environ.get("TOWTANK_NETWORKS", FEW)),
    "return": int(os.environ.get("TOWTANK_RETURNS", FEW)),
}
DRAWN: dict[str, Callable[[int], dict[str, Any]]] = {
    "station": station,
    "network": lambda seed: network(seed)[2],
    "return": returning,
}
"""Functions that return the model with a given seed, by kind of model."""
WHOLE = min(COUNTS.values()) > FEW
EVENTS = {"station": 2_000_000, "network": 1_500_000, "return": 1_500_000} if WHOLE else dict.fromkeys(COUNTS, 100_000)
WIDEST = 2.0
"""Largest allowed ratio of the stated error to the observed error, at the 95th percentile. [1]"""
DERIVED = ("jobs", "throughput", "utilization")
"""Quantities whose ranges are derived from the ranges of times and losses, and may be wider."""
MANY = 10.0
"""Stated error above which the error is not reported as a number. [ratio]"""
CHANCE = 500
"""Number of values of exact solutions of which one may lie outside its widened interval by chance."""


@dataclass(frozen=True)
class Grid:
    """Comparisons of all random models of a kind.

    Attributes
    ----------
    compared : list of tuple of int, bool and Ranged
        Seed of the model, True if the solution is exact, and a value of the solution.
    refused : dict of int to str
        Message of the first fault of each refused model, by seed.
    """

    compared: list[tuple[int, bool, Ranged]]
    refused: dict[int, str]


@cache
def grid(kind: str) -> Grid:
    seeds = range(FIRST, FIRST + COUNTS[kind])
    drawn = [DRAWN[kind](seed) for seed in seeds]
    found = Grid([], {})
    for seed, model, solved in zip(seeds, drawn, solve_models([engine_model(each) for each in drawn]), strict=True):
        if solved.answer is None:
            found.refused[seed] = solved.faults[0].message
            continue
        simulated = _simulated(model, seed, EVENTS[kind])
        if simulated["steady"]:
            rows = ranged(model, solved.answer.document(), simulated)
            found.compared.extend((seed, solved.answer.exact, row) for row in rows)
    return found


def _simulated(model: dict[str, Any], seed: int, events: int) -> dict[str, Any]:
    settings = SimulationSettings(precision=0.003, events=events, seed=seed + 1)
    return dict(simulate_models([engine_model(model)], settings).answers[0].document())


def _by_quantity(kind: str, *, exact: bool) -> Iterator[tuple[str, list[tuple[int, Ranged]]]]:
    groups: dict[str, list[tuple[int, Ranged]]] = defaultdict(list)
    for seed, is_exact, row in grid(kind).compared:
        if is_exact == exact:
            groups[row.quantity].append((seed, row))
    yield from sorted(groups.items())


SECTION = Section(
    "Ranges that solutions state",
    "models | quantity | exact | values | outside | stated error, 95th percentile | observed error relative to the "
    "stated error, 95th percentile",
    f"{COUNTS['station']} random single stations (1 to 64 servers, every queueing discipline, with and without a "
    "limited capacity, squared coefficients of variation of interarrival and service times from 0 to 4, service "
    f"times that differ up to 50 times between classes), {COUNTS['network']} random networks, and {COUNTS['return']} "
    "networks whose transactions visit a station 2 to 10 times, with squared coefficients of variation of 0, 1/12, 1 "
    f"and 4 (`returns`). The simulated 95 % intervals, widened by the factor {STRETCH}, must overlap the stated "
    "ranges, and contain the values of exact solutions. At the 95th percentile, the stated error of times and losses "
    "may be at most twice the observed error. The ranges of jobs, throughput and utilization are derived from these "
    "and may be wider. Errors of loss and utilization are absolute, others are relative. Models with a time limit "
    "for waiting are refused.",
)


@pytest.mark.certify
@pytest.mark.parametrize("kind", COUNTS)
def test_no_value_is_outside_its_stated_range(kind: str, tabled: Tabled) -> None:
    for quantity, rows in _by_quantity(kind, exact=False):
        outside = sum(row.outside > 0 for _, row in rows)
        errors = [(_stated(row), row.used) for _, row in rows if row.used is not None]
        wide, used = np.quantile(errors, 0.95, axis=0) if errors else (math.nan, math.nan)
        cells = (
            [percent(float(wide)) if wide < MANY else "1,000 % or more", percent(float(used))] if errors else ["", ""]
        )
        tight = not WHOLE or not errors or quantity in DERIVED or used >= 1 / WIDEST
        counts = (str(len(rows)), str(outside))
        tabled(SECTION, f"{kind}s", quantity, "no", *counts, *cells, holds=not outside and tight)
    for quantity, rows in _by_quantity(kind, exact=True):
        outside = sum(row.outside > 0 for _, row in rows)
        counts = (str(len(rows)), str(outside))
        holds = outside <= max(1, len(rows) // CHANCE)
        tabled(SECTION, f"{kind}s", quantity, "yes", *counts, "", "", holds=holds)


def _stated(row: Ranged) -> float:
    """Return the larger of both stated errors of a value: absolute for loss and utilization, otherwise relative.
    [ratio]
    """
    error = max(min(row.high, 1e9) - row.solved, row.solved - row.low)
    return error if row.quantity in RATIOS or row.solved == 0 else error / row.solved


@pytest.mark.parametrize("kind", COUNTS)
def test_most_models_are_answered_and_others_name_simulation(kind: str) -> None:
    refused = grid(kind).refused
    assert len(refused) <= 0.4 * COUNTS[kind], refused
    known = ("simulate", "for a steady state")
    assert all(any(words in message for words in known) for message in refused.values()), refused


def test_time_outs_are_refused_by_their_place() -> None:
    impatient = next(model for model in map(station, range(200)) if "behaviour" in model)
    fault = solve_models([engine_model(impatient)])[0].faults[0]
    assert fault.path == ("classes", "c0", "timeout")
    assert "simulate" in fault.message
