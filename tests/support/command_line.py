"""Starts the command `towtank` in a separate process, as a user does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def start_towtank(folder: Path, environment: dict[str, str], *arguments: str | Path) -> subprocess.Popen[str]:
    """Start a `towtank` command in the given folder, in a new session of the operating system."""
    return subprocess.Popen(
        [sys.executable, "-m", "towtank", *map(str, arguments)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
