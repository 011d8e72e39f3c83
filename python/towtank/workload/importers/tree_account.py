"""Checks that an importer handles every key in a tree of JSON or YAML nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from towtank.workload.importers.accounting import Ledger
from towtank.workload.importers.nodes import place_of
from towtank.yamlfile import Node

# Location of the inner mappings of a key: the value itself (`ONE`), each item of a list (`EACH`), or each value of a
# mapping (`VALUES`).
ONE, EACH, VALUES = "one", "each", "values"
Shape = Mapping[str, Mapping[str, tuple[str, str]]]


def account(
    node: Node, kind: str, ledger: Ledger, shape: Shape, resolve: Callable[[Node], Node | None] = lambda node: node
) -> None:
    """Check that all keys below a node of an imported file are converted or noted.

    A node to which several references lead is checked only once.

    Parameters
    ----------
    node : Node
        Root mapping of the tree.
    kind : str
        Kind of the mapping in the ledger's table.
    ledger : Ledger
        Checks each key, and adds notes.
    shape : mapping
        For each kind of mapping, its keys that contain inner mappings, each with the location and the kind of the inner
        mappings.
    resolve : callable
        Returns the node to which a reference leads.
    """
    waiting, seen = [(node, kind)], set()
    while waiting:
        found, kind = waiting.pop()
        target = resolve(found)
        if target is None or id(target) in seen or not isinstance(target.value, dict):
            continue
        seen.add(id(target))
        for key, child in target.value.items():
            ledger.settle(kind, key, _shown(child), target.keys.get(key, place_of(child)))
            how, inner = shape.get(kind, {}).get(key, ("", ""))
            inside = child.value if how else None
            if how == ONE:
                waiting.append((child, inner))
            elif how == EACH and isinstance(inside, list):
                waiting += [(each, inner) for each in inside]
            elif how == VALUES and isinstance(inside, dict):
                waiting += [(each, inner) for each in inside.values()]


def _shown(node: Node) -> str:
    """Return a value as text for notes; an empty text if the node has no value."""
    if isinstance(node.value, dict | list):
        return "..." if node.value else ""
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    return "" if node.value is None else str(node.value)
