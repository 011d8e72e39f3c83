"""The mark of a run on all processes that are started for it, so that strays can be found and named.

The mark stands in the environment of the processes, not in that of this one, which may be the process of somebody who
uses Towtank as a library.
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
    """Mark all processes that are started within this context as those of the run with this folder."""
    _marks.append(str(path))
    try:
        yield
    finally:
        _marks.remove(str(path))


def environment() -> dict[str, str]:
    """Return the environment of this process, with the mark of the current run."""
    return {**os.environ, **({MARKER: _marks[-1]} if _marks else {})}
