"""Substitutes the parameters of a workload, which are values that a study may change, before the file is checked."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from towtank.errors import Fault
from towtank.secret_names import may_be_secret_name
from towtank.spelling import Misspelt, did_you_mean, meant
from towtank.units import shown
from towtank.workload.templates import percent_encoded
from towtank.yamlfile import Node, Path_, where

_PLACE = re.compile(r"(?<!\$)\$\{\s*parameters\.([A-Za-z][A-Za-z0-9_-]*)\s*(?:\|\s*(url|json|html|none)\s*)?\}")
# Names of encodings in templates, each with its function. Without a name, a value is inserted unchanged.
_ENCODED: dict[str | None, Callable[[str], str]] = {
    None: str,
    "none": str,
    "url": percent_encoded,
    "json": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "html": html.escape,
}
# Matches a name and the parameter after it in a text: `token=${parameters.mine}`, `"password": "${parameters.mine}"`.
_NAMED = re.compile(
    r"([\w.\[\]-]+)[\"']?\s*[=:]\s*[\"']?(?:Bearer |Basic |Token )?\$\{\s*parameters\.([\w-]+)\s*(?:\|\s*\w+\s*)?\}"
)


def secret_parameters(root: Node) -> frozenset[str]:
    """Return the names of the parameters that are used as secrets in the workload file as written.

    Such a parameter is used in the value of a key such as `password`, or after such a name within a text.
    """
    return frozenset(
        name
        for node in root.walk()
        if isinstance(node.value, str) and node.path[:1] != ("parameters",)
        for name in _secrets_in(node.value, node.path)
    )


def _secrets_in(text: str, path: Path_) -> list[str]:
    if any(may_be_secret_name(str(part)) for part in path[-2:]):
        return [match.group(1) for match in _PLACE.finditer(text)]
    return [match.group(2) for match in _NAMED.finditer(text) if may_be_secret_name(match.group(1))]


@dataclass
class Substituted:
    """Workload file with its parameters substituted, and faults of unknown parameters and of invalid values.

    `places` are the source positions of values that could not be substituted; other faults at these positions are
    dropped.
    """

    tree: Node
    faults: list[Fault]
    places: set[tuple[int, int]]


def substitute(root: Node, changed: Mapping[str, object]) -> Substituted:
    """Return the tree of a workload file in which parameter values replace `${parameters.NAME}`; `changed` values
    replace those in the file.

    A text that consists only of `${parameters.NAME}` becomes the value itself, so that numbers stay numbers.
    """
    done = Substituted(root.copy(), [], set())
    section = done.tree.child("parameters")
    declared = section.plain() if section is not None else {}
    declared = declared if isinstance(declared, dict) else {}
    values = {**declared, **{name: value for name, value in changed.items() if name in declared}}
    for node in done.tree.walk():
        if isinstance(node.value, str) and node.path[:1] != ("parameters",):
            _fill(node, values, set(changed), done)
    return done


def _fill(node: Node, values: Mapping[str, object], changed: set[str], done: Substituted) -> None:
    names = [match.group(1) for match in _PLACE.finditer(node.value)]
    wrong = [name for name in names if not _is_scalar(values.get(name))]
    for name in wrong:
        done.places.add((node.line, node.column))
        # A fault in the declaration of a parameter in this file was already reported at the declaration.
        if name not in values or name in changed:
            message = _wrong(name, values)
            done.faults.append(Fault(node.file, node.line, node.column, where(node.path), message))
    if wrong:
        node.value = ""
    elif (whole := _PLACE.fullmatch(node.value.strip())) and not whole.group(2):
        node.value = values[names[0]]
    else:
        node.value = _PLACE.sub(lambda match: _ENCODED[match.group(2)](str(values[match.group(1)])), node.value)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _wrong(name: str, values: Mapping[str, object]) -> str:
    if name in values:
        return f"must get a number or text from the parameter {name!r}, got {shown(values[name])} instead"
    known = ", ".join(values) or "none"
    near = did_you_mean(name, list(values))
    message = f"must name a parameter of this file ({known}), got {name!r} instead{near}"
    return Misspelt.of(message, meant(name, values))
