"""Reads the SQL script of a population, and replaces the references `${NAME}` in the script by values."""

from __future__ import annotations

import re
from pathlib import Path

from towtank.errors import TargetError
from towtank.system.sql_models import SqlPopulation

_PLACE = re.compile(r"\$\{\s*([A-Za-z][A-Za-z0-9_-]*)\s*\}")


def filled_script(service: str, population: SqlPopulation, base: Path) -> str:
    """Return the SQL script of a population, with each reference `${NAME}` replaced by a value of the population.

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
