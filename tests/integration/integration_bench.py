"""Runs tiny studies against the null server, with the real command line and the real engine."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_line import start_towtank
from tiny_study import WORKLOAD
from waiting import until

STUDY = """
schema: towtank/study/1
name: tiny
question: Does it hold?
system: system.yaml
workload: workload.yaml
order: given
factors:
  users: {users}
load:
  kind: closed
  stages: {{ramp_up: 200 ms, settle: 200 ms, steady: {steady}}}
"""
SYSTEM = """
schema: towtank/system/1
name: tiny
hosts: {{here: {{provider: local}}}}
services:
  content: {{kind: null_server, host: here, settings: {{port: {port}}}}}
start_timeout: 20 s
"""


def processes_of(marker: Path) -> list[str]:
    """Return the command lines of running processes whose environment names the given folder as their run."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes()
            if f"TOWTANK_RUN={marker}".encode() in environment:
                found.append(f"{entry.name} {(entry / 'cmdline').read_bytes().replace(bytes(1), b' ').decode()}")
        except OSError:
            continue
    return found


def engine_of(parent: int) -> int:
    """Return the process id of the load engine that the process `parent` started."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    found = [int(child) for child in children if "towtank-engine\0load" in Path(f"/proc/{child}/cmdline").read_text()]
    assert len(found) == 1
    return found[0]


@dataclass
class Bench:
    """Folder of a tiny study, in which `towtank` commands are run."""

    folder: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def study(self, *, users: list[int] | None = None, steady: str = "1 s", port: int = 0) -> Path:
        """Write the study file, the system file and the workload file of a tiny study; return the path of the study
        file.
        """
        (self.folder / "study.yaml").write_text(STUDY.format(users=users or [2, 4], steady=steady))
        (self.folder / "system.yaml").write_text(SYSTEM.format(port=port))
        (self.folder / "workload.yaml").write_text(WORKLOAD)
        return self.folder / "study.yaml"

    def towtank(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "towtank", *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start a `towtank` command in a new session of the operating system."""
        process = start_towtank(self.folder, self.environment, *arguments)
        self.started.append(process)
        return process

    def run_study(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run the tiny study and wait for its end. No report is made, because a report takes longer than the runs."""
        return self.towtank("run", "study.yaml", "--out", self.results, "--quiet", "--no-report", *arguments)

    def start_study(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start the tiny study without waiting for its end. No report is made."""
        return self.start("run", "study.yaml", "--out", self.results, "--quiet", "--no-report", *arguments)

    def manifest(self, run: str) -> dict[str, Any]:
        """Return the manifest of a run; empty if it was not written yet."""
        path = self.results / "runs" / run / "run.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def statuses(self) -> dict[str, str]:
        return {
            path.parent.name: json.loads(path.read_text())["status"]
            for path in sorted((self.results / "runs").glob("*/run.json"))
        }

    def events(self, run: str) -> list[dict[str, Any]]:
        """Return the events of a run that have been recorded so far."""
        path = self.results / "runs" / run / "events.ndjson"
        return [json.loads(line[9:]) for line in path.read_text().splitlines()] if path.exists() else []

    def await_stage(self, run: str, stage: str) -> None:
        """Wait until a run has started the given load stage."""
        until(lambda: any(event["k"] == "stage" and event["name"] == stage for event in self.events(run)), 60.0)

    def group(self, run: str, tier: str = "content") -> int:
        """Return the process id of a tier's server, which is the child process of the tier's guard process."""
        header = json.loads((self.results / "runs" / run / "observe" / "probe.ndjson").read_text().splitlines()[0][9:])
        guard = header["groups"][tier]["pid"]
        children = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
        return int(children[0])

    def strays(self) -> list[str]:
        """Return the command lines of the processes of this study that still run."""
        return processes_of(self.results)

    def await_no_strays(self) -> None:
        until(lambda: not self.strays())
