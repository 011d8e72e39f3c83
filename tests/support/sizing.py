"""`towtank size` within a test: writes its files, and reads the JSON document of its answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from towtank.cli import main


def written(folder: Path, name: str, text: str) -> str:
    """Write a file and return its path as text."""
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def sized(capsys: Any, *arguments: str, status: int = 0) -> dict[str, Any]:
    """Return the document of `towtank size`, after a check of its exit status."""
    found = main(["size", *arguments, "--json"])
    printed = capsys.readouterr()
    assert found == status, printed.err
    return dict(json.loads(printed.out))
