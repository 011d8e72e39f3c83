"""Service demands by transaction, estimated from load levels with different transaction mixes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from results_1 import RESULTS_1, copy_of_results_1
from write_results_1 import DEMANDS_S, TRANSACTIONS

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.fit import fit_curve
from towtank.model.fitting.measured import Configuration, read_configurations
from towtank.model.fitting.mix import mix_of
from towtank.model.fitting.observations import observations


def configuration(index: str) -> Configuration:
    return next(found for found in read_configurations(RESULTS_1) if found.key["search_index"] == index)


@pytest.mark.parametrize("index", ["present", "absent"])
def test_the_work_of_each_level_is_that_of_its_transactions(index: str) -> None:
    measured_levels = configuration(index)
    found = mix_of(measured_levels, 1)
    assert found is not None
    demands = dict(zip(TRANSACTIONS, DEMANDS_S[index], strict=True))
    costs = []
    for point in measured_levels.points:
        run = next(run for run in measured_levels.runs if run.run in point.runs)
        counts = {name: row.count for name, row in run.transactions.items()}
        costs.append(sum(counts[name] * demands[name] for name in counts) / sum(counts.values()))
    # A minute of exponential service times determines the demands of the classes only with errors of tens of percent.
    # At least half of the effect of the mix must be found.
    truth = np.array(costs) / np.mean(costs)
    assert np.abs(found.work - truth).max() < 0.5 * np.abs(truth - 1).max() + 0.01
    assert float(found.work.mean()) == pytest.approx(1.0, rel=1e-12)
    assert min(found.scatter_left.values()) < 0.8


def test_held_out_levels_are_not_used() -> None:
    measured_levels = configuration("absent")
    before = mix_of(measured_levels, 1)
    top = set(measured_levels.points[-1].runs)
    without = [run for run in measured_levels.folders if run.run_id not in top]
    assert len(without) < len(measured_levels.folders)
    measured_levels.folders = without
    after = mix_of(measured_levels, 1)
    assert before is not None
    assert after is not None
    assert after.demands == before.demands


def test_a_study_summary_alone_has_no_mix(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results")
    assert folder.path.is_dir()
    measured_levels = configuration("present")
    measured_levels.folders = []
    assert mix_of(measured_levels, 1) is None


def test_a_heavier_mix_and_other_programs_are_no_change_of_the_demand() -> None:
    curve = ClosedCurve(1, 1.0, with_busy=True)
    users = np.array([20.0, 50, 80, 110, 150, 200])
    asked = observations(
        users,
        users,
        think=np.array([1.0, 1.1, 0.9, 1.0, 1.05, 1.0]),
        work=np.array([1.0, 1.06, 0.95, 1.02, 0.97, 1.0]),
        others=np.array([0.0, 0.05, 0.02, 0.1, 0.03, 0.0]),
    ).conditions()
    truth = np.array([[0.008, 0.02, 0.01]])
    rate = curve.throughput_in(truth, users, asked)
    busy = curve.busy(truth, rate, asked)[0]
    points = observations(
        users, rate[0], think=asked.think_s, busy=busy, work=asked.work, others=asked.others, error=0.01 * rate[0],
        busy_error=0.01 * busy,
    )  # fmt: skip
    assert fit_curve(curve, points).parameters == pytest.approx(truth[0], rel=1e-4)
    # Other programs use 10 % of the server and background work 1 %. So 89 % are left: all times grow by 1 / 0.89, and
    # the saturated throughput is 0.89 / demand.
    top = curve.throughput_in(truth, np.array([2000.0]), asked_once(0.10))[0, 0]
    assert top == pytest.approx((1 - 0.01 - 0.10) / 0.008, rel=1e-6)


def asked_once(others: float):  # type: ignore[no-untyped-def]
    same = np.ones(1)
    return observations(same, same, think=same, others=others * same).conditions()
