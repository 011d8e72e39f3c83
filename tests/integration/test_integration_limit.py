"""Searches for a limit that is known from calculation, and a settle stage that ends when the load is steady.

The server responds after 100 ms, so four connections allow at most 40 requests/s. N > 4 users without think time get
responses after N x 25 ms. Therefore up to 21.6 users meet the objective of a mean below 540 ms.
"""

import json
import math

import pytest
from integration_bench import Bench

pytestmark = pytest.mark.waits

STUDY = """
schema: towtank/study/1
name: tiny-limit
system: system.yaml
workload: workload.yaml
objectives: [mean < 540 ms]
load:
  kind: find-limit
  of: users
  start: 12
  steps: [{by: 4}]
  at_most: 60
  stop_when: [objective missed]
  stages: {ramp_up: 100 ms, settle: 1 s, steady: 3 s}
  refine: {to: 10 %, repeats: 2}
"""
SETTLED = """
schema: towtank/study/1
name: tiny-settle
system: system.yaml
workload: workload.yaml
load:
  users: 4
  stages: {settle: "until steady, at most 180 s", steady: 6 s}
"""
SYSTEM = """
schema: towtank/system/1
name: tiny
hosts: {here: {provider: local}}
services:
  content: {kind: null_server, host: here, settings: {delay: 100 ms}}
"""
WORKLOAD = """
schema: towtank/workload/1
name: look
defaults: {connections: 4}
transactions:
  look: [{get: /}]
groups:
  readers: {loop: {mix: {look: 100}}}
"""
LIMIT_S, CARRIED = 0.540, 40.0
KNOWN = LIMIT_S * CARRIED


def write(bench: Bench, study: str) -> None:
    files = {"study.yaml": study, "system.yaml": SYSTEM, "workload.yaml": WORKLOAD}
    for name, text in files.items():
        (bench.folder / name).write_text(text)


def is_disturbed(plateau: dict) -> bool:
    """Return True if the machine was slow or paused during a plateau.

    The signs are a throughput below 97 % of the capacity, or a 99th percentile above 1.2 times the median.
    """
    carried, times = plateau["throughput_per_s"]["value"], plateau["response_time_s"]
    return not carried or carried < 0.97 * CARRIED or times["p99"]["value"] > 1.2 * times["p50"]["value"]


def mean_s(plateau: dict) -> float:
    return plateau["response_time_s"]["mean"]["value"] or math.inf


@pytest.mark.timeout(300)
def test_search_finds_the_known_limit(bench: Bench) -> None:
    write(bench, STUDY)
    ended = bench.towtank("run", "study.yaml", "--out", bench.results, "--no-report")
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    limit = summary["limit"]
    passed = [plateau["level"] for plateau in limit["plateaus"] if plateau["passed"]]
    failed = [plateau["level"] for plateau in limit["plateaus"] if not plateau["passed"]]
    assert max(passed) < KNOWN, ended.stderr
    early = [plateau for plateau in limit["plateaus"] if not plateau["passed"] and plateau["level"] < KNOWN]
    assert all(is_disturbed(plateau) for plateau in early), ended.stderr
    assert "next 16 users" in ended.stderr
    if not early:
        assert limit["ended"] == "refined", ended.stderr
        assert (max(passed), min(failed)) == (20, 22)
        assert limit["low"] <= KNOWN <= limit["high"]
        assert limit["failure"]["kind"] == "objective_missed"
    # On a quiet machine, the interval of the limit is at most 6 users wide.
    if all(mean_s(plateau) < 1.02 * plateau["level"] / CARRIED for plateau in limit["plateaus"]):
        assert limit["high"] - limit["low"] <= 6
    assert summary["users"]["asked"] == limit["window_level"]
    assert summary["accounting"]["holds"]
    study = json.loads((bench.results / "study-summary.json").read_text())
    if study["verdict"]["level"] != "invalid":  # An invalid run yields no limit.
        assert study["configurations"][0]["found_limit"]["value"] == limit["value"]
        assert study["objectives"][0]["met"]
    assert ended.returncode in (0, 4)
    events = [event["k"] for event in _events(bench)]
    assert events.count("plateau") == len(limit["plateaus"])
    assert "search_ended" in events


def _events(bench: Bench) -> list[dict]:
    text = (bench.results / "runs" / "r001" / "events.ndjson").read_text()
    return [json.loads(line[9:]) for line in text.splitlines()]


@pytest.mark.timeout(300)
def test_settle_stage_ends_on_evidence(bench: Bench) -> None:
    write(bench, SETTLED)
    bench.towtank("run", "study.yaml", "--out", bench.results, "--no-report", "--quiet")
    settled = [event for event in _events(bench) if event["k"] == "settled"]
    assert len(settled) == 1
    assert 10 <= settled[0]["after_s"] < 180
    stages = json.loads((bench.results / "runs" / "r001" / "engine" / "engine.json").read_text())["stages"]
    settle, steady = stages[1], stages[2]
    assert settle["end_s"] - settle["start_s"] < 180
    assert steady["end_s"] - steady["start_s"] == pytest.approx(6.0)
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    assert summary["window"]["asked_start_s"] == steady["start_s"]
    assert summary["backlog"]["at_start"] <= 4
    assert "not_settled" not in {reason["kind"] for reason in summary["verdict"]["reasons"]}
