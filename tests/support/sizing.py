"""Runs `towtank size` in tests: writes input files, and returns the JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from towtank.cli import main

CLOSED_TIERS = """
classes:
  web: {users: 60, think: 2 s}
stations:
  app: {servers: 2, demand: 40 ms}
  db: {servers: 1, demand: 20 ms}
"""
"""Model of users with two tiers. One of its percentiles is so close to a limit that the sizing simulates the model."""


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def sized(capsys: Any, *arguments: str, status: int = 0) -> dict[str, Any]:
    """Run `towtank size`, assert its exit status, and return its JSON document."""
    found = main(["size", *arguments, "--json"])
    printed = capsys.readouterr()
    assert found == status, printed.err
    return dict(json.loads(printed.out))
