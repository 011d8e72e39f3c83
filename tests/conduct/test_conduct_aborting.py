"""`--abort-on`: its objectives are checked before the load, and a clear miss ends the load and is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from even_runs import even_script, stages_of
from synthetic_runs import write_run

from towtank.analysis import summarize_run
from towtank.conduct.aborting import Aborting, check_abort_on, check_transactions
from towtank.conduct.run import RunOutcome, _judge
from towtank.conduct.stopping import StopRequest
from towtank.errors import StudyError
from towtank.option_check import OptionCheck
from towtank.results.folder import RunFolder
from towtank.study import read_objective


def recorded(folder: Path) -> RunFolder:
    stages = stages_of(10, 1.0, 29.0)
    return write_run(
        folder / "run",
        even_script(stages, users=10, response_s=0.2, think_s=0.1, seconds=30.0, service_s=0.0, tiers={}),
    )


def test_a_clear_miss_is_an_event_with_its_reason(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    reason = Aborting(run, [read_objective("p95 < 100 ms"), read_objective("errors < 1 %")]).look()
    assert reason == "ended early by --abort-on p95 < 100 ms: 100 % of the responses took longer over 29 s"
    assert [event["reason"] for event in run.events() if event["k"] == "aborted"] == [reason]


def test_what_is_met_goes_on_and_each_second_is_judged_once(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    aborting = Aborting(run, [read_objective("p95 < 250 ms")])
    assert aborting.look() is None
    assert aborting.follower.intervals == []
    assert aborting.look() is None
    assert not [event for event in run.events() if event["k"] == "aborted"]


def test_a_run_that_ended_early_is_stopped_and_invalid_and_keeps_its_records(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    outcome = RunOutcome(aborted=Aborting(run, [read_objective("p95 < 100 ms")]).look())
    _judge(run, 0, outcome, StopRequest())
    assert (outcome.status, outcome.reason) == ("stopped", outcome.aborted)
    run.update(status=outcome.status, reason=outcome.reason)
    summary = summarize_run(run)
    assert summary["verdict"]["level"] == "invalid"
    (reason,) = [each for each in summary["verdict"]["reasons"] if each["message"] == outcome.aborted]
    assert reason["hint"] == "lower the load, or repeat the run without --abort-on"
    assert summary["accounting"]["ok"] > 0


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["p95 below 1 s"], "must be METRIC"),
        (["p95 > 1 s"], "must be an upper limit"),
        (["min < 1 s"], "must be an upper limit of one of mean, max, p50"),
        (["stored.lost <= 0"], "must be an upper limit"),
        (["p95 < 1 s at 50 % of the limit"], "must be at a number of users or a rate"),
    ],
)
def test_an_objective_that_cannot_be_judged_during_a_load_is_refused(texts: list[str], words: str) -> None:
    check = OptionCheck()
    assert check_abort_on(check, texts) == []
    with pytest.raises(StudyError) as raised:
        check.refuse_faults()
    assert words in str(raised.value)
    assert "--abort-on" in str(raised.value)


def test_an_unknown_transaction_is_refused_with_those_of_the_load() -> None:
    check = OptionCheck()
    check_transactions(check, [read_objective("p95 of search < 1 s")], ["browse", "look"])
    with pytest.raises(StudyError, match=r"browse, look.*p95 of search < 1 s"):
        check.refuse_faults()
