"""Manages data that remain after a run: populations, and the states of systems that run without a study."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towtank.results import write_json
from towtank.system.identity import identity

STATE_SCHEMA = "towtank/system-state/1"
_HASH_DIGITS = 10


def state_root() -> Path:
    """Return the state folder, which is `$TOWTANK_STATE`, or else `.towtank` in the current folder."""
    return Path(os.environ.get("TOWTANK_STATE") or ".towtank").absolute()


def data_folder(name: str, population: object) -> Path:
    """Return the folder for the population of a system, which depends on the system's name and population settings."""
    text = json.dumps(population, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]
    return state_root() / "systems" / f"{name}-{digest}"


def up_folder(root: Path | None = None) -> Path:
    return (root or state_root()) / "up"


@dataclass(frozen=True)
class SystemState:
    """State file of a system that runs without a study."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    def read(self) -> dict[str, object]:
        """Return the content of the state file; empty if the file does not exist or cannot be read."""
        with suppress(OSError, ValueError):
            document = json.loads(self.path.read_text("utf-8"))
            if isinstance(document, dict):
                return document
        return {}

    def write(self, **fields: Any) -> None:
        """Set fields of the state file in one atomic write; other fields are kept."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Only the owner can read the file, because it contains logins that later commands need.
        write_json(self.path, {"schema": STATE_SCHEMA, "name": self.name, **self.read(), **fields}, private=True)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def system_states(root: Path | None = None) -> list[SystemState]:
    """Return the state files of the current user, sorted by name.

    Files of other users are ignored, because Towtank ends the processes that a state file names, perhaps as root.
    """
    found = sorted(up_folder(root).glob("*.json"))
    return [SystemState(path) for path in found if path.lstat().st_uid == os.geteuid()]


def remember(pid: int) -> dict[str, int]:
    """Return id and start time of a process, which identify it even if the kernel reuses the id."""
    found = identity(pid)
    return {"pid": pid, "start_ticks": found[1] if found else 0}


def living(process: object) -> int | None:
    """Return the id of a recorded process; None if it has ended or another process has reused its id."""
    match process:
        case {"pid": int(pid), "start_ticks": int(ticks)} if identity(pid) == (pid, ticks):
            return pid
    return None
