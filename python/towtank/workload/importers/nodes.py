"""Reads values out of trees of nodes, with a default where they are missing or of another kind."""

from __future__ import annotations

from towtank.yamlfile import Node

_NUMBER_BELOW = 1e18


def text_of(node: Node | None, *path: str | int, default: str = "") -> str:
    """Text at a path; the default where there is none."""
    found = child_of(node, *path)
    return found.value if found is not None and isinstance(found.value, str) else default


def number_of(node: Node | None, *path: str | int, default: float = 0.0) -> float:
    """Number at a path; the default where there is none, or one that is no quantity."""
    found = child_of(node, *path)
    value = found.value if found is not None else None
    # Numbers beyond those of a float, which JSON may have, say nothing that could be used.
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NUMBER_BELOW
    return float(value) if good and value is not None else default


def items_of(node: Node | None, *path: str | int) -> list[Node]:
    """Items of the list at a path; none where there is no list."""
    found = child_of(node, *path)
    return found.value if found is not None and isinstance(found.value, list) else []


def entries_of(node: Node | None, *path: str | int) -> dict[str, Node]:
    """Entries of the mapping at a path; none where there is no mapping."""
    found = child_of(node, *path)
    return found.value if found is not None and isinstance(found.value, dict) else {}


def child_of(node: Node | None, *path: str | int) -> Node | None:
    """Node at a path, if it is there."""
    for part in path:
        node = node.child(part) if node is not None else None
    return node


def place_of(node: Node) -> tuple[int, int]:
    """Line and column of a node."""
    return node.line, node.column
