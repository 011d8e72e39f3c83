"""Reads values from trees of nodes; returns a default if a value is missing or has another type."""

from __future__ import annotations

from towtank.yamlfile import Node

# Numbers of at least this size count as missing. [1]
_NUMBER_BELOW = 1e18


def text_of(node: Node | None, *path: str | int, default: str = "") -> str:
    """Return the text at a path below a node; `default` if there is no text."""
    found = child_of(node, *path)
    return found.value if found is not None and isinstance(found.value, str) else default


def number_of(node: Node | None, *path: str | int, default: float = 0.0) -> float:
    """Return the number at a path below a node; `default` if there is no finite number."""
    found = child_of(node, *path)
    value = found.value if found is not None else None
    # JSON may contain numbers that exceed the range of a float; such a number counts as missing.
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NUMBER_BELOW
    return float(value) if good and value is not None else default


def items_of(node: Node | None, *path: str | int) -> list[Node]:
    """Return the items of the list at a path below a node; an empty list if no list exists there."""
    found = child_of(node, *path)
    return found.value if found is not None and isinstance(found.value, list) else []


def entries_of(node: Node | None, *path: str | int) -> dict[str, Node]:
    """Return the entries of the mapping at a path below a node; an empty mapping if no mapping exists there."""
    found = child_of(node, *path)
    return found.value if found is not None and isinstance(found.value, dict) else {}


def child_of(node: Node | None, *path: str | int) -> Node | None:
    """Return the node at a path below a node; None if the path does not exist."""
    for part in path:
        node = node.child(part) if node is not None else None
    return node


def place_of(node: Node) -> tuple[int, int]:
    """Return the line and column of a node."""
    return node.line, node.column
