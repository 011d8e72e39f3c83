"""Builds the tree of a test plan. In the file, a `hashTree` after each element contains the elements below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from towtank.workload.importers.xmlfile import Element

# Types of properties that have their name and value in inner elements.
NUMBERS = frozenset({"FloatProperty", "doubleProp"})
_PROPERTIES = frozenset({"stringProp", "boolProp", "intProp", "longProp", "floatProp", "doubleProp"})


@dataclass
class Item:
    """Element of the test plan with the elements below it. It is `left_out` if a note states that it is omitted
    together with all elements below it.
    """

    element: Element
    below: list[Item] = field(default_factory=list)
    left_out: bool = False

    @property
    def tag(self) -> str:
        """XML tag of the element, without the package name of a plugin."""
        return self.element.tag.rpartition(".")[2]

    @property
    def kind(self) -> str:
        """Key of the element in the table of properties. Thread groups of plugins have the key `ThreadGroup`."""
        own = not self.tag.endswith("ThreadGroup") or self.tag == "OpenModelThreadGroup"
        return self.tag if own else "ThreadGroup"

    @property
    def name(self) -> str:
        """Name that the author gave the element; if it has none, its type."""
        return self.element.attributes.get("testname", "").strip() or self.tag

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of the element in the file."""
        return self.element.place

    @property
    def enabled(self) -> bool:
        return self.element.attributes.get("enabled", "true").strip().lower() != "false"

    def text(self, name: str, default: str = "") -> str:
        """Return a property as text, and mark the property as read."""
        return text_of(self.element, name, default)

    def peek(self, name: str) -> str:
        """Return a property as text, without marking the property as read."""
        child = _property(self.element, name)
        return child.text if child is not None else ""

    def number(self, name: str, default: str = "") -> str:
        """Return a numeric property as text. JMeter stores it as a property, or in inner elements <name> and
        <value>.
        """
        for element in self.element.children:
            fields = {child.tag: child.text for child in element.children}
            if element.tag in NUMBERS and fields.get("name") == name:
                element.read = True
                return fields.get("value", default)
        return self.text(name, default)

    def flag(self, name: str, *, default: bool = False) -> bool:
        return self.text(name, str(default)).strip().lower() == "true"

    def collection(self, name: str) -> list[Element]:
        """Return the members of a collection, which may be at any depth within the element."""
        for element in self.element.walk():
            if element.tag == "collectionProp" and element.attributes.get("name") == name:
                _mark(self.element, element)
                return element.children
        return []


def _mark(element: Element, wanted: Element) -> bool:
    """Mark an element and all elements around it as read; return True if the element was found."""
    found = element is wanted or any(_mark(child, wanted) for child in element.children)
    element.read = element.read or found
    return found


def text_of(element: Element, name: str, default: str = "") -> str:
    """Return the text of a property, and mark the property as read."""
    child = _property(element, name)
    if child is None:
        return default
    child.read = True
    return child.text


def _property(element: Element, name: str) -> Element | None:
    for child in element.children:
        if child.tag in _PROPERTIES and child.attributes.get("name") == name:
            return child
    # Older files store some properties in an element that has the name of the property, such as <refname>.
    return next((child for child in element.children if child.tag == name), None)


def inner(element: Element, name: str) -> Element | None:
    """Return an inner element by name, and mark the element as read; None if no inner element has this name."""
    for child in element.children:
        if child.tag == "elementProp" and child.attributes.get("name") == name:
            child.read = True
            return child
    return None


def items(tree: Element) -> Iterator[Item]:
    """Yield the elements of a `hashTree`, each with the elements below it."""
    last: Item | None = None
    for child in tree.children:
        if child.tag == "hashTree":
            if last is not None:
                last.below = list(items(child))
        else:
            if last is not None:
                yield last
            last = Item(child)
    if last is not None:
        yield last
