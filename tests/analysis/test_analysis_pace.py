"""Speed of the machine during the window, measured by a fixed piece of work on the CPUs of the tiers, and by accesses
to rested memory.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from changed_recordings import script
from harmed_runs import slow_memory, slowed
from synthetic_runs import SECOND, write_run

from towtank.analysis import summarize_run
from towtank.analysis.aggregation import aggregate
from towtank.analysis.run_summary import RunSummary, RunVerdict
from towtank.analysis.study_verdict import _reasons
from towtank.analysis.system.entries import MachineUse
from towtank.analysis.system.pace import memory_differs, pace, rested_page_s
from towtank.analysis.system.rates import Samples


def observed(work_by_second, cpus=(0,)):
    samples = SimpleNamespace(
        times_s=[float(second) for second in range(len(work_by_second))],
        samples=[{"probe": {"work_s": work}} for work in work_by_second],
    )
    found = SimpleNamespace(samples=samples, tiers={"web": {"cpus": list(cpus)}})
    found.where = lambda tier: found
    return found


def test_the_spread_is_that_of_the_cpus_of_the_tiers_within_the_window():
    work = [{"0": 1.0, "1": 9.0}] * 5 + [{"0": 2e-5, "1": 5e-5}] * 18 + [{"0": 3e-5, "1": 9e-5}] * 4
    found = pace(observed(work), 5.0, 26.0)
    assert (found.fast_s, found.median_s, found.slow_s) == (2e-5, 2e-5, pytest.approx(3e-5))
    assert found.spread == pytest.approx(0.5)
    assert found.samples == 22


def test_of_several_cpus_it_is_the_mean_and_without_pinning_all_count():
    work = [{"0": 2e-5, "1": 4e-5}] * 12
    assert pace(observed(work, cpus=(0, 1)), 0.0, 20.0).median_s == pytest.approx(3e-5)
    assert pace(observed(work, cpus=()), 0.0, 20.0).median_s == pytest.approx(3e-5)


def test_a_slow_cpu_that_is_not_always_free_is_no_change_of_speed():
    work = [{"0": 4e-5, "1": 9e-5}, {"0": 4e-5, "1": 9e-5}, {"0": 4e-5}, {"1": 9e-5}] * 5
    found = pace(observed(work, cpus=(0, 1)), 0.0, 20.0)
    assert (found.spread, found.median_s) == (pytest.approx(0.0), pytest.approx(6.5e-5))


def test_a_tier_that_is_not_pinned_may_run_on_every_cpu():
    found = observed([{"0": 2e-5, "1": 4e-5}] * 12)
    found.tiers["database"] = {}
    assert pace(found, 0.0, 20.0).median_s == pytest.approx(3e-5)


def test_the_machine_of_the_generator_is_not_the_systems():
    found = observed([{"0": 2e-5}] * 12)
    found.where = lambda tier: None
    assert pace(found, 0.0, 20.0) is None


@pytest.mark.parametrize("work", [[{"0": 2e-5}] * 9, [{"1": 2e-5}] * 20, [{}] * 20])
def test_too_few_samples_of_the_tiers_cpus_show_nothing(work):
    assert pace(observed(work), 0.0, 30.0) is None


def test_seconds_without_the_work_are_left_out():
    work = [{"0": 2e-5}, {}] * 12
    assert pace(observed(work), 0.0, 30.0).samples == 12


def with_pages(pages_s):
    found = observed([{}] * len(pages_s))
    samples = [
        {"t_ns": second * SECOND, "probe": {} if page_s is None else {"rested_page_s": page_s}}
        for second, page_s in enumerate(pages_s)
    ]
    found.samples = Samples(samples, 0)
    return found


def test_the_time_to_access_rested_memory_is_the_median_of_the_window():
    pages_s = [9e-5] * 20 + [2e-7] * 7 + [None, "a", True, -1.0, 0.0] + [3e-7] * 8 + [1e-8] * 30
    assert rested_page_s(with_pages(pages_s), 20.0, 39.0) == 3e-7


def test_too_few_samples_or_tiers_on_other_machines_show_no_time_of_accesses():
    assert rested_page_s(with_pages([2e-7] * 9), 0.0, 20.0) is None
    assert rested_page_s(with_pages([2e-7] * 10), 0.0, 20.0) == 2e-7
    elsewhere = with_pages([2e-7] * 20)
    elsewhere.where = lambda tier: None
    assert rested_page_s(elsewhere, 0.0, 20.0) is None


@pytest.mark.parametrize(("page_s", "shown"), [(2e-6, False), (2.1e-6, True)])
def test_the_study_reports_slow_memory_even_if_all_runs_are_valid(tmp_path, page_s, shown):
    run = write_run(tmp_path / "r001", script())
    slow_memory(run, page_s)
    summary = summarize_run(run, tables=False)
    assert summary["host"]["rested_page_s"] == page_s
    assert summary["verdict"]["level"] == "valid"
    notes = [reason for reason in summary["verdict"]["reasons"] if reason["kind"] == "slow_memory"]
    assert [note["message"] for note in notes] == [
        "memory was slow: an access to a page that was not used for a second took 2.1 µs of CPU time, limit 2 µs, so "
        "CPU times and response times are too long"
    ] * shown
    reasons = _reasons([RunSummary(run="r001", verdict=RunVerdict("valid", notes))])
    assert [reason["kind"] for reason in reasons] == ["slow_memory"] * shown


@pytest.mark.parametrize(
    ("times_s", "differ"),
    [([], False), ([3e-5], False), ([3e-5, 5.9e-5], False), ([3e-5, 6e-5, 4e-5], True), ([1e-6, 2.9e-6], False)],
)
def test_memory_differs_if_one_time_is_twice_the_other_and_longer_by_two_microseconds(times_s, differ):
    assert memory_differs(times_s) is differ


def test_a_load_point_has_the_mean_time_of_the_runs_that_measured_it():
    runs = [
        RunSummary(run=name, host=MachineUse(rested_page_s=page_s), verdict=RunVerdict("valid"))
        for name, page_s in (("r001", 2e-5), ("r002", None), ("r003", 4e-5))
    ]
    assert aggregate("users", 10.0, runs).rested_page_s() == pytest.approx(3e-5)


def test_a_run_recorded_without_the_work_has_no_pace(tmp_path):
    host = summarize_run(write_run(tmp_path / "r001", script()), tables=False)["host"]
    assert (host["pace"], host["rested_page_s"]) == (None, None)


def test_the_machines_speed_is_reported_for_the_study_only_if_a_run_is_less_than_valid(tmp_path):
    run = write_run(tmp_path / "r001", script())
    slowed(run)
    summary = summarize_run(run, tables=False)
    (note,) = [reason for reason in summary["verdict"]["reasons"] if reason["kind"] == "machine_speed"]
    assert note["message"] == (
        "the system's CPUs ran 23.1 % slower at times: the same piece of work took 40 µs or less in the fastest tenth "
        "of the seconds and 52 µs or more in the slowest tenth (30 % longer, limit 10 %)"
    )
    result = {level: RunSummary(run="r001", verdict=RunVerdict(level, [note])) for level in ("valid", "suspect")}
    assert _reasons([result["valid"]]) == []
    assert [reason["kind"] for reason in _reasons([result["suspect"]])] == ["machine_speed"]
    (found,) = _reasons([result["valid"], replace(result["suspect"], run="r002")])
    assert found["runs"] == ["r001", "r002"]
