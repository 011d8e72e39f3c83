from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from results_1 import copy_of_results_1
from write_results_1 import DEMANDS_S, TRANSACTIONS, WEIGHTS

from towtank.analysis import LoadPoint
from towtank.cli import app
from towtank.errors import MeasurementError, ModelError
from towtank.model.capacity_file import FittedConfiguration
from towtank.model.fitting import written_model
from towtank.model.fitting.demand_classes import demands_of_classes
from towtank.model.fitting.demand_estimators import ESTIMATORS, Series, blocks, condition_number, variance_inflation
from towtank.model.fitting.demand_levels import demand_from_levels
from towtank.model.fitting.demands import configuration_demands, demands_document
from towtank.model.fitting.measured import Configuration, Resource
from towtank.sizing import basis

DEMANDS = np.array([0.010, 0.030, 0.005])
BACKGROUND = 0.08


def series(noise: float, mixes: float = 1.0, count: int = 240, seed: int = 3) -> Series:
    """Return measured intervals of a system with three classes. If `mixes` is 0, the proportions of the classes are
    fixed.
    """
    stream = np.random.default_rng(seed)
    common = stream.uniform(5, 20, (count, 1))
    own = stream.uniform(1, 20, (count, 3))
    rates = (1 - mixes) * common * np.array([1.0, 0.5, 2.0]) + mixes * own
    busy = BACKGROUND + rates @ DEMANDS + noise * stream.standard_normal(count)
    return Series(busy, rates, None, 1, np.repeat(np.arange(4.0), count // 4))


def test_every_estimator_finds_the_demands_of_exact_data() -> None:
    exact = series(0.0)
    for name, estimator in ESTIMATORS.items():
        found = estimator(exact)
        if found is None or name == "non-negative, no background":
            continue
        assert found == pytest.approx([BACKGROUND, *DEMANDS], rel=1e-6), name


def test_demands_lie_in_their_intervals_and_are_known() -> None:
    found = demands_of_classes(series(0.02), ["a", "b", "c"])
    assert found.identified, found.sentence
    assert (found.condition_number or 99) < 30
    for name, demand in zip("abc", DEMANDS, strict=True):
        figures = found.classes[name]
        assert figures.low is not None and figures.high is not None
        assert figures.low <= demand <= figures.high
        assert figures.value == pytest.approx(demand, rel=0.1)


def test_classes_in_fixed_proportions_cannot_be_distinguished() -> None:
    found = demands_of_classes(series(0.02, mixes=0.005), ["a", "b", "c"])
    assert not found.identified
    inflation = found.variance_inflation.values()
    assert all(value is not None and value > 10 for value in inflation)
    assert "run levels with one class each" in found.sentence
    assert variance_inflation(series(0.0, mixes=0.0)) == [float("inf")] * 3


def test_variance_inflation_of_two_classes_by_hand() -> None:
    # The correlation of the two classes is r = 0.5, so the variance inflation is 1 / (1 - r^2) = 4/3.
    rates = np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]])
    assert variance_inflation(Series(rates[:, 0], rates, None, 1, np.zeros(3))) == pytest.approx([4 / 3, 4 / 3])


def test_condition_number_by_hand() -> None:
    # The columns (1, 1) and (1, 0), scaled to unit length, have the cosine 1/sqrt(2). So the singular values are sqrt(1
    # +- cosine), and the condition number is their ratio.
    single = Series(np.zeros(2), np.array([[1.0], [0.0]]), None, 1, np.zeros(2))
    assert condition_number(single) == pytest.approx(np.sqrt((1 + np.sqrt(0.5)) / (1 - np.sqrt(0.5))))


def test_foreign_work_in_a_few_intervals_weighs_little_in_the_robust_estimate() -> None:
    disturbed = series(0.01)
    disturbed.busy[::20] += 0.6
    plain, robust = (ESTIMATORS[name](disturbed) for name in ("ordinary least squares", "robust (Huber)"))
    assert plain is not None
    assert robust is not None
    assert np.abs(robust[1:] - DEMANDS).max() < np.abs(plain[1:] - DEMANDS).max()
    assert robust[1:] == pytest.approx(DEMANDS, rel=0.1)


def test_blocks_stay_within_their_run() -> None:
    flat = series(0.0)
    for rows in blocks(flat, 6, 20, 1):
        assert len(rows) == len(flat.busy)
        for first in range(0, len(rows) - 5, 6):
            block = rows[first : first + 6]
            assert (np.diff(block) == 1).all()
            assert len(set(flat.stretches[block])) == 1


def test_a_straight_line_has_the_background_apart() -> None:
    rate = np.array([10.0, 20, 40, 80])
    found = demand_from_levels(rate, 0.1 + 0.02 * rate, 2)
    assert found is not None
    assert found.demand_s.value == pytest.approx(0.02, rel=1e-12)
    assert found.background.value == pytest.approx(0.1, rel=1e-12)
    assert found.load_dependence.p_value > 0.5
    assert not found.load_dependence.depends
    assert astuple(found.by_level[0]) == pytest.approx((10.0, 0.15, 0.03))


def test_a_demand_that_grows_with_the_load_is_shown() -> None:
    rate = np.array([10.0, 20, 40, 60, 80])
    found = demand_from_levels(rate, 0.01 * rate + 0.0001 * rate**2 + 1e-4 * np.array([1, -1, 1, 1, -1]), 1)
    assert found is not None
    bend = found.load_dependence
    assert (bend.depends, bend.direction) == (True, "grows")
    # The demand at both ends is the slope of busy time, 0.01 + 0.0002 X.
    assert bend.demand_at_lowest_s == pytest.approx(0.012, rel=0.05)
    assert bend.demand_at_highest_s == pytest.approx(0.026, rel=0.05)


def test_the_interval_of_the_demand_is_that_of_the_slope() -> None:
    # The errors +1, -1, -1 and +1 (x 0.01) at X = 1, 2, 3 and 4 do not change the fitted line. So s^2 = 4e-4 / 2, and
    # the half width of the interval is t sqrt(s^2 / S_xx), with S_xx = 5 and t(2) = 4.30265.
    rate = np.array([1.0, 2, 3, 4])
    found = demand_from_levels(rate, 0.1 * rate + 0.01 * np.array([1, -1, -1, 1]), 1)
    assert found is not None
    half = 4.302652729911275 * np.sqrt(2e-4 / 5)
    assert found.demand_s.high - found.demand_s.value == pytest.approx(half, rel=1e-9)


def test_one_level_cannot_distinguish_background_from_demand() -> None:
    found = demand_from_levels(np.array([10.0, 10.0]), np.array([0.5, 0.5]), 1)
    assert found is not None
    assert found.demand_s.value == pytest.approx(0.05)
    assert "cannot be distinguished" in found.note


@pytest.mark.waits
def test_demands_of_a_results_folder(tmp_path) -> None:  # type: ignore[no-untyped-def]
    document = demands_document(copy_of_results_1(tmp_path / "results").path)
    configuration = next(found for found in document["configurations"] if found["key"] == {"search_index": "present"})
    truth = dict(zip(TRANSACTIONS, DEMANDS_S["present"], strict=True))
    mean = sum(weight * demand for weight, demand in zip(WEIGHTS, DEMANDS_S["present"], strict=True)) / sum(WEIGHTS)
    demand = configuration["resources"]["content"]["demand_s"]
    assert demand["low"] <= mean <= demand["high"]
    classes = configuration["classes"]["content"]["classes"]
    assert set(classes) == set(truth)
    # All five 95 % intervals contain the true value in only about 3 of 4 studies, so one may miss it.
    assert sum(classes[name]["low"] <= truth[name] <= classes[name]["high"] for name in truth) >= 4
    assert classes["add_document"]["identified"]


def observed(cpus: float | None, tiers: dict[str, Any] | None = None) -> LoadPoint:
    used = {"value": cpus, "low": None, "high": None}
    tiers = {"content": {"cpus_used": used}} if tiers is None else tiers
    return LoadPoint.model_validate(
        {"throughput_per_s": {"value": 10.0, "low": None, "high": None}, "runs": [], "tiers": tiers}
    )


@pytest.mark.parametrize(
    ("points", "resources", "why"),
    [
        ([], (), "no run of the configuration can be modelled"),
        ([observed(None, {})], (), "no CPU time of a tier was recorded at 1 load levels"),
        ([observed(None)], (Resource("content", 1, ("content",)),), "the CPU time of content is unknown"),
        ([observed(0.5)], (Resource("content", 1, ("content",)),), ""),
    ],
)
def test_a_configuration_without_demands_states_why(points: Any, resources: Any, why: str) -> None:
    document = configuration_demands(Configuration("all", {}, points, resources=list(resources)), None)
    assert document["why_none"].startswith(why)
    assert bool(document["resources"]) == (not why)


@pytest.mark.parametrize(("why", "status"), [("nothing was observed", 4), ("", 0)])
def test_the_command_ends_with_4_without_demands(
    why: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"label": "all runs", "key": {}, "excluded": [], "resources": {}, "classes": {}, "why_none": why}
    monkeypatch.setattr("towtank.model.is_results", lambda _: True)
    monkeypatch.setattr("towtank.model.demands_document", lambda _: {"configurations": [found]})
    assert app.run(["model", "demands", str(tmp_path)]) == status
    printed = capsys.readouterr().out
    assert (f"no service demand: {why}" in printed) == bool(why)


def test_only_a_command_with_out_speaks_of_it(tmp_path: Path) -> None:
    """`size` writes a model file, but has no option `--out`, so its message must not name this option.

    `model fit` has the option, so its message begins with it.
    """
    answer: Any = SimpleNamespace(
        fitted=FittedConfiguration(),
        choice=SimpleNamespace(candidates=[], chosen=None, refused={"closed": "two points"}),
    )
    with pytest.raises(MeasurementError) as refused:
        basis._write(answer, "results", tmp_path / "model.yaml")
    assert "no closed curve describes the points: two points" in str(refused.value)
    assert "--out" not in str(refused.value)
    with pytest.raises(ModelError, match="--out: must have a closed curve to write, got none: two points"):
        written_model(answer, "results", tmp_path / "model.yaml", option="--out")
