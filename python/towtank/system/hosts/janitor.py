"""Cleans up after a system when the process that runs the system has ended.

The janitor is a small process that waits until a pipe is closed. The process that runs the system keeps the pipe open,
as does every command by which this process changes the kernel. After the pipe is closed, no kernel objects can thus be
created any more. The guard process of each service ends the service, and the janitor removes everything else.
"""

from __future__ import annotations

import os
import sys
import time

from towtank.system.hosts.cleaning import clean, processes
from towtank.system.scratch import sweep_scratch

# Longest wait for the end of all services. Databases have ten seconds to end before their guard processes kill them.
# [s]
_GUARDS_WITHIN_S = 20.0
_POLL_S = 0.02


def main(prefix: str) -> int:
    """Wait until standard input is closed, then remove what the system left behind.

    Return the exit status: 0 if everything was removed, otherwise 1.
    """
    while os.read(0, 4096):
        pass
    deadline = time.monotonic() + _GUARDS_WITHIN_S
    while processes(prefix) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    left = clean(prefix)
    sweep_scratch()
    for line in left:
        print(f"{prefix}: {line} could not be removed", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
