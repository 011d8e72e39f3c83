"""Marks all processes of a run by an environment variable, so that processes left over after the run can be found.

`os.environ` stays unchanged, because this process may be a program that uses Towtank as a library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARKER = "TOWTANK_RUN"
_marks: list[str] = []


@contextmanager
def marked(path: Path) -> Iterator[None]:
    """Mark all processes that start inside this context as processes of the run with the given folder."""
    _marks.append(str(path))
    try:
        yield
    finally:
        _marks.remove(str(path))


def environment() -> dict[str, str]:
    """Return the environment of this process, extended by the variable that marks the current run."""
    return {**os.environ, **({MARKER: _marks[-1]} if _marks else {})}
