"""Counts right and wrong decisions of `repeat: until decided`, with a server of known response times
(`known_times.py`).

Each study compares two levels, with claims that one of them is slower and that one of them carries less. 20 studies
have equal levels; 20 have equal levels and a server that needs most of a CPU, of which another program takes a half in
random runs; in 20 the times of one level are 20 % longer; in 20 they are a ninth longer, so that its users complete
10 % less. The results are kept in `target/decisions`: a further call goes on with the studies that are missing. The
studies with the other program need a machine on which nothing else runs.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
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
      - --busy={busy_s}
      - --cpu={cpu}
      - --starts={starts}
    port: 0
    settings: {{factor: 1.0}}
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
{limits}
claims:
  - says: {slower}
    measure: {{ratio: {{of: mean, at: {{level: second}}, to: {{level: first}}}}}}
    holds: "> 1"
  - says: {less}
    measure: {{ratio: {{of: throughput, at: {{level: second}}, to: {{level: first}}}}}}
    holds: "< 1"
"""


# A server that sleeps is not slower if other programs run.
_LIMITS = "limits: {interference: 100 %, not_attributed: 100 %, start_lag_p99: 50 ms}"
_BUSY_S = 0.003
"""CPU time of a request where another program takes CPU time: 60 users then need 0.7 of a CPU. [s]"""


@dataclass(frozen=True)
class Kind:
    """Kind of study.

    Attributes
    ----------
    factor : float
        Factor of the second level's times. [1]
    held : bool
        Whether another program takes half of the server's CPU in random runs.
    truth : bool or None
        Truth of both claims; None if the levels are equal, so that neither answer is right.
    """

    name: str
    factor: float
    held: bool
    truth: bool | None


KINDS = (
    Kind("equal", 1.0, False, None),
    Kind("held", 1.0, True, None),
    Kind("slower", 1.2, False, True),
    Kind("less", 10 / 9, False, True),
)


class _Holder:
    """Context in which another program takes half of a CPU from the server after half of its starts, at random.

    Parameters
    ----------
    starts : Path
        File to which the server adds a line at each start.
    cpu : int
        CPU of the server.
    seed : int
        Seed of the random generator.
    """

    def __init__(self, starts: Path, cpu: int, seed: int) -> None:
        self._starts, self._cpu, self._rng = starts, cpu, random.Random(seed)
        self._ended, self._thread = threading.Event(), threading.Thread(target=self._hold)
        self._program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _hold(self) -> None:
        seen = 0
        while not self._ended.wait(0.05):
            count = self._starts.read_text().count("\n") if self._starts.exists() else 0
            if count > seen:
                seen = count
                self._stop()
                if self._rng.random() < 0.5:
                    spin = f"import os; os.sched_setaffinity(0, {{{self._cpu}}})\nwhile True: pass"
                    self._program = subprocess.Popen([sys.executable, "-c", spin])
        self._stop()

    def _stop(self) -> None:
        if self._program is not None:
            self._program.kill()
            self._program.wait()
            self._program = None


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
        asleep = [case for case in cases if not case[1].held]
        ended = list(threads.map(lambda case: decide(case[1], case[0], deadline), asleep))
    ended += [decide(kind, number, deadline) for number, kind in cases if kind.held]
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
    server, cpu, starts = harness.HERE / "known_times.py", max(os.sched_getaffinity(0)), folder / "starts"
    busy_s, limits = (_BUSY_S, "") if kind.held else (0.0, _LIMITS)
    starts.write_text("")
    files = {
        "system.yaml": _SYSTEM.format(
            python=sys.executable, server=server, seed=seed, busy_s=busy_s, cpu=cpu, starts=starts
        ),
        "workload.yaml": _WORKLOAD.format(name="list"),
        "study.yaml": _STUDY.format(
            seed=seed, factor=kind.factor, minutes=MINUTES_OF_A_STUDY, slower=_SLOWER, less=_LESS, limits=limits
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    out = folder / f"results-{time.time_ns()}"
    began = time.monotonic()
    command = [sys.executable, "-m", "towtank", "run", str(folder / "study.yaml"), "--out", str(out), "--quiet"]
    # Each study needs its own state folder, because studies run concurrently.
    environment = {**os.environ, "TOWTANK_STATE": str(folder / "state")}
    with _Holder(starts, cpu, seed) if kind.held else nullcontext():
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
