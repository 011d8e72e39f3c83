"""Runs the command line within the test process, which saves about a second for the start of an interpreter."""

from __future__ import annotations

import io
import subprocess
from contextlib import redirect_stderr, redirect_stdout

from towtank.cli.app import run


def towtank(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `towtank` with arguments; return the exit status and the printed text.

    Signals, encodings and output streams of a real process are covered only by tests marked `waits`.
    """
    words = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(words)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())
