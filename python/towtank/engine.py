"""Where the engine is, and how its processes are started."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from towtank.errors import EngineError


def binary() -> Path:
    """Path of `towtank-engine`: `$TOWTANK_ENGINE`, beside this Python, or on the path.

    Raises
    ------
    EngineError
        If there is none.
    """
    named = os.environ.get("TOWTANK_ENGINE")
    beside = Path(sys.executable).with_name("towtank-engine")
    for candidate in (named, beside, shutil.which("towtank-engine")):
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    raise EngineError("towtank-engine is not installed", hint="run `make setup` in the checkout")


def guarded(command: list[str], *, cpus: list[int] | None = None, grace_s: float = 5.0) -> list[str]:
    """Wrap a command so that it and all its descendants end when the caller's end of standard input closes.

    Parameters
    ----------
    command : list of str
        What to run.
    cpus : list of int, optional
        CPUs that it may use; all by default.
    grace_s : float, default 5.0
        Time between TERM and KILL, for the whole tree. [s]
    """
    pin = ["--cpus", ",".join(map(str, cpus))] if cpus else []
    return [str(binary()), "guard", "--grace", str(grace_s), *pin, "--", *command]
