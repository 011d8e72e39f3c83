"""Counts right and wrong decisions of `repeat: until decided`, with a server of known response times
(`known_times.py`).

Each study compares two levels, with claims that one of them is slower and that one of them carries less. 20 studies
have equal levels; 20 have equal levels and a server that needs most of its CPU, of which another program takes a half
during random runs; in 20 the times of one level are 20 % longer; in 20 they are a ninth longer, so that its users
complete 10 % less. The results are kept in `target/decisions`: a further call goes on with the studies that are
missing. The studies with the other program need two CPUs and a machine on which nothing else runs.
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
from typing import Any

import harness

from towtank.results import ResultsFolder

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
  stages: {{ramp_up: 200 ms, settle: 600 ms, steady: {steady}, ramp_down: 100 ms}}
{about_the_machine}
claims:
  - says: {slower}
    measure: {{ratio: {{of: mean, at: {{level: second}}, to: {{level: first}}}}}}
    holds: "> 1"
  - says: {less}
    measure: {{ratio: {{of: throughput, at: {{level: second}}, to: {{level: first}}}}}}
    holds: "< 1"
"""


# A server that sleeps is not slower if other programs run.
_ASLEEP = "pinning: off\nlimits: {interference: 100 %, not_attributed: 100 %, start_lag_p99: 50 ms}"
# With limits of their own, studies of a server that needs CPU time would not notice the other program.
_AWAKE = "pinning: auto"
_STEADY_ASLEEP = "3 s"
# The machine's speed is the median of at least ten samples, one per second.
_STEADY_AWAKE = "12 s"
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


class Holder:
    """Context in which busy programs take half of the server's CPUs after half of its starts, at random.

    A busy program runs on each CPU that the server may use, from the start of the server, before the load begins, until
    the next start.

    Parameters
    ----------
    starts : Path
        File to which the server adds a line with its CPUs at each start.
    seed : int
        Seed of the random generator.

    Attributes
    ----------
    held_wall_ns : list of int
        Wall times at which the busy programs started. [ns]
    """

    def __init__(self, starts: Path, seed: int) -> None:
        self.held_wall_ns: list[int] = []
        self._starts, self._rng = starts, random.Random(seed)
        self._ended, self._thread = threading.Event(), threading.Thread(target=self._hold)
        self._programs: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Holder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _hold(self) -> None:
        seen = 0
        while not self._ended.wait(0.02):
            lines = self._starts.read_text().splitlines(keepends=True)
            complete = [line for line in lines if line.endswith("\n")]
            for line in complete[seen:]:
                self._stop()
                if self._rng.random() < 0.5:
                    self._start(line.split())
            seen = len(complete)
        self._stop()

    def _start(self, cpus: Sequence[str]) -> None:
        self.held_wall_ns.append(time.time_ns())
        for cpu in cpus:
            spin = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
            self._programs.append(subprocess.Popen([sys.executable, "-c", spin]))

    def _stop(self) -> None:
        for program in self._programs:
            program.kill()
            program.wait()
        self._programs.clear()


@dataclass(frozen=True)
class Decision:
    """Result of a study.

    Attributes
    ----------
    slower, less : str
        Verdicts of the claims.
    blocks : int
        Number of blocks. [1]
    because : str
        Reason for the end of the repetition.
    invalid_runs : int
        Number of runs that do not count. [1]
    seconds : float
        Elapsed time. [s]
    held_runs, held_runs_that_count : int
        Number of runs during which another program took half of the server's CPU, and of those among them that are
        not invalid. Runs of repeated blocks are left out. [1]
    repeated_blocks : int
        Number of blocks that were repeated because the speed of the machine changed. [1]
    """

    kind: str
    number: int
    slower: str
    less: str
    blocks: int
    because: str
    invalid_runs: int
    seconds: float
    held_runs: int = 0
    held_runs_that_count: int = 0
    repeated_blocks: int = 0


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
    starts = folder / "starts"
    starts.write_text("")
    for name, text in files_of(kind, seed, starts).items():
        (folder / name).write_text(text)
    out = folder / f"results-{time.time_ns()}"
    began = time.monotonic()
    command = [sys.executable, "-m", "towtank", "run", str(folder / "study.yaml"), "--out", str(out), "--quiet"]
    # Each study needs its own state folder, because studies run concurrently.
    environment = {**os.environ, "TOWTANK_STATE": str(folder / "state")}
    holder = Holder(starts, seed)
    with holder if kind.held else nullcontext():
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    seconds = time.monotonic() - began
    if not (out / "claims.json").exists():
        raise SystemExit(f"error: towtank run ended with status {done.returncode}\n{done.stderr}")
    decision = of_results(kind, number, out, seconds, holder.held_wall_ns)
    kept.write_text(json.dumps(asdict(decision)))
    shutil.rmtree(folder)
    print(f"  {kept.stem}: {decision}", flush=True)
    return decision


def files_of(kind: Kind, seed: int, starts: Path) -> dict[str, str]:
    """Return the text of each file of a study, by file name."""
    server = harness.HERE / "known_times.py"
    busy_s, steady, about_the_machine = (
        (_BUSY_S, _STEADY_AWAKE, _AWAKE) if kind.held else (0.0, _STEADY_ASLEEP, _ASLEEP)
    )
    return {
        "system.yaml": _SYSTEM.format(python=sys.executable, server=server, seed=seed, busy_s=busy_s, starts=starts),
        "workload.yaml": _WORKLOAD.format(name="list"),
        "study.yaml": _STUDY.format(
            seed=seed,
            factor=kind.factor,
            minutes=MINUTES_OF_A_STUDY,
            slower=_SLOWER,
            less=_LESS,
            steady=steady,
            about_the_machine=about_the_machine,
        ),
    }


def of_results(kind: Kind, number: int, out: Path, seconds: float, held_wall_ns: Sequence[int]) -> Decision:
    """Read the decision of a study from its results folder.

    Parameters
    ----------
    kind : Kind
        Kind of the study.
    number : int
        Number of the study, from 0.
    out : Path
        Results folder.
    seconds : float
        Elapsed time. [s]
    held_wall_ns : sequence of int
        Wall times at which the other program started. [ns]
    """
    claims = {each["says"]: each["verdict"] for each in _read(out / "claims.json")["claims"]}
    ended = _read(out / "study.json")["repeat_ended"]
    verdicts = {each["run"]: each["verdict"] for each in _read(out / "study-summary.json")["runs"]}
    times = {run: _read(out / "runs" / run / "run.json") for run in verdicts}
    held = [
        run
        for run, about in times.items()
        if any(about["started_wall_ns"] <= at_ns <= about["ended_wall_ns"] for at_ns in held_wall_ns)
    ]
    repeated = [event for event in ResultsFolder(out).events() if event["k"] == "speed_moved" and event["repeated"]]
    return Decision(
        kind.name,
        number,
        claims[_SLOWER],
        claims[_LESS],
        ended["blocks"],
        ended["because"],
        sum(verdict == "invalid" for verdict in verdicts.values()),
        seconds,
        len(held),
        sum(verdicts[run] != "invalid" for run in held),
        len(repeated),
    )


def _read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


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
        held, counting = (sum(getattr(each, name) for each in own) for name in ("held_runs", "held_runs_that_count"))
        yield (
            f"{kind.name}, {len(own)} studies: {right} right, {wrong} wrong, {len(own) - sum(decided)} open; "
            f"{blocks[0]} to {blocks[-1]} blocks, at most {longest:.0f} s"
            + (f"; {held} runs with half of the CPU, {counting} of them count" if held else "")
        )


def _asked(kind: Kind, decision: Decision) -> str:
    return decision.less if kind.name == "less" else decision.slower
