"""Writes the output of commands: JSON or text to standard output, progress to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from towtank.terminal import is_unicode

if TYPE_CHECKING:
    from rich.console import Console

    from towtank.containment import Parts
    from towtank.terminal import Printer


def print_json(document: Mapping[str, Any]) -> None:
    json.dump(document, sys.stdout, indent=1, ensure_ascii=not is_unicode(sys.stdout))
    sys.stdout.write("\n")


def console(*, quiet: bool = False) -> Console:
    """Return the console for progress and notes, on standard error."""
    from rich.console import Console  # noqa: PLC0415 - slow to import, and many commands print plain text

    return Console(stderr=True, quiet=quiet, highlight=False)


def printer() -> Printer:
    """Return the console for results, on standard output."""
    from towtank.terminal import Printer  # noqa: PLC0415 - slow to import

    return Printer(highlight=False, soft_wrap=True)


def print_failed(parts: Parts) -> None:
    """Print the parts of a result that could not be produced on standard error."""
    for failed in parts.failed:
        console().print(failed.sentence, markup=False, soft_wrap=True)


def failed_parts(parts: Parts) -> dict[str, object]:
    """Return the entry `failed_parts` of a JSON document as a dict; empty if no part failed."""
    return {"failed_parts": parts.documents()} if parts.failed else {}
