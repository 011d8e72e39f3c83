from __future__ import annotations

import pytest
from changed_recordings import on_samples, reasons, rewrite, script
from harmed_runs import unattributed
from synthetic_runs import write_run

from towtank.analysis import summarize_run
from towtank.analysis.claims.places import in_run
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.system.disks import disks_counted_once
from towtank.analysis.system.memory import CONTROL_GROUP, PROPORTIONAL, RESIDENT_SETS, memory
from towtank.analysis.system.rates import Samples
from towtank.study.claim_metrics import read_metric
from towtank.tier_memory import memory_of_tier

MIB = 1 << 20


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def machine(run):
    return summarize_run(run, tables=False)["not_attributed"]["this_machine"]


def test_tiers_and_generator_explain_a_sound_run(run):
    summary = summarize_run(run, tables=False)
    found = summary["not_attributed"]["this_machine"]
    # The CPU time of the generator and of the probe is subtracted, although the host counters of this synthetic run
    # do not include it. The CPU use that belongs to no tier is therefore negative.
    assert found["cpus_used"]["value"] == pytest.approx(-summary["observation"]["cpus_used"], abs=1e-4)
    assert found["cpus"] == 2
    assert found["disk_read_bytes_per_s"] == found["disk_write_bytes_per_s"] == 0
    assert found["memory_bytes"] is None


def test_what_nobody_used_is_the_host_less_all_groups_less_the_observers(run):
    # 0.2 CPUs belong to no tier. The CPU use of the probe, 0.8 ms in each second, is subtracted from them.
    rest = 0.2 - 0.0008
    unattributed(run)

    def observe(document, at):
        document["host"]["cpu_user_s_total"] += 0.03 * (at + 1)
        document["probe"]["observer_cpu_s_total"] = 0.03 * (at + 1)

    rewrite(run.observe / "probe.ndjson", on_samples(observe))
    summary = summarize_run(run, tables=False)
    assert summary["not_attributed"]["this_machine"]["cpus_used"]["value"] == pytest.approx(rest, abs=2e-6)
    claimed = in_run(RunSummary.read(summary), "not_attributed.this_machine.cpus_used", None)
    assert claimed.value == pytest.approx(rest, abs=2e-6)
    series = [used for used in summary["timeline"]["not_attributed_cpus_used"]["this_machine"] if used is not None]
    assert series[10] == pytest.approx(0.2, abs=0.003)


def test_a_group_that_came_later_explains_what_it_used(run):
    before = machine(run)["cpus_used"]["value"]

    def change(document, at):
        document["host"]["cpu_user_s_total"] += 0.2 * max(0.0, at)
        if at > 0:
            document["groups"]["relay-web"] = {"cpu_user_s_total": 0.2 * at, "cpu_system_s_total": 0.0, "alive": True}

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    assert machine(run)["cpus_used"]["value"] == pytest.approx(before, abs=1e-6)


def test_interrupts_are_nobodys_and_no_doubt(run):
    def change(document, at):
        document["host"]["cpu_irq_s_total"] = 0.3 * (at + 1)

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    found = machine(run)
    assert found["interrupts_cpus_used"] == pytest.approx(0.3)
    assert found["cpus_used"]["value"] == pytest.approx(0.3, abs=0.003)
    assert "not_attributed" not in reasons(run)


def test_the_doubt_keeps_to_the_limit_of_the_study(run):
    unattributed(run)
    assert "not_attributed" not in reasons(run, limits={"not_attributed": 0.11})
    message = reasons(run)["not_attributed"]["message"]
    assert message.startswith("0.20 CPUs of this machine were used by processes outside all tiers: 9.88 % of")


def test_memory_of_nobody_is_that_of_the_host_less_that_of_the_groups(run):
    def change(document, at):
        document["host"]["memory_anonymous_bytes"] = 900 * MIB
        sets = {"resident_sets_bytes": 600 * MIB, "memory_bytes": 500 * MIB, "memory_anonymous_bytes": 400 * MIB}
        document["groups"]["content"] |= sets

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    assert machine(run)["memory_bytes"] == 500 * MIB


def samples(*groups):
    """Return samples of one process group at intervals of one second."""
    return Samples([{"t_ns": at * 10**9, "groups": {"db": group}} for at, group in enumerate(groups)], 0)


def test_the_best_figure_of_memory_is_taken_and_named():
    old, sets = {"resident_bytes": 90}, {"resident_sets_bytes": 80}
    unit = sets | {"own_cgroup": {"memory_bytes": 50}}
    for group, value, how in (
        (old, 90, RESIDENT_SETS),
        (sets, 80, RESIDENT_SETS),
        (unit, 50, CONTROL_GROUP),
        (unit | {"memory_bytes": 40}, 40, PROPORTIONAL),
        ({"alive": False}, None, None),
    ):
        found = memory(samples(group, group), "db", 0, 1)
        assert found[:2] == (value, how)
    assert memory(samples(old, old), "db", 0, 1)[2] == 90


def test_memory_between_two_rounds_follows_the_resident_sets():
    def sample(resident, **more):
        return {"resident_sets_bytes": resident, **more}

    # The memory is known at 0 s and 3 s. Between these times it is the sum of the resident sets times a ratio, which
    # falls from 10/20 = 1/2 to 40/200 = 1/5 in three steps of 1/10. So it is 20 * 0.4 = 8 at 1 s and 100 * 0.3 = 30 at
    # 2 s. After 3 s the ratio stays 1/5.
    stream = samples(
        sample(20, memory_bytes=10), sample(20), sample(100), sample(200, memory_bytes=40), sample(200), sample(210)
    )
    assert memory(stream, "db", 0, 5)[0] == pytest.approx((10 + 8 + 30 + 40 + 40 + 42) / 6)
    assert memory(stream, "db", 4, 5)[0] == pytest.approx(41)
    # No memory measurement lies in the window from 1 to 2 s: the mean of 8 and 30 is 19.
    assert memory(stream, "db", 1, 2)[0] == pytest.approx(19)
    late = samples(sample(50), sample(50), sample(60, memory_bytes=30))
    assert memory(late, "db", 0, 1)[0] == pytest.approx(25)


def test_a_summary_of_an_older_run_says_that_its_memory_is_the_sum_of_resident_sets(run):
    tier = summarize_run(run, tables=False)["tiers"]["content"]
    assert tier["memory_how"] == RESIDENT_SETS
    assert tier["memory_bytes"] == tier["resident_sets_bytes"]
    assert memory_of_tier({"resident_bytes": 7.0}) == (7.0, RESIDENT_SETS)
    assert memory_of_tier({}) == (None, None)


def test_a_disk_built_from_another_is_not_added_to_it():
    disks = {"vda": {"stacked": False}, "loop0": {"stacked": True}, "nvme0n1": {"stacked": False}}
    assert list(disks_counted_once(disks)) == ["vda", "nvme0n1"]
    # The file behind this loop device is in memory, so no other device counts the transfers of the loop device.
    assert list(disks_counted_once({"loop0": {"stacked": False}, "vda": {"stacked": False}})) == ["loop0", "vda"]
    # Older recordings have no key `stacked`. Whether a device is built on another is then derived from its name.
    assert list(disks_counted_once({"loop0": {}, "dm-1": {}, "md0": {}, "sda": {}})) == ["sda"]
    assert list(disks_counted_once({"dm-0": {}})) == ["dm-0"]


def test_totals_over_disks_count_each_byte_once(run):
    def change(document, at):
        document["disks"]["loop0"] = dict(document["disks"]["vda"]) | {"stacked": True}

    before = summarize_run(run, tables=False)
    rewrite(run.observe / "probe.ndjson", on_samples(change))
    after = summarize_run(run, tables=False)
    assert after["host"]["disks"]["loop0"]["stacked"]
    for name in ("disk_read_bytes_per_s", "disk_write_bytes_per_s"):
        assert after["timeline"][name] == before["timeline"][name]
    for metric in ("host.disks.*.write_bytes_per_s", "host.disks.vda.write_bytes_per_s"):
        first, second = (in_run(RunSummary.read(summary), metric, None).value for summary in (before, after))
        assert second == first > 0
    assert in_run(RunSummary.read(after), "host.disks.loop0.write_bytes_per_s", None).value > 0


def test_claims_name_the_figure_of_memory():
    assert read_metric("tiers.db.memory_bytes") == ("tiers", "db", "memory_bytes")
    assert read_metric("tiers.db.resident_sets_bytes")[-1] == "resident_sets_bytes"
    with pytest.raises(ValueError, match=r"did you mean .*tiers\.db\.resident_sets_bytes"):
        read_metric("tiers.db.resident_bytes")
