"""Runs shell commands under unusual conditions, such as resource limits, a full disk or a missing home folder."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from towtank.engine import binary

TOWTANK = [sys.executable, "-m", "towtank"]
RESULTS = Path(__file__).parents[1] / "data" / "results-1"
FILL = "{ dd if=/dev/zero of=disk/fill bs=4k 2>/dev/null || :; }"
"""Shell command that fills the file system mounted at `disk`."""
TINY = {
    "study.yaml": """schema: towtank/study/1
name: tiny
system: system.yaml
workload: workload.yaml
factors: {users: [2]}
load: {kind: closed, stages: {ramp_up: 100 ms, steady: 1 s}}
""",
    "system.yaml": """schema: towtank/system/1
name: tiny
services: {web: {kind: null_server, host: here}}
hosts: {here: {provider: local}}
""",
    "workload.yaml": """schema: towtank/workload/1
name: tiny
transactions: {look: [get: /]}
groups: {readers: {loop: {think: {fixed: 20 ms}, mix: {look: 100}}}}
""",
}
"""Files of a study (by file name) with one short run against Towtank's built-in null server."""


def null_server(*options: str) -> Iterator[str]:
    command = [str(binary()), "null-server", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://{process.stdout.readline().split()[-1]}/"
        process.terminate()


def sh(script: str, folder: Path, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Run a shell command line in which `$towtank` is replaced by the Towtank command.

    A variable in `environment` whose value is None is removed.
    """
    given = {**os.environ, "towtank": shlex.join(TOWTANK), "HOME": str(folder), **environment}
    variables = {key: value for key, value in given.items() if value is not None}
    return subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=variables,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=240,
    )


def on_mount(folder: Path, options: str, script: str, before: str = ":") -> subprocess.CompletedProcess[str]:
    """Run a shell command line while a small file system is mounted at `disk`; `before` prepares the file system."""
    (folder / "disk").mkdir(exist_ok=True)
    mounted = f"mount -t tmpfs -o {options} tmpfs disk && {{ {before}; }} && {{ {script}; }}; s=$?; ls -A disk; exit $s"
    return sh(f"exec unshare -m --propagation private sh -c {shlex.quote(mounted)}", folder)
