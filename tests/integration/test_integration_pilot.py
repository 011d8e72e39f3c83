"""Load levels as fractions of a limit that is known from calculation: pilot run, runs, and resumption of a study.

The server responds after 100 ms, so four connections allow 40 requests/s. Each user without think time sends 10
requests/s, so 4 users reach this limit.
"""

import json

import pytest
from integration_bench import Bench
from test_integration_limit import SYSTEM, WORKLOAD

pytestmark = pytest.mark.waits

STUDY = """
schema: towtank/study/1
name: tiny-shares
system: system.yaml
workload: workload.yaml
objectives: [mean < 1 s at 50 % of the limit]
factors:
  users: [50 %, 200 %]
load:
  kind: closed
  pilot: {start: 1, ramp_up: 100 ms, settle: 500 ms, steady: 4 s}
  stages: {settle: 500 ms, steady: 2 s}
"""


def test_levels_come_from_a_pilot_run_that_resuming_does_not_repeat(bench: Bench) -> None:
    for name, text in {"study.yaml": STUDY, "system.yaml": SYSTEM, "workload.yaml": WORKLOAD}.items():
        (bench.folder / name).write_text(text)
    ended = bench.towtank("run", "study.yaml", "--out", bench.results, "--no-report")
    manifest = json.loads((bench.results / "study.json").read_text())
    pilot = manifest["study"]["pilot"]
    limit, plateaus = pilot["users"], pilot["plateaus"]
    few, many = max(1, round(0.5 * limit)), round(2 * limit)
    said = f"pilot run: about {limit:.0f} users; 50 % = {few} users, 200 % = {many} users"
    assert said in ended.stderr, ended.stderr
    assert [plateau["users"] for plateau in plateaus] == [2**number for number in range(len(plateaus))]
    # On a machine that pauses at times, the throughput is lower, and so is the measured limit.
    if all(plateau["throughput_per_s"] > 0.92 * min(10 * plateau["users"], 40) for plateau in plateaus):
        assert len(plateaus) == 4
        assert 3.5 < limit < 4.5
    assert manifest["study"]["factors"][0] | {"numeric": None} == {
        "name": "users",
        "levels": ["50 %", "200 %"],
        "numeric": None,
    }
    assert manifest["study"]["factors"][0]["numeric"] == [few, many]
    summary = json.loads((bench.results / "study-summary.json").read_text())
    assert [point["users"] for point in summary["configurations"][0]["points"]] == [few, many]
    assert summary["objectives"][0]["users"] == few
    record = (bench.results / "pilot" / "run.json").read_bytes()
    bench.towtank("run", "--resume", bench.results, "--no-report")
    assert (bench.results / "pilot" / "run.json").read_bytes() == record
