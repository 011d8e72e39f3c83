"""Output of commands: one JSON document or text on standard output, progress on standard error."""

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
    """Print the JSON document of a command on standard output."""
    json.dump(document, sys.stdout, indent=1, ensure_ascii=not is_unicode(sys.stdout))
    sys.stdout.write("\n")


def console(*, quiet: bool = False) -> Console:
    """Return the console for progress and notes, on standard error. It uses no colours if NO_COLOR is set, or if the
    output is not a terminal.
    """
    from rich.console import Console  # noqa: PLC0415 - heavy, and many commands print plain text

    return Console(stderr=True, quiet=quiet, highlight=False)


def printer() -> Printer:
    """Return the console for results, on standard output."""
    from towtank.terminal import Printer  # noqa: PLC0415 - heavy

    return Printer(highlight=False, soft_wrap=True)


def print_failed(parts: Parts) -> None:
    """Print, on standard error, each part of a result that could not be produced."""
    for failed in parts.failed:
        console().print(failed.sentence, markup=False, soft_wrap=True)


def failed_parts(parts: Parts) -> dict[str, Any]:
    """Return the key `failed_parts` for a JSON document; empty if no part failed."""
    return {"failed_parts": parts.documents()} if parts.failed else {}
