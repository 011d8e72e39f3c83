"""Lists the files that git tracks; scripts publish, count and check only these files."""

from __future__ import annotations

import subprocess
from pathlib import Path


def tracked(folder: Path, *patterns: str) -> list[Path]:
    """Return the tracked files that exist in a folder, relative to the folder and sorted.

    Parameters
    ----------
    folder : Path
        Folder of a repository; it may belong to another user.
    *patterns : str
        Git pathspecs; only files that match one of them are returned. Without patterns, all files are returned.

    Raises
    ------
    NotADirectoryError
        If the folder does not belong to a repository, or does not exist.
    """
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), "ls-files", "-z", "--", *patterns]
    listed = subprocess.run(command, capture_output=True, check=False)
    if listed.returncode != 0:
        raise NotADirectoryError(f"{folder} must be a folder of a git repository. Got none.")
    names = (Path(name) for name in listed.stdout.decode().split("\0") if name)
    return sorted(name for name in names if (folder / name).is_file())
