from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML
from scipy import stats

from towtank.errors import ModelError
from towtank.sizing.growth import GivenGrowth, highest_drawn, highest_factor
from towtank.sizing.history import History
from towtank.sizing.load import Load, load_at_horizon
from towtank.sizing.quantities import YEAR_D
from towtank.sizing.resources import data_bytes, disk_room, disks_needed
from towtank.sizing.result import StepResult
from towtank.sizing.search import _spread
from towtank.sizing.sizing_file import HitRatioFile, SizingFile
from towtank.sizing.steps import Steps
from towtank.sizing.what_if import _hit_ratio, _misses_factor

GIB = 2**30


def asked(text: str) -> SizingFile:
    return SizingFile.model_validate({"schema": "towtank/sizing/1", **YAML(typ="safe").load(text)})


def cache(now: str) -> HitRatioFile:
    """Return hit ratios of a cache by its size. The ratios rise steeply up to 8 GiB, and slowly above."""
    sizes, ratios = ["4 GiB", "8 GiB", "16 GiB"], ["50 %", "80 %", "90 %"]
    return HitRatioFile.model_validate({"station": "disk", "memory": sizes, "hit_ratio": ratios, "now": now})


@pytest.mark.parametrize(
    ("gib", "ratio"), [(4, 0.5), (5, 0.575), (6, 0.65), (8, 0.8), (9, 0.8125), (12, 0.85), (16, 0.9)]
)
def test_a_hit_ratio_lies_on_the_line_between_the_sizes_beside_it(gib: int, ratio: float) -> None:
    assert _hit_ratio(cache("4 GiB"), gib * GIB) == pytest.approx(ratio, rel=1e-12)


@pytest.mark.parametrize(
    ("now", "then", "factor"),
    [("4 GiB", 8, 0.2 / 0.5), ("6 GiB", 12, 0.15 / 0.35), ("16 GiB", 4, 0.5 / 0.1), ("8 GiB", 8, 1.0)],
)
def test_misses_change_with_the_memory(now: str, then: int, factor: float) -> None:
    found, _ = _misses_factor(cache(now), then * GIB)
    assert found == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("gib", [3, 17])
def test_no_hit_ratio_is_guessed_beyond_the_sizes(gib: int) -> None:
    with pytest.raises(ModelError, match="must be from 4 GiB to 16 GiB"):
        _misses_factor(cache("8 GiB"), gib * GIB)


def load_steps(text: str, now: Load, growing: Any) -> tuple[Load, dict[str, StepResult]]:
    steps = Steps()
    found = load_at_horizon(steps, asked(text), now, growing)
    return found, {step.step: step for step in steps.results()}


GROWING = "load: {peak: 1.5, horizon: 2 years}\nheadroom: 20 %"


def test_the_load_at_the_horizon_is_the_product_of_its_factors() -> None:
    """The load at the horizon is 300 users x 1.5 (peak) x 1.1^2 (growth of two years) x 1.2 (headroom)."""
    growing = GivenGrowth(1.1, 1.05, 1.3)
    found, steps = load_steps(GROWING, Load({"a": 100.0, "b": 200.0}, {}, {"a": 1.0, "b": 1.0}), growing)
    whole = 300 * 1.5 * 1.1**2 * 1.2
    assert found.users == pytest.approx({"a": whole / 3, "b": 2 * whole / 3}, rel=1e-12)
    values = {name: step.value for name, step in steps.items()}
    assert values == pytest.approx(
        {
            "load now": 300, "load in the busiest time": 450, "load at the horizon": 450 * 1.21,
            "load with headroom": whole, "load of a": whole / 3, "load of b": 2 * whole / 3,
        }, rel=1e-12,
    )  # fmt: skip
    # The interval of the load comes from the growth over two years. Both of its ends are multiplied by the headroom and
    # by the share of a class.
    ends = [450 * 1.05**2, 450 * 1.3**2]
    for name, factor in {"load at the horizon": 1, "load with headroom": 1.2, "load of a": 0.4}.items():
        known = steps[name].interval
        assert known is not None
        assert [known.low, known.high] == pytest.approx([factor * end for end in ends], rel=1e-9), name


def test_a_load_of_both_kinds_has_the_sum_of_each_kind_in_its_steps() -> None:
    """Numbers of users and arrival rates cannot be added. So each class is a share of the total users or of the total
    rate.
    """
    now = Load({"a": 30.0, "b": 10.0}, {"c": 5.0}, {"a": 1.0, "b": 1.0})
    found, steps = load_steps("load: {peak: 2}", now, None)
    assert (found.users, found.rate) == ({"a": 60.0, "b": 20.0}, {"c": 10.0})
    assert steps["load of a"].values == {"N": 80.0, "share": 0.75}
    assert steps["load of c"].values == {"N": 10.0, "share": 1.0}
    assert [steps[f"load of {name}"].unit for name in "abc"] == ["users", "users", "1/s"]


def test_a_load_that_shrinks_is_highest_today() -> None:
    growing = GivenGrowth(0.8, 0.7, 0.9)
    found, steps = load_steps("load: {horizon: 1 year}", Load({}, {"a": 50.0}, {}), growing)
    assert found.rate == {"a": 50.0}
    assert steps["load at the horizon"].value == pytest.approx(40.0)
    assert steps["load until the horizon"].value == pytest.approx(50.0)
    assert highest_factor(growing, YEAR_D) == 1.0
    # The load probably falls, so the sizing is for the load of today. The upper end of the interval is 1.3 times this
    # load.
    wide = GivenGrowth(0.8, 0.5, 1.3)
    assert highest_drawn(wide, YEAR_D, np.array([0.025, 0.5, 0.975])) == pytest.approx([1.0, 1.0, 1.3], rel=1e-9)


def test_the_growth_of_a_history_is_that_of_linear_regression() -> None:
    """The slope and its interval equal the results of `scipy.stats.linregress` for the logarithms of the loads,
    converted to years of 365.25 days.
    """
    count = 60
    days = [date(2026, 1, 1) + timedelta(days=2 * place) for place in range(count)]
    logs = 3 + 0.002 * 2 * np.arange(count) + 0.02 * np.random.default_rng(4).standard_normal(count)
    found = History(tuple(days), np.exp(logs), "none")
    known = stats.linregress(2 * np.arange(count), logs)
    assert found.steps == ()
    assert found.slope == pytest.approx(known.slope, rel=1e-9)
    half = float(stats.t.ppf(0.975, count - 2)) * known.stderr
    ends = [math.exp((known.slope + sign * half) * YEAR_D) for sign in (-1, 1)]
    assert found.yearly_interval == pytest.approx(ends, rel=1e-9)
    assert (found.freedom, found.length_d, found.spacing_d) == (count - 2, 2 * (count - 1), 2.0)


def test_data_grow_and_need_copies_and_free_room() -> None:
    """100 GiB grow by 50 % in each of two years and are stored in two copies. A fifth of each disk stays free: 100 x
    1.5^2 x 2 / 0.8 = 562.5 GiB.

    These are six disks of 100 GiB.
    """
    file = asked("load: {horizon: 2 years}\ndata: {now: 100 GiB, growth: 50 % / year, copies: 2, free: 20 %}")
    assert data_bytes(file, 7.0) == pytest.approx(225 * GIB, rel=1e-9)
    steps = Steps()
    room = disk_room(file, 7.0, steps)
    assert room == pytest.approx(562.5 * GIB, rel=1e-9)
    assert [disks_needed(room, size * GIB) for size in (100, 563, 562)] == [6, 1, 2]
    assert disks_needed(200 * GIB, 100 * GIB) == 2
    follows = asked("load: {horizon: 2 years}\ndata: {now: 100 GiB}")
    assert data_bytes(follows, 3.0) == pytest.approx(300 * GIB, rel=1e-9)


def test_a_front_is_shown_evenly_from_its_cheapest_to_its_dearest() -> None:
    front: list[Any] = list(range(11))
    assert _spread(front, 3) == [0, 5, 10]
    assert _spread(front, 11) == front
    assert _spread(front, 6) == [0, 2, 4, 6, 8, 10]
