"""A tier that runs out of open files, processes or threads is named, with the number and the limit."""

import pytest
from harmed_runs import limited, reasons, script
from synthetic_runs import write_run

from towtank.analysis import summarize_run

LIMITS = {"open_files": 1024, "processes": 500}


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


@pytest.mark.parametrize(
    ("gauges", "words"),
    [
        ({"open_files": 1029}, "ran out of file descriptors: 1,024 in use, its limit is 1,024"),
        ({"threads": 490}, "ran out of processes and threads: 490 in use, its limit is 500"),
    ],
)
def test_a_tier_at_its_limit_is_named(run, gauges, words):
    name = limited(run, LIMITS, **gauges)
    doubt = reasons(run)["tier_limit"]
    assert doubt["message"] == f"{name} {words}"
    assert (doubt["level"], doubt["limit"]) == ("suspect", float(words.rsplit(" ", 1)[1].replace(",", "")))
    assert "ulimit -n" in doubt["hint"]


def test_a_tier_below_its_limits_raises_no_doubt(run):
    name = limited(run, LIMITS, open_files=972, threads=474)
    assert "tier_limit" not in reasons(run)
    limits = summarize_run(run, tables=False)["tiers"][name]["limits"]
    assert limits == {"open_files": {"most": 972.0, "limit": 1024.0}, "threads": {"most": 474.0, "limit": 500.0}}


def not_checked(run):
    return {missing["check"] for missing in summarize_run(run, tables=False)["verdict"]["not_checked"]}


def test_a_missing_or_unknown_limit_raises_no_doubt(run):
    for limits in ({"open_files": None, "processes": None}, {}):
        limited(run, limits, open_files=10**6, threads=10**6)
        assert "tier_limit" not in reasons(run)


def test_a_check_that_could_not_be_made_is_listed(run):
    limited(run, LIMITS)
    assert "tier_limit" not in not_checked(run)
    limited(run, {})
    assert "tier_limit" in not_checked(run)


def test_the_sum_over_several_processes_is_not_compared_with_the_limit_of_each(run):
    name = limited(run, LIMITS, processes=9, open_files=5000)
    assert summarize_run(run, tables=False)["tiers"][name]["limits"]["open_files"]["most"] is None
    assert "tier_limit" not in reasons(run)
    assert "tier_limit" in not_checked(run)


def test_the_fullest_process_of_several_is_compared_with_its_own_limit(run):
    fullest = {"open_files_of_fullest": 4000, "open_files_limit": 4096}
    name = limited(run, LIMITS, processes=9, open_files=9000, **fullest)
    assert summarize_run(run, tables=False)["tiers"][name]["limits"]["open_files"] == {"most": 4000.0, "limit": 4096.0}
    assert reasons(run)["tier_limit"]["message"].endswith("4,000 in use, its limit is 4,096")
    limited(run, LIMITS, processes=9, open_files=9000, open_files_of_fullest=2000, open_files_limit=4096)
    assert "tier_limit" not in reasons(run)
