"""Creates temporary folders for a run, and removes temporary folders whose owner was killed."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from towtank.system.identity import has_ended, is_own_folder, own_identity

# The identity of the owner is in the folder's name, so that it is known as soon as the folder exists.
_NAME = re.compile(r"towtank-(?:system|drive)-(\d{1,10})-(\d{1,20})-(\d{1,20})-[^-]+")


def make_scratch(use: str = "system") -> Path:
    """Create a temporary folder, which any Towtank process may remove after this process has ended. Its name contains
    its purpose, `system` or `drive`.
    """
    sweep_scratch()
    pid, start, namespace = own_identity()
    return Path(tempfile.mkdtemp(prefix=f"towtank-{use}-{pid}-{start}-{namespace}-"))


def sweep_scratch() -> None:
    """Remove the temporary folders of Towtank processes that have ended."""
    for folder in Path(tempfile.gettempdir()).glob("towtank-*"):
        match = _NAME.fullmatch(folder.name)
        if match and is_own_folder(folder) and has_ended((int(match[1]), int(match[2]), int(match[3]))):
            shutil.rmtree(folder, ignore_errors=True)
