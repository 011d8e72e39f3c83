"""Cleans up after a system when the process that runs the system has ended.

The janitor is a small process that waits until a pipe is closed. The other end of the pipe is open in the process that
runs the system, and in every command by which this process changes the kernel. No kernel objects can thus be created
after the pipe is closed. The guard of each service ends the service; the janitor removes everything else.
"""

from __future__ import annotations

import os
import sys
import time

from towtank.system.hosts.cleaning import clean, processes
from towtank.system.scratch import sweep_scratch

# Longest time that the janitor waits for the guards to end the services. Databases have ten seconds to end before their
# guards kill them. [s]
_GUARDS_WITHIN_S = 20.0
_POLL_S = 0.02


def main(prefix: str) -> int:
    """Wait until the pipe is closed, then remove what the system left behind.

    Return 1 if anything could not be removed, otherwise 0.
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
