"""A doubt names the tier that used up open files, processes and threads, or local ports, with its use and its limit."""

import json

import pytest
from changed_recordings import on_samples, reasons, rewrite, script
from harmed_runs import limited
from synthetic_runs import write_run

from towtank.analysis import summarize_run

LIMITS = {"open_files": 1024, "processes": 500, "ports": 28232}


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def listed(sockets=28300, **towards):
    """Return the object `ports` of a process group, with the number of local ports in use by destination."""
    return {
        "network": 1,
        "sockets": sockets,
        "towards": {to.replace("_", ".") + ":5432": n for to, n in towards.items()},
    }


@pytest.mark.parametrize(
    ("gauges", "words"),
    [
        ({"open_files": 1029}, "ran out of file descriptors: 1,024 in use, its limit is 1,024"),
        ({"threads": 490}, "ran out of processes and threads: 490 in use, its limit is 500"),
        (
            {"user_tasks": 480, "user_tasks_limit": 500},
            "ran out of processes and threads: 480 in use, its limit is 500",
        ),
        (
            {"pids": {"levels": 2, "tasks": 97, "limit": 100}},
            "ran out of processes and threads of its control group: 97 in use, its limit is 100",
        ),
        (
            {"ports": listed(**{"10_0_0_2": 28100, "10_0_0_3": 20})},
            "ran out of local ports towards 10.0.0.2:5432: 28,100 in use, its limit is 28,232",
        ),
    ],
)
def test_a_tier_at_its_limit_is_named(run, gauges, words):
    name = limited(run, LIMITS, **gauges)
    doubt = reasons(run)["tier_limit"]
    assert doubt["message"] == f"{name} {words}"
    assert (doubt["level"], doubt["limit"]) == ("suspect", float(words.rsplit(" ", 1)[1].replace(",", "")))
    assert "ulimit -n" in doubt["hint"]
    assert "tier_limit" not in not_checked(run)


def test_a_tier_below_its_limits_raises_no_doubt(run):
    group = {"levels": 1, "tasks": 94, "limit": 100}
    name = limited(run, LIMITS, open_files=972, threads=474, pids=group, ports=listed(**{"10_0_0_2": 26000}))
    assert "tier_limit" not in reasons(run)
    limits = summarize_run(run, tables=False)["tiers"][name]["limits"]
    assert limits == {
        "open_files": {"most": 972.0, "limit": 1024.0, "known": True},
        "threads": {"most": 474.0, "limit": 500.0, "known": True},
        "control_group": {"most": 94.0, "limit": 100.0, "known": True},
        "ports": {"most": 26000.0, "limit": 28232.0, "towards": "10.0.0.2:5432", "known": True},
    }


def not_checked(run):
    return {missing["check"]: missing["why"] for missing in summarize_run(run, tables=False)["verdict"]["not_checked"]}


def test_a_missing_or_unknown_limit_raises_no_doubt(run):
    for limits in ({"open_files": None, "processes": None}, {}):
        limited(run, limits, open_files=10**6, threads=10**6)
        assert "tier_limit" not in reasons(run)


def test_a_user_that_the_limit_does_not_bind_is_no_doubt(run):
    # For an operating-system user to whom the limit of processes does not apply, the probe counts the processes but
    # reports no limit.
    name = limited(run, LIMITS, threads=10**4, user_tasks=10**4)
    assert "tier_limit" not in reasons(run)
    result = summarize_run(run, tables=False)["tiers"][name]["limits"]["threads"]
    assert result == {"most": 1e4, "limit": None, "known": True}


def test_a_check_that_could_not_be_made_is_listed(run):
    limited(run, LIMITS)
    assert "tier_limit" not in not_checked(run)
    name = limited(run, {}, pids={}, ports={})
    assert not_checked(run)["tier_limit"] == (
        f"not observed: file descriptors of {name}; processes and threads of {name}; "
        f"processes and threads of the control group of {name}; local ports of {name}"
    )


def test_ports_that_may_be_short_and_were_not_listed_are_not_checked(run):
    name = limited(run, LIMITS, ports={"network": 1, "sockets": 28000})
    assert not_checked(run)["tier_limit"] == f"not observed: local ports of {name}"
    limited(run, LIMITS, ports={"network": 1, "sockets": 26000})
    assert "tier_limit" not in not_checked(run)


def test_ports_towards_the_target_are_the_generators(run):
    targets = [{"name": "web", "addresses": ["10.0.0.2:5432"]}]
    (run.path / "plan.json").write_text(json.dumps({"targets": targets}))
    limited(run, LIMITS, ports=listed(**{"10_0_0_2": 28200}))
    assert "tier_limit" not in reasons(run)


def test_tiers_of_one_network_are_one_shortage(run):
    name = limited(run, LIMITS, ports=listed(**{"10_0_0_2": 28100}))
    tiers = run.manifest["tiers"]
    run.update(tiers={**tiers, "proxy": tiers[name]})

    def change(document, at):
        document["groups"]["proxy"] = document["groups"][name]

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    messages = [
        reason["message"] for reason in summarize_run(run)["verdict"]["reasons"] if reason["kind"] == "tier_limit"
    ]
    assert messages == [
        f"the network of {name} and proxy ran out of local ports towards 10.0.0.2:5432: 28,100 in use, "
        "its limit is 28,232"
    ]


def test_the_sum_over_several_processes_is_not_compared_with_the_limit_of_each(run):
    name = limited(run, LIMITS, processes=9, open_files=5000)
    assert summarize_run(run, tables=False)["tiers"][name]["limits"]["open_files"]["most"] is None
    assert "tier_limit" not in reasons(run)
    assert "tier_limit" in not_checked(run)


def test_the_fullest_process_of_several_is_compared_with_its_own_limit(run):
    fullest = {"open_files_of_fullest": 4000, "open_files_limit": 4096}
    name = limited(run, LIMITS, processes=9, open_files=9000, **fullest)
    result = summarize_run(run, tables=False)["tiers"][name]["limits"]["open_files"]
    assert result == {"most": 4000.0, "limit": 4096.0, "known": True}
    assert reasons(run)["tier_limit"]["message"].endswith("4,000 in use, its limit is 4,096")
    limited(run, LIMITS, processes=9, open_files=9000, open_files_of_fullest=2000, open_files_limit=4096)
    assert "tier_limit" not in reasons(run)
