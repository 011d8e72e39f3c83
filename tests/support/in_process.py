"""The command line in this process: without the start of an interpreter, which takes a second."""

from __future__ import annotations

import io
import subprocess
from contextlib import redirect_stderr, redirect_stdout

from towtank.cli.app import run


def towtank(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `towtank` with arguments; return its exit status and what it printed.

    Streams and exit status at the border of a process, signals and encodings are the subject of tests that wait.
    """
    words = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(words)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())
