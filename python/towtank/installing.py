"""Returns the command that installs an optional Python package, for messages about a missing package."""

from __future__ import annotations

import shlex
import sys

SSH_LIBRARY = "asyncssh"
"""Python package that Towtank needs for hosts of provider `ssh`."""
PDF_LIBRARY = "typst"
"""Python package that Towtank needs for reports as PDF."""


def pip_install(package: str) -> str:
    """Return the command that installs a package into the environment of this Python interpreter."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(package)}"
