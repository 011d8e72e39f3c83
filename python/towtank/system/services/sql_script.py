"""Reads SQL scripts that populate databases, and replaces placeholders in them by values."""

from __future__ import annotations

import re
from pathlib import Path

from towtank.errors import TargetError
from towtank.system.sql_models import SqlPopulation

_PLACE = re.compile(r"\$\{\s*([A-Za-z][A-Za-z0-9_-]*)\s*\}")


def filled_script(service: str, population: SqlPopulation, base: Path) -> str:
    """Return the text of a population's SQL script, in which each placeholder (name of a value) is replaced by the
    value.

    Raises
    ------
    TargetError
        If the script cannot be read, or uses a name without a value.
    """
    path = base / population.script
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise TargetError(f"{service}: the script of its population cannot be read: {error}") from error
    missing = sorted({name for name in _PLACE.findall(text) if name not in population.values})
    if missing:
        known = ", ".join(population.values) or "none"
        raise TargetError(
            f"{service}: {path} uses {', '.join(missing)}, for which the population has no value; it has {known}"
        )
    return _PLACE.sub(lambda match: str(population.values[match.group(1)]), text)
