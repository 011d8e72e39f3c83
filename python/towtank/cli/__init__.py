"""Command line. Each command has a module, which parses options, calls a function and prints the result."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress

from towtank.version import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run `towtank` with the given arguments, or with those of this process, and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # `--version` is handled before the slow imports, which it does not need.
    if arguments == ["--version"]:
        print(f"towtank {__version__}")
        return 0
    from towtank.cli.app import run  # noqa: PLC0415
    from towtank.terminal import any_output  # noqa: PLC0415

    # Imports make many objects that stay, so most collections of garbage find nothing: fewer save 6 % of `validate`.
    gc.set_threshold(50_000)
    with any_output() as output:
        status = run(arguments)
    return _written(status, output.lost)


def _written(status: int, lost: OSError | None) -> int:
    """Return the exit status of a command; if its output could not be written, print the reason and replace status 0 by
    1.
    """
    if lost is None:
        return status
    with suppress(OSError, UnicodeError):
        print(f"the output could not be written: {lost.strerror}", file=sys.stderr)
    return status or 1
