"""Counts right and wrong decisions of `repeat: until decided`, with a server of known response times
(`known_times.py`).

Each study compares two levels, and claims that the second level is slower, and has less throughput. There are four
kinds of studies, with 20 studies each:

- equal levels
- equal levels, and a server whose times double in random runs, as with half of its CPU time
- times of the second level that are 20 % longer
- times of the second level that are a ninth longer, so that its throughput is 10 % less

The results are stored in `target/decisions`; another call runs the missing studies.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import harness

STUDIES = 20
QUICK_STUDIES = 1
MINUTES_OF_A_STUDY = 10
_TOGETHER = 2
_FOLDER = harness.HERE.parent / "target" / "decisions"
_SLOWER = "The second level is slower."
_LESS = "The second level carries less."
_SYSTEM = """schema: towtank/system/1
name: known
hosts:
  here: {{provider: local}}
services:
  server:
    kind: command
    host: here
    program: {python}
    arguments:
      - {server}
      - --port=${{port}}
      - --seed={seed}
      - --lift-all=${{settings.factor}}
      - --held=${{settings.held}}
    port: 0
    settings: {{factor: 1.0, held: {held}}}
    ready: {{log: "127.0.0.1:"}}
targets: {{server: {{service: server}}}}
"""
_WORKLOAD = """schema: towtank/workload/1
name: known
transactions:
  {name}: [{{get: /{name}}}]
groups:
  users: {{loop: {{mix: {{{name}: 1}}}}}}
"""
_STUDY = """schema: towtank/study/1
name: known
title: Two levels of known response times
system: system.yaml
workload: workload.yaml
seed: {seed}
order: random
repeat: until decided, at most 12, within {minutes} min
factors:
  users: [60]
  level:
    first: {{}}
    second: {{services.server.settings.factor: {factor}}}
load:
  kind: closed
  stages: {{ramp_up: 200 ms, settle: 600 ms, steady: 3 s, ramp_down: 100 ms}}
pinning: off
# The server only sleeps, so other programs on the machine do not affect its times.
limits: {{interference: 100 %, not_attributed: 100 %, start_lag_p99: 50 ms}}
claims:
  - says: {slower}
    measure: {{ratio: {{of: mean, at: {{level: second}}, to: {{level: first}}}}}}
    holds: "> 1"
  - says: {less}
    measure: {{ratio: {{of: throughput, at: {{level: second}}, to: {{level: first}}}}}}
    holds: "< 1"
"""


@dataclass(frozen=True)
class Kind:
    """Kind of study.

    `factor` multiplies the times of the second level; `held` is the probability of a run at half speed; `truth` is the
    truth of the claims, or None if the levels are equal, so that no decision is right. [1]
    """

    name: str
    factor: float
    held: float
    truth: bool | None


KINDS = (
    Kind("equal", 1.0, 0.0, None),
    Kind("held", 1.0, 0.5, None),
    Kind("slower", 1.2, 0.0, True),
    Kind("less", 10 / 9, 0.0, True),
)


@dataclass(frozen=True)
class Decision:
    """Result of a study: the verdicts of its claims, the number of blocks, and the elapsed time. [s]"""

    kind: str
    number: int
    slower: str
    less: str
    blocks: int
    because: str
    invalid_runs: int
    seconds: float


def run(*, quick: bool, minutes: float | None = None) -> None:
    """Run the missing studies, print how often their claims were decided rightly and wrongly, and store all decisions.

    Parameters
    ----------
    quick : bool
        If true, run one study of each kind instead of 20.
    minutes : float or None
        Time after which no further study starts. [min]
    """
    count = QUICK_STUDIES if quick else STUDIES
    deadline = time.monotonic() + 60 * (float("inf") if minutes is None else minutes)
    cases = [(number, kind) for number in range(count) for kind in KINDS]
    with ThreadPoolExecutor(_TOGETHER) as threads:
        ended = list(threads.map(lambda case: decide(case[1], case[0], deadline), cases))
    found = [each for each in ended if each is not None]
    for line in table(found):
        print(f"  {line}")
    if len(found) < len(cases):
        print(f"  {len(found)} of {len(cases)} studies ran; to run the missing studies, repeat the command")
        return
    harness.keep("decisions", {"studies": count}, decisions=[asdict(each) for each in found])


def decide(kind: Kind, number: int, deadline: float) -> Decision | None:
    """Return the decision of a study. Run the study, unless an earlier call has run it; None if the deadline has
    passed.
    """
    folder = _FOLDER / f"{kind.name}-{number:02}"
    kept = folder.with_suffix(".json")
    if kept.exists():
        return Decision(**json.loads(kept.read_text()))
    if time.monotonic() > deadline:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    seed = 1_000 * KINDS.index(kind) + number + 1
    server = harness.HERE / "known_times.py"
    files = {
        "system.yaml": _SYSTEM.format(python=sys.executable, server=server, seed=seed, held=kind.held),
        "workload.yaml": _WORKLOAD.format(name="list"),
        "study.yaml": _STUDY.format(
            seed=seed, factor=kind.factor, minutes=MINUTES_OF_A_STUDY, slower=_SLOWER, less=_LESS
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    out = folder / f"results-{time.time_ns()}"
    began = time.monotonic()
    command = [sys.executable, "-m", "towtank", "run", str(folder / "study.yaml"), "--out", str(out), "--quiet"]
    # Each study needs its own state folder, because studies run concurrently.
    environment = {**os.environ, "TOWTANK_STATE": str(folder / "state")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    seconds = time.monotonic() - began
    if not (out / "claims.json").exists():
        raise SystemExit(f"error: towtank run ended with status {done.returncode}\n{done.stderr}")
    decision = _of_results(kind, number, out, seconds)
    kept.write_text(json.dumps(asdict(decision)))
    shutil.rmtree(folder)
    print(f"  {kept.stem}: {decision}", flush=True)
    return decision


def _of_results(kind: Kind, number: int, out: Path, seconds: float) -> Decision:
    """Read the verdicts from the results folder of a study."""
    claims = {each["says"]: each["verdict"] for each in json.loads((out / "claims.json").read_text())["claims"]}
    ended = json.loads((out / "study.json").read_text())["repeat_ended"]
    runs = json.loads((out / "study-summary.json").read_text())["runs"]
    invalid = sum(each["verdict"] == "invalid" for each in runs)
    return Decision(
        kind.name, number, claims[_SLOWER], claims[_LESS], ended["blocks"], ended["because"], invalid, seconds
    )


def table(found: Sequence[Decision]) -> Iterator[str]:
    """Yield a line for each kind of study: numbers of right, wrong and open decisions, blocks, and longest time."""
    for kind in KINDS:
        own = [each for each in found if each.kind == kind.name]
        if not own:
            continue
        # In a study "less", the claim about throughput counts; in a study "slower", the claim about response time.
        verdicts = [{each.slower, each.less} if kind.truth is None else {_asked(kind, each)} for each in own]
        decided = [bool(each & {"confirmed", "refuted"}) for each in verdicts]
        right = sum(each == {"confirmed"} for each in verdicts) if kind.truth else 0
        wrong = sum("refuted" in each for each in verdicts) if kind.truth else sum(decided)
        blocks = sorted(each.blocks for each in own)
        longest = max(each.seconds for each in own)
        yield (
            f"{kind.name}, {len(own)} studies: {right} right, {wrong} wrong, {len(own) - sum(decided)} open; "
            f"{blocks[0]} to {blocks[-1]} blocks, at most {longest:.0f} s"
        )


def _asked(kind: Kind, decision: Decision) -> str:
    return decision.less if kind.name == "less" else decision.slower
