"""Parameters: values of a workload that a study may change, put in place before the file is checked."""

from __future__ import annotations

import re
from typing import Any

from towtank.errors import Fault
from towtank.yamlfile import Node, did_you_mean, where

_PLACE = re.compile(r"(?<!\$)\$\{\s*parameters\.([A-Za-z][A-Za-z0-9_-]*)\s*\}")


def substitute(root: Node, changed: dict[str, Any]) -> tuple[Node, list[Fault]]:
    """Put the values of parameters where the file names them.

    A text that is nothing but `${parameters.NAME}` becomes the value itself, a number as a number.

    Parameters
    ----------
    root : Node
        The workload file; not changed.
    changed : dict
        Values that replace those of the file.

    Returns
    -------
    tree : Node
        The file with values in place, everything at its old place.
    faults : list of Fault
        Of names that are no parameters.
    """
    tree = root.copy()
    section = tree.child("parameters")
    declared = section.plain() if section is not None else {}
    declared = declared if isinstance(declared, dict) else {}
    values = {**declared, **{name: value for name, value in changed.items() if name in declared}}
    faults: list[Fault] = []
    for node in tree.walk():
        if isinstance(node.value, str) and node.path[:1] != ("parameters",):
            _fill(node, values, faults)
    return tree, faults


def _fill(node: Node, values: dict[str, Any], faults: list[Fault]) -> None:
    """Replace the parameters named in one text."""
    for match in _PLACE.finditer(node.value):
        name = match.group(1)
        if name not in values:
            known = ", ".join(values) or "none"
            message = (
                f"must name a parameter of this file ({known}), got {name!r} instead{did_you_mean(name, list(values))}"
            )
            faults.append(Fault(node.file, node.line, node.column, where(node.path), message))
            values = {**values, name: ""}
    whole = _PLACE.fullmatch(node.value.strip())
    if whole:
        node.value = values[whole.group(1)]
    else:
        node.value = _PLACE.sub(lambda match: str(values[match.group(1)]), node.value)
