"""Levels as shares of a limit that is known from first principles: a pilot run, the runs, and a resume.

Four connections to a server that answers after 100 ms carry 40 requests a second: the line of 10 /s for each user
without think time reaches that at 4 users.
"""

import json

from integration_bench import Bench
from test_integration_limit import SYSTEM, WORKLOAD

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
  pilot: {start: 1, ramp_up: 100 ms, settle: 500 ms, steady: 2 s}
  stages: {settle: 500 ms, steady: 2 s}
"""


def test_levels_come_from_a_pilot_run_that_resuming_does_not_repeat(bench: Bench) -> None:
    for name, text in {"study.yaml": STUDY, "system.yaml": SYSTEM, "workload.yaml": WORKLOAD}.items():
        (bench.folder / name).write_text(text)
    ended = bench.towtank("run", "study.yaml", "--out", bench.results, "--no-report")
    assert "pilot run: about 4 users; 50 % = 2 users, 200 % = 8 users" in ended.stderr, ended.stderr
    manifest = json.loads((bench.results / "study.json").read_text())
    assert [plateau["users"] for plateau in manifest["study"]["pilot"]["plateaus"]] == [1, 2, 4, 8]
    assert manifest["study"]["factors"][0] | {"numeric": None} == {
        "name": "users",
        "levels": ["50 %", "200 %"],
        "numeric": None,
    }
    assert manifest["study"]["factors"][0]["numeric"] == [2, 8]
    summary = json.loads((bench.results / "study-summary.json").read_text())
    assert [point["users"] for point in summary["configurations"][0]["points"]] == [2, 8]
    assert summary["objectives"][0]["users"] == 2
    record = (bench.results / "pilot" / "run.json").read_bytes()
    bench.towtank("run", "--resume", bench.results, "--no-report")
    assert (bench.results / "pilot" / "run.json").read_bytes() == record
