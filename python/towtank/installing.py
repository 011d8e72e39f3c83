"""Commands by which people install what Python lacks: into the environment that Towtank runs in, by exact names.

Only packages that are well known to their registry are named; a checkout has all of them.
"""

from __future__ import annotations

import shlex
import sys

SSH_LIBRARY = "asyncssh"
"""Speaks with hosts of provider `ssh`."""


def pip_install(package: str) -> str:
    """Command that installs a package into the environment of this Python."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(package)}"
