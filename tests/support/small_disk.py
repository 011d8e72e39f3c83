"""Small file systems in memory, which become full after a few writes and can be resized."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PLENTY = "64m"


@dataclass
class SmallDisk:
    path: Path

    def resize(self, size: str) -> None:
        """Change the size of the file system, in the notation of `tmpfs`. The size must not be below the size in
        use.
        """
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.path)], check=True)

    def used(self) -> int:
        reported = subprocess.run(
            ["df", "--block-size=1", "--output=used", str(self.path)], check=True, capture_output=True, text=True
        )
        return int(reported.stdout.split()[-1])


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[SmallDisk]:
    """Mount a file system of a given size at a new folder. Skip the test if the file system cannot be mounted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"needs a file system of its own, which only root can mount: {mounted.stderr.strip()}; use sudo")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
