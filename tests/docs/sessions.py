"""Runs the commands of a documentation page in order, as a shell would, in a fresh copy of the files of a checkout."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from held_port import held_port
from judgements import Line
from pages import ROOT
from results_1 import RESULTS_1
from two_tiers import write_two_tiers

from towtank.analysis.doubts import DoubtKind, DoubtLevel
from towtank.engine import binary

ADDRESS = "127.0.0.1:8080"
PROXY = "127.0.0.1:8899"
WITHIN_S = 60.0
# Doubts that tests ignore. Causes are other programs on the machine, or stages that a test has shortened.
DISTURBANCES = {
    DoubtKind.GENERATOR_SATURATED,
    DoubtKind.GENERATOR_STALLED,
    DoubtKind.START_LAG,
    DoubtKind.NO_STEADY_STATE,
    DoubtKind.TOO_FEW_SAMPLES,
    DoubtKind.BACKLOG,
    DoubtKind.STEAL_TIME,
    DoubtKind.INTERFERENCE,
    DoubtKind.NOT_ATTRIBUTED,
    DoubtKind.UTILIZATION_LAW,
    DoubtKind.LITTLE_LAW,
    DoubtKind.OBSERVATION_GAP,
    DoubtKind.OBSERVATION_COST,
    DoubtKind.NOT_SETTLED,
    DoubtKind.LISTEN_OVERFLOW,
    DoubtKind.RETRANSMITS,
    DoubtKind.MACHINE_SUSPENDED,
}
# Patterns that find the doubts of `DISTURBANCES` in the output of commands that write no results folder.
_DISTURBED = re.compile(
    r"start lag is |the generator's |the load generator stalled |(?:throughput|response time) changes(?: abruptly)? by "
    r"|the mean response time is based on|transactions in the system rise from |\S+ % of CPU time was stolen"
    r"|programs other than (?:the generator|generator and target) used |other programs used "
    r"|machine_busy|machine_unsteady|not_repeatable|steal_time"
)
# Commands that start a server at `ADDRESS`, for pages that send load to a server but start none.
SHOP = "python examples/shop/server.py 8080"
NULL_SERVER = "towtank-engine null-server --http2 --listen 127.0.0.1:8080"
# Names of results folders in the guides. The word `RESULTS` on a page stands for the results folder of any study.
RESULTS = "results/content-users-20261120-180501"
NETWORK = "results/shop-20261120-180501"
# Measurements of a closed network: a station of eight servers with a service time of 10 ms, and users who think for 2
# s.
LEVELS = """users,tps,mean_s
100,49.7,0.0101
300,148.9,0.0102
600,298.1,0.0104
1200,590.3,0.0324
1800,795.2,0.263
2400,798.9,1.004
"""


def commands(text: str) -> list[tuple[str, str]]:
    """Split a block into commands and the output below each; a block without `$` has commands only.

    Examples
    --------
    >>> commands("$ a b\\nc\\n$ d\\n"), commands("a 'b\\nc'   # d\\ne \\\\\\n f\\n")
    ([('a b', 'c\\n'), ('d', '')], [("a 'b\\nc'   # d", ''), ('e \\\\\\n f', '')])
    """
    if text.startswith("$ ") or "\n$ " in text:
        parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
        return [_first_command(part) for part in parts]
    found = []
    rest = text
    while rest.strip():
        command, rest = _first_command(rest)
        found.append((command, ""))
    return found


def _first_command(text: str) -> tuple[str, str]:
    """Split off the first command of a block. It ends at the first line at which all quotes are closed and no
    continuation mark follows.
    """
    lines = text.splitlines(keepends=True)
    for count in range(1, len(lines) + 1):
        command = "".join(lines[:count])
        with suppress(ValueError):
            shlex.split(command, comments=True)
            if not command.rstrip("\n").endswith("\\"):
                return command.rstrip("\n"), "".join(lines[count:])
    raise ValueError(f"a command whose quotes never end: {text}")


_PLAIN = Line("")


@dataclass
class Ended:
    """A finished command with its exit status and all of its output."""

    command: str
    status: int
    output: str


@dataclass
class Session:
    """A shell in a fresh copy of the examples, with the programs of this repository on its search path. The attribute
    `here` is its current folder; `cd` changes it.
    """

    folder: Path
    ended: list[Ended] = field(default_factory=list)
    serving: list[subprocess.Popen[bytes]] = field(default_factory=list)
    held: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.ports = {address: f"127.0.0.1:{self.held.enter_context(held_port())}" for address in (ADDRESS, PROXY)}
        self.environment = {
            **os.environ,
            "PATH": f"{self._programs()}{os.pathsep}{os.environ['PATH']}",
            "TOWTANK_STATE": str(self.folder / "state"),
            "COLUMNS": "200",
            "NO_COLOR": "1",
            # Pages show the output of a terminal that displays Unicode, regardless of the locale of this test run.
            "PYTHONIOENCODING": "utf-8",
        }
        self.here = self.work = self._made("work")
        for name in ("examples", "studies"):
            # A test that runs an example leaves compiled Python files in the example's folder; these are not copied.
            shutil.copytree(ROOT / name, self.work / name, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (self.work / "examples").rglob("*.*"):
            path.write_text(self.addressed(path.read_text("utf-8")), "utf-8")

    def _made(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir()
        return path

    def _programs(self) -> Path:
        """Write start scripts for the programs of this repository into a folder; their names are those used on the
        pages.
        """
        folder = self._made("programs")
        own = shlex.quote(sys.executable)
        programs = {
            "towtank": f"{own} -m towtank",
            "content-server": f"{own} -m content_server",
            "python": own,
            "towtank-engine": shlex.quote(str(binary())),
        }
        for name, program in programs.items():
            path = folder / name
            path.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return folder

    def addressed(self, text: str) -> str:
        """Replace the ports in a text of the page by free ports of this session."""
        for address, own in self.ports.items():
            text = text.replace(address, own).replace(f">{address.partition(':')[2]}<", f">{own.partition(':')[2]}<")
        return re.sub(r"(server\.py|app\.py --port) 8080\b", rf"\1 {self.ports[ADDRESS].partition(':')[2]}", text)

    def prepare(self, text: str) -> str:
        """Create the files that a command needs, unless another command of the page creates them.

        Return the command in the form in which this session runs it.
        """
        text = re.sub(r"\bRESULTS\b", RESULTS, text)
        results = self.work / RESULTS
        if RESULTS in text and not results.exists():
            self._interrupted(results) if "--resume" in text else shutil.copytree(RESULTS_1, results)
        if NETWORK in text and not (self.work / NETWORK).exists():
            write_two_tiers(self.work / NETWORK)
        # The pages name a fixed folder, `/tmp/content`; each session uses a separate folder instead.
        text = re.sub(r"/tmp/content\b", shlex.quote(str(self.folder / "content")), text)
        if "levels.csv" in text:
            (self.work / "levels.csv").write_text(LEVELS, "utf-8")
        return self.addressed(text)

    def _interrupted(self, results: Path) -> None:
        """Run a study of two levels, then remove the second run from the results, as if the study had been
        interrupted.
        """
        changes = ("factors.users=[5, 10]", "load.stages={settle: 500 ms, steady: 2 s}")
        line = Line("", more=f"--out {shlex.quote(str(results))} --no-report --quiet", sets=changes)
        done = self.run("towtank run examples/first-study", line)
        assert (results / "runs" / "r002").exists(), done.output
        shutil.rmtree(results / "runs" / "r002")

    def run(self, command: str, line: Line) -> Ended:
        """Run a command to its end. The options in `line` shorten the run."""
        place = self.folder / "place"
        after = f"\nstatus=$?; pwd > {shlex.quote(str(place))}; exit $status"
        done = subprocess.run(
            ["bash", "-c", self._shorter(command, line) + self.prepare(command) + after],
            cwd=self.here,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        self.here = Path(os.fsdecode(place.read_bytes().rstrip(b"\n")))
        self.ended.append(Ended(command, done.returncode, done.stdout))
        return self.ended[-1]

    def _shorter(self, command: str, line: Line) -> str:
        """Return a shell function with the name of the command's program. It calls the program with the options in
        `line` added at the end.
        """
        more = self.addressed(line.more) + "".join(f" --set {shlex.quote(change)}" for change in line.sets)
        program = command.split(maxsplit=1)[0]
        return f'{program}() {{ command {program} "$@" {more}; }}\n' if more else ""

    def serve(self, command: str, line: Line = _PLAIN) -> None:
        """Start a command that runs until the end of the page, and wait until it accepts connections."""
        log = self.folder / f"serving-{len(self.serving)}"
        with log.open("wb") as stream:
            started = subprocess.Popen(
                ["bash", "-c", self._shorter(command, line) + self.prepare(command)],
                cwd=self.here,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.serving.append(started)
        deadline = time.monotonic() + WITHIN_S
        while "127.0.0.1:" not in log.read_text("utf-8"):
            assert started.poll() is None, f"{command}\n{log.read_text('utf-8')}"
            assert time.monotonic() < deadline, (
                f"{command} printed no address that it listens on\n{log.read_text('utf-8')}"
            )
            time.sleep(0.02)

    def close(self) -> None:
        """End all commands that were started in the background."""
        for started in self.serving:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGINT)
        for started in self.serving:
            try:
                started.wait(WITHIN_S)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, signal.SIGKILL)
                started.wait()
        self.held.close()

    def ended_with(self, begins: str) -> Ended | None:
        """Return the last executed command that begins with the given text."""
        return next((done for done in reversed(self.ended) if done.command.startswith(begins)), None)

    def was_disturbed(self, done: Ended) -> bool:
        """Return True if other programs on the machine are the only reason why a measurement is invalid."""
        return self.other_reasons(done) == set()

    def other_reasons(self, done: Ended) -> set[str] | None:
        """Return the reasons why a measurement is invalid, without disturbances by other programs. Return None if no
        reason is stated.
        """
        if done.command.startswith(("towtank run", "towtank report")):
            return self.doubts() - DISTURBANCES if self.doubts() else None
        if kinds := set(re.findall(r'"kind": "(\w+)",\s*"level": "invalid"', done.output)):
            return kinds - DISTURBANCES  # the output is a JSON document (option `--json`)
        if found := re.search(r"^not valid: (.*)$", done.output, re.MULTILINE):
            return {reason for reason in found[1].split("; ") if not _DISTURBED.match(reason)}
        return None

    def doubts(self, *levels: DoubtLevel) -> set[str]:
        """Return the kinds of doubts about the runs of the last study; by default those that made runs invalid."""
        folders = [path.parent for path in self.here.glob("results/*/study-summary.json")]
        if not folders:
            return set()
        newest = max(folders, key=lambda path: path.stat().st_mtime)
        summaries = [json.loads(path.read_text("utf-8")) for path in newest.glob("runs/*/summary.json")]
        return {
            reason["kind"]
            for summary in summaries
            for reason in summary["verdict"]["reasons"]
            if reason["level"] in (levels or (DoubtLevel.INVALID,))
        }
