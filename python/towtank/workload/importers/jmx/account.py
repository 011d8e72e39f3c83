"""Checks that every element and every property of a JMeter test plan is converted or reported in a note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from towtank.workload.importers.accounting import Ledger
from towtank.workload.importers.draft import ImportDraft
from towtank.workload.importers.jmx.table import COMMON, ELEMENTS
from towtank.workload.importers.jmx.tree import NUMBERS, Item
from towtank.workload.importers.xmlfile import Element

# Endings of the XML tags of elements that apply to the requests in their scope. Such an element has no effect if
# its scope contains no request.
_OF_SCOPE = ("Timer", "Assertion", "Extractor", "PostProcessor")


def account(draft: ImportDraft, top: Sequence[Item], *, strict: bool) -> None:
    """Add a note for each element of a test plan that was not converted. With `strict`, a key that the importer
    overlooked raises an exception.

    The conversion of the test plan must be complete, because it marks the properties that it has read.
    """
    # For an element that `ELEMENTS` does not list, only the properties that all elements have are known.
    table = {kind: {**COMMON, **ELEMENTS.get(kind, {})} for kind in {*ELEMENTS, *_kinds(top)}}
    ledger = Ledger(draft.notes, table, strict=strict)
    for item in top:
        _item(item, draft, ledger)


def _kinds(items: Iterable[Item]) -> set[str]:
    return {kind for item in items for kind in (item.kind, *_kinds(item.below))}


def _item(item: Item, draft: ImportDraft, ledger: Ledger) -> None:
    """Check that an element and those below it are converted or noted, unless it is marked as left out."""
    if item.left_out:
        return
    element = item.element
    if item.tag.endswith(_OF_SCOPE) and element.children and not any(each.read for each in element.children):
        draft.notes.add(item.place, f"{item.tag} {item.name!r}", "has no effect, because no request is in its scope")
    else:
        _properties(item.kind, element, ledger)
    for below in item.below:
        _item(below, draft, ledger)


def _properties(kind: str, element: Element, ledger: Ledger) -> None:
    """Check that the properties of an element, and those inside their values, are converted or noted."""
    for key, value in element.attributes.items():
        ledger.settle(kind, key, value, element.place)
    for child in element.children:
        key = child.attributes.get("name") or child.tag
        if child.tag in NUMBERS:  # the name of this property is in an inner element
            key = next((each.text for each in child.children if each.tag == "name"), key)
        text = child.text.strip() or ("..." if child.children else "")
        empty = not any(each.text.strip() for each in child.walk())
        ledger.settle(kind, key, "" if empty else text, child.place, read=child.read)
        if child.read:
            _members(child, ledger)


def _members(element: Element, ledger: Ledger) -> None:
    """Check that elements inside the value of a property, such as arguments, are converted or noted."""
    inner = element.attributes.get("elementType")
    if inner:
        _properties(inner.rpartition(".")[2], element, ledger)
        return
    for child in element.children:
        if child.tag in {"elementProp", "collectionProp"}:
            _members(child, ledger)
