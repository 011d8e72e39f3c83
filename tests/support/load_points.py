"""Load points of a study with other values."""

from __future__ import annotations

from typing import Any

from towtank.analysis import LoadPoint


def changed(point: LoadPoint, **values: Any) -> LoadPoint:
    """Return a load point with some values replaced, which are given as in a study summary."""
    read = LoadPoint.model_validate(values)
    return point.model_copy(update={name: getattr(read, name) for name in values})
