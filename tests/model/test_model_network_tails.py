"""Ratio of measured to computed percentiles. It corrects predicted percentiles, and is compared with values computed by
hand.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from two_tiers import DEMANDS_S, ELSEWHERE_S, SHARES, STATIONS, THINK_S, TIERS, TRANSACTIONS

from towtank.analysis import LoadPoint
from towtank.model.fitting.curve_tails import MAIN
from towtank.model.fitting.curve_tails import SHARES as TAIL_SHARES
from towtank.model.fitting.networks.closed import CLASS, Condition, Solved, class_names, solve
from towtank.model.fitting.networks.estimate import Parameters
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.networks.tails import Correction, corrections, doubts
from towtank.model.percentiles import response_percentiles
from towtank.model.stations import stations_of

LEVELS = (10.0, 40.0)
FACTORS = (1.2, 0.9)


def network() -> tuple[Measured, Solved]:
    count = len(LEVELS)
    of = Measured(
        "known",
        TRANSACTIONS,
        STATIONS,
        np.array(LEVELS),
        np.full(count, THINK_S),
        np.zeros((count, len(STATIONS))),
        np.ones(len(TRANSACTIONS)),
        (),
    )
    truth = Parameters(
        np.array([DEMANDS_S[tier] for tier in TIERS]), np.zeros(len(TIERS)), np.array(ELSEWHERE_S)
    )  # fmt: skip
    at = [Condition(int(users), THINK_S, np.array(SHARES), np.zeros(len(STATIONS))) for users in LEVELS]
    return of, solve(of, [(truth, condition) for condition in at])


def measured(value: float) -> dict[str, Any]:
    return {"value": value, "low": 0.8 * value, "high": 1.1 * value, "method": "runs", "n": 3}


def test_the_factor_is_the_geometric_mean_of_the_levels() -> None:
    """At two levels the measured percentiles are 1.2 and 0.9 times the computed ones: the factor is sqrt(1.2 x 0.9).

    Each measured percentile has an interval from 0.8 to 1.1 times its value. The interval of the factor spans those of
    both levels, from 0.8 x 0.9 to 1.1 x 1.2.
    """
    of, solved = network()
    points: list[dict[str, Any]] = []
    for place, (load, factor) in enumerate(zip(LEVELS, FACTORS, strict=True)):
        model, answer = solved.networks[place]
        worked_out = {
            name: response_percentiles(model, answer, stations_of(answer), name)[0](TAIL_SHARES[MAIN])
            for name in (CLASS, *class_names(of))
        }
        rows = {
            name: {"p95_s": measured(factor * worked_out[key])}
            for name, key in zip(TRANSACTIONS, class_names(of), strict=True)
        }
        response = {"p95": measured(factor * worked_out[CLASS])}
        points.append({"load": load, "response_time_s": response, "transactions": rows})
    levels: Any = SimpleNamespace(points=list(map(LoadPoint.model_validate, points)))
    found = corrections(levels, of, solved)
    assert set(found) == {CLASS, *class_names(of)}
    for row in found.values():
        assert row.ratio == pytest.approx(math.sqrt(1.2 * 0.9))
        assert row.low == pytest.approx(0.8 * 0.9)
        assert row.high == pytest.approx(1.1 * 1.2)
        assert [level.ratio for level in row.by_level] == pytest.approx(list(FACTORS))
    assert doubts(found) == []


@pytest.mark.parametrize(("ratio", "doubtful"), [(0.66, True), (0.67, False), (1.5, False), (1.51, True)])
def test_a_factor_far_from_one_is_doubted(ratio: float, doubtful: bool) -> None:
    assert bool(doubts({"buy": Correction(ratio, ratio, ratio, (), {})})) is doubtful
