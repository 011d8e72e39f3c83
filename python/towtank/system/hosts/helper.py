"""Starts helper programs of a host, waits until they are ready, and ends them.

A helper program prints `ready` when it is ready, and ends when its standard input closes. Its standard input is a pipe
that only the process that started the helper holds open.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress

# Time limit for the start of a helper. The start normally takes 0.1 s, but a defective disk or a lock in the kernel may
# block it for ever. [s]
_READY_WITHIN_S = 30.0
_END_WITHIN_S = 5.0
# Largest numbers of bytes that are read at once from the standard output of a helper, which is one word, and from its
# standard error, which fits into the buffer of a pipe. [byte]
_PIECE = 64
_COMPLAINT_AT_MOST = 65536


def start_helper(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a helper program in a new session, with pipes as standard input, output and error."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


def await_ready(helper: subprocess.Popen[bytes], within_s: float = _READY_WITHIN_S) -> str | None:
    """Wait until a helper program is ready, within a time [s]. Return None if it is ready, otherwise its error message,
    which may be empty.
    """
    assert helper.stdout is not None
    deadline = time.monotonic() + within_s
    said = b""
    while b"\n" not in said:
        if not select.select([helper.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return f"{_complaint(helper)} (not ready within {within_s:g} s)".lstrip()
        piece = os.read(helper.stdout.fileno(), _PIECE)
        if not piece:
            break
        said += piece
    return None if said == b"ready\n" else _complaint(helper)


def _complaint(helper: subprocess.Popen[bytes]) -> str:
    """Return the text that a helper has written to standard error so far.

    The function does not wait for more text, because children of the helper may keep the pipe open.
    """
    assert helper.stderr is not None
    os.set_blocking(helper.stderr.fileno(), False)
    try:
        said = os.read(helper.stderr.fileno(), _COMPLAINT_AT_MOST)
    except BlockingIOError:
        return ""
    return said.decode("utf-8", "replace").strip()


def end_helper(helper: subprocess.Popen[bytes]) -> None:
    """End a helper by closing its pipes; kill it if it does not end. The wait is limited, in case the kernel blocks
    it.
    """
    for pipe in (helper.stdin, helper.stdout, helper.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    with suppress(subprocess.TimeoutExpired):
        helper.wait(_END_WITHIN_S)
        return
    with suppress(ProcessLookupError):
        os.killpg(helper.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        helper.wait(_END_WITHIN_S)
