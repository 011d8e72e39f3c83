"""Runs a small test file with one of Towtank's pytest plugins, in a separate pytest process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_suite(
    folder: Path, plugin: str, text: str, *arguments: str, behind: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run tests, given as Python code, in a separate pytest process. The variable CI is unset unless `environment`
    contains it.
    """
    (folder / "conftest.py").write_text(f'pytest_plugins = ["{plugin}"]\n')
    (folder / "test_small.py").write_text(text)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_") and key != "CI"}
    inherited["PYTHONPATH"] = str(Path(__file__).parent)
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
    command = [*behind, sys.executable, "-m", "pytest", *options, *arguments, str(folder)]
    return subprocess.run(command, env=inherited | environment, capture_output=True, text=True, check=False)
