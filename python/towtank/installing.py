"""Commands that install missing Python packages into the environment of Towtank.

They name third-party packages only; a checkout installs all of them.
"""

from __future__ import annotations

import shlex
import sys

SSH_LIBRARY = "asyncssh"
"""Package for hosts of provider `ssh`."""


def pip_install(package: str) -> str:
    """Return the command that installs a package into the environment of this Python."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(package)}"
