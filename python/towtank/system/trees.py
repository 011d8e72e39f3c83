"""Kills, pauses or resumes process trees abruptly, as a failure would.

In contrast to a guard, these functions do not send TERM first. Before a tree is killed, SIGSTOP stops all its
processes, so that none can start further processes or react to the death of others.
"""

from __future__ import annotations

from collections.abc import Callable

from towtank.errors import TargetError
from towtank.system.hosts.host import Answer

# Shell script that sends a signal to all descendants of a process. Its arguments are the process id, and the action
# `kill`, `hold` or `go on`.
_SCRIPT = """
below() { for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do echo "$child"; below "$child"; done; }
held= ; found=$(below "$1")
[ -n "$found" ] || { echo "no process of the tree runs"; exit 1; }
if [ "$2" = "go on" ]; then kill -CONT $found 2>/dev/null; exit 0; fi
while [ "$found" != "$held" ]; do held=$found; kill -STOP $held 2>/dev/null; found=$(below "$1"); done
if [ "$2" = kill ]; then kill -KILL $held 2>/dev/null; fi
exit 0
"""
_WITHIN_S = 10.0

Execute = Callable[[list[str], float], Answer]


def signal_tree(execute: Execute, guard: int, what: str) -> None:
    """Kill, pause (`hold`) or resume (`go on`) all descendants of a guard process, but not the guard itself. `execute`
    runs a command on the guard's machine, with a time limit. [s]

    Raises
    ------
    TargetError
        If the guard has no descendants, or the command cannot be run.
    """
    answer = execute(["sh", "-c", _SCRIPT, "sh", str(guard), what], _WITHIN_S)
    if answer.status != 0:
        message = f"the processes below process {guard} cannot receive `{what}`: {answer.output.strip()}"
        raise TargetError(message)
