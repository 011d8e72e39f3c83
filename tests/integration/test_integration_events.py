"""Events of a study, run by the real command line. The run continues after an event and reports the event."""

import json

import pytest
from integration_bench import Bench
from waiting import until

pytestmark = pytest.mark.waits

EVENTS = """
events:
  lost: {{at: steady + 6 s, do: {do}, service: content{more}}}
"""


def run(bench: Bench, do: str, more: str = "", steady: str = "14 s") -> dict:
    path = bench.study(users=[4], steady=steady)
    path.write_text(path.read_text() + EVENTS.format(do=do, more=more))
    bench.run_study()
    return json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())


def test_a_server_that_is_killed_and_comes_back_leaves_a_whole_run(bench: Bench) -> None:
    summary = run(bench, "restart", ", for: 2 s")
    assert bench.statuses() == {"r001": "complete"}
    result = [entry["k"] for entry in bench.events("r001") if entry["k"].startswith(("event_", "service_"))]
    assert result == ["event_begins", "event_ends"]
    event = summary["events"]["lost"]
    assert event["disturbed"]
    assert event["end_s"] >= event["begin_s"] + 2.0
    assert event["during"]["failed_requests"]
    assert summary["accounting"]["holds"]
    assert not {reason["kind"] for reason in summary["verdict"]["reasons"]} & {"service_died", "service_restarted"}
    assert summary["window"]["asked_end_s"] <= event["begin_s"]
    # After a restart, the new process is observed as the same tier, so the tier continues to have CPU time.
    timeline = summary["timeline"]
    used = [cpu for t, cpu in zip(timeline["t_s"], timeline["tiers_cpus_used"]["content"], strict=True) if cpu]
    assert used
    assert any(ok for t, ok in zip(timeline["t_s"], timeline["throughput_per_s"], strict=True) if t > event["end_s"])


def test_a_server_that_stays_away_does_not_end_the_run(bench: Bench) -> None:
    summary = run(bench, "kill", steady="10 s")
    assert bench.statuses() == {"r001": "complete"}
    event = summary["events"]["lost"]
    assert event["recovery_s"] is None
    assert event["until_s"] > event["end_s"]
    assert event["during"]["throughput_per_s"] < 0.5 * event["before"]["throughput_per_s"]


def test_an_event_that_cannot_be_done_makes_the_run_invalid(bench: Bench) -> None:
    path = bench.study(users=[2], steady="2 s")
    path.write_text(path.read_text() + "\nevents:\n  back: {at: steady + 1 s, do: start, service: content}\n")
    ended = bench.run_study()
    assert ended.returncode == 4
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    (doubt,) = [reason for reason in summary["verdict"]["reasons"] if reason["kind"] == "event_failed"]
    assert doubt["message"] == "event back (start content) was not carried out as planned: content runs already"


def test_a_run_that_is_stopped_lets_go_of_what_it_holds(bench: Bench) -> None:
    path = bench.study(users=[2], steady="60 s")
    path.write_text(path.read_text() + "\nevents:\n  held: {at: 1 s, do: pause, service: content, for: 50 s}\n")
    started = bench.start_study()
    bench.await_stage("r001", "steady")
    until(lambda: any(event["k"] == "event_begins" for event in bench.events("r001")))
    started.terminate()
    started.communicate(timeout=240)
    assert [event["k"] for event in bench.events("r001") if event["k"].startswith("event_")] == [
        "event_begins",
        "event_ends",
    ]
    assert bench.statuses() == {"r001": "stopped"}
    bench.await_no_strays()


READ_BACK = """
schema: towtank/workload/1
name: keep
transactions:
  store: [{get: /, check: {status: 200}}, {push: "one", to: own}]
  read_back:
    - loop: 60
      steps:
        - {pop: own, into: kept}
        - if: {filled: kept}
          then: [{get: "/${kept}", name: stored, check: {size: {min: MIN}}}]
groups:
  readers: {once: [store], loop: {think: {fixed: 50 ms}, mix: {store: 100}}, end: [read_back]}
"""


@pytest.mark.parametrize(("size", "met"), [("1 B", True), ("10 MiB", False)])
def test_what_is_stored_and_not_read_back_whole_misses_the_objective(bench: Bench, size: str, met: bool) -> None:
    path = bench.study(users=[2], steady="1 s")
    text = path.read_text().replace("steady: 1 s", "steady: 1 s, ramp_down: 3 s")
    # An invalid run decides no objective, so the limits for disturbances by other programs are raised.
    limits = "{interference: 100 %, not_attributed: 100 %, start_lag_p99: 10 s, start_lag_share: 100 %}"
    path.write_text(f"{text}limits: {limits}\nobjectives: ['errors of read_back <= 0 % in ramp_down']\n")
    (bench.folder / "workload.yaml").write_text(READ_BACK.replace("MIN", size))
    bench.run_study()
    verdict = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())["verdict"]
    (objective,) = json.loads((bench.results / "study-summary.json").read_text())["objectives"]
    assert objective["met"] is (None if verdict["level"] == "invalid" else met), verdict
