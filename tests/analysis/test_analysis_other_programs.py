"""Programs that Towtank did not start raise a doubt if they use at least a tenth of the CPUs of a target's machine."""

from __future__ import annotations

import pytest
from changed_recordings import on_samples, reasons, rewrite, script
from synthetic_runs import write_run

from towtank.analysis import summarize_run
from towtank.analysis.doubts import DoubtKind

ADDRESS = "127.0.0.1:8080"


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def beside(run, cpus, pid):
    """Let unknown programs use `cpus` of the machine's two CPUs; `pid` is the process of the target, or None if it is
    unknown.
    """
    run.update(targets_here={ADDRESS: pid})

    def change(document, at):
        document["host"]["cpu_user_s_total"] += cpus * (at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def test_a_quiet_machine_has_no_doubt(run):
    beside(run, 0.1, 4711)
    summary = summarize_run(run, tables=False)
    assert summary["verdict"]["level"] == "valid"
    assert summary["other_programs"]["cpus_used"]["value"] == pytest.approx(0.1, abs=0.02)
    assert "interference" not in {entry["check"] for entry in summary["verdict"]["not_checked"]}


@pytest.mark.parametrize(("cpus", "level"), [(0.3, "suspect"), (0.8, "invalid"), (1.9, "invalid")])
def test_the_load_of_others_is_a_doubt_and_from_a_quarter_on_not_valid(run, cpus, level):
    beside(run, cpus, 4711)
    doubt = reasons(run)[DoubtKind.INTERFERENCE]
    assert doubt["level"] == level
    assert doubt["seen"] == pytest.approx(cpus / 2, abs=0.01)
    assert "programs other than generator and target used" in doubt["message"]


@pytest.mark.parametrize("cpus", [0.3, 1.9])
def test_use_that_cannot_be_attributed_is_a_doubt_that_says_so(run, cpus):
    beside(run, cpus, None)
    # In this run the tier is not pinned to CPUs, so only the CPU use of the whole machine is known.
    run.update(tiers={"content": {"kind": "content_server", "host": "here", "cpus": []}})
    found = reasons(run)
    assert found[DoubtKind.NOT_ATTRIBUTED]["level"] in ("suspect", "invalid")
    summary = summarize_run(run, tables=False)
    messages = [reason["message"] for reason in summary["verdict"]["reasons"]]
    words = f"its process ({ADDRESS}) was not found on this machine, or is the one that called Towtank"
    assert any(words in message for message in messages)
    missing = {entry["check"]: entry["why"] for entry in summary["verdict"]["not_checked"]}
    assert (
        missing["interference"]
        == f"the process of the target ({ADDRESS}) was not found, or is the one that called Towtank"
    )


def test_runs_without_such_targets_have_no_number(run):
    assert summarize_run(run, tables=False)["other_programs"] is None
