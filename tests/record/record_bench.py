from __future__ import annotations

import json
import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_line import start_towtank
from waiting import until

from towtank.record.proxy import Proxy


@dataclass
class Running:
    """A recording proxy that runs in a thread of this process."""

    proxy: Proxy
    path: Path
    reported: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return "{}:{}".format(*self.proxy.address)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def entries(self, at_least: int = 0) -> list[dict[str, Any]]:
        """Wait until the archive has at least the given number of entries, and return them. The proxy stores an
        exchange shortly after its end, so this may take a moment.
        """
        until(lambda: self.proxy.recorder.archive.count >= at_least)
        entries: list[dict[str, Any]] = json.loads(self.path.read_text())["log"]["entries"]
        return entries


@dataclass
class Bench:
    """A working folder and the commands that run in it. The commands write their temporary files to `scratch`."""

    folder: Path
    scratch: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start a command in a new session, so that signals to the test do not reach it."""
        process = start_towtank(self.folder, self.environment, *arguments)
        self.started.append(process)
        return process

    def towtank(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=240)
        return subprocess.CompletedProcess(arguments, process.returncode, out, errors)

    def start_proxy(self, *arguments: str | Path) -> tuple[subprocess.Popen[str], str]:
        """Start a recording proxy; return its process and its address."""
        process = self.start("record", "proxy", "--listen", "127.0.0.1:0", *arguments)
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"set (127\.0\.0\.1:\d+) as", line)
        assert found is not None, line + process.stderr.read()
        return process, found[1]

    def stop(self, process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
        """Stop a recording with SIGINT, as Ctrl-C does; return its status and output."""
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=240)
        return subprocess.CompletedProcess(process.args, process.returncode, out, errors)

    def left(self) -> list[str]:
        """Return the processes and temporary files that the commands left behind."""
        marker = str(self.scratch).encode()
        found = [str(path) for path in self.scratch.iterdir() if "chromium" in path.name]
        for entry in Path("/proc").iterdir():
            try:
                command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if marker in command:
                found.append(f"{entry.name} {command.replace(bytes(1), b' ').decode()[:120]}")
        return found
