"""The modules and attributes that the architecture page names can be imported."""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from pages import page

_ROW = re.compile(r"^\| `(?P<module>towtank[\w.]*)` \| (?P<text>.*) \|$")
_NAME = re.compile(r"`@?(?P<name>[A-Za-z_][\w.]*)(?!\.)")
# Inline code on the page that is not the name of a module or attribute of Towtank.
_OTHERS = {"ValueError", "har", "claims.json"}


def rows() -> list[tuple[str, str]]:
    """Return the module and the text of each row of the page's tables."""
    found = [_ROW.match(line) for _, line in page("docs/background/architecture.md").prose]
    return [(row["module"], row["text"]) for row in found if row]


def resolved(module: ModuleType, name: str, classes: list[type]) -> Any:
    """Return the object with a dotted name in a module. If the module lacks it, return an attribute of one of
    `classes`.
    """
    found: Any = module
    for part in name.split("."):
        if isinstance(found, ModuleType) and not hasattr(found, part):
            try:
                found = import_module(f"{found.__name__}.{part}")
            except ModuleNotFoundError:
                return next((getattr(of, part) for of in classes if hasattr(of, part)), None)
        else:
            found = getattr(found, part, None)
    return found


@pytest.mark.parametrize(("module", "text"), rows(), ids=lambda value: value if value.startswith("towtank") else "")
def test_names_of_the_seams_exist(module: str, text: str) -> None:
    missing = []
    classes: list[type] = []
    for name in _NAME.findall(text):
        if name.startswith("towtank") or name.partition(".")[0] in _OTHERS or name in _OTHERS or name.endswith("..."):
            continue
        found = resolved(import_module(module), name, classes)
        if found is None:
            missing.append(name)
        elif isinstance(found, type):
            classes.append(found)
    assert missing == []


def test_there_are_seams() -> None:
    assert len(rows()) >= 20
