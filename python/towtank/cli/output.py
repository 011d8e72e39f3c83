"""What commands print: one JSON document, or text for people; progress always on standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console


def print_json(document: dict[str, Any]) -> None:
    """Print the one JSON document of a command on standard output."""
    json.dump(document, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


def console(*, quiet: bool = False) -> Console:
    """Console for progress and notes, on standard error; honours NO_COLOR and non-terminals."""
    return Console(stderr=True, quiet=quiet, highlight=False)


def printer() -> Console:
    """Console for the answer itself, on standard output."""
    return Console(highlight=False, soft_wrap=True)
