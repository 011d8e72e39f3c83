"""The tree of a test plan: in the file, every element is followed by a `hashTree` with what is below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from towtank.workload.importers.xmlfile import Element

_PROPERTIES = frozenset({"stringProp", "boolProp", "intProp", "longProp", "floatProp", "doubleProp"})


@dataclass
class Item:
    """An element of the plan with what is below it."""

    element: Element
    below: list[Item] = field(default_factory=list)

    @property
    def tag(self) -> str:
        """Kind of the element, without the package of a plugin."""
        return self.element.tag.rpartition(".")[2]

    @property
    def name(self) -> str:
        """The name its author gave it."""
        return self.element.attributes.get("testname", "").strip() or self.tag

    @property
    def place(self) -> tuple[int, int]:
        """Line and column."""
        return self.element.place

    @property
    def enabled(self) -> bool:
        """Whether it counts."""
        return self.element.attributes.get("enabled", "true").strip().lower() != "false"

    def text(self, name: str, default: str = "") -> str:
        """A property as text; the name may be without what stands before its dot."""
        return text_of(self.element, name, default)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A switch."""
        return self.text(name, str(default)).strip().lower() == "true"

    def collection(self, name: str) -> list[Element]:
        """Members of a collection, at any depth."""
        for element in self.element.walk():
            if element.tag == "collectionProp" and element.attributes.get("name") == name:
                return element.children
        return []


def text_of(element: Element, name: str, default: str = "") -> str:
    """Text of a property of an element; properties of elements inside it count too (loop controllers, arguments)."""
    for child in element.children:
        if child.tag in _PROPERTIES and child.attributes.get("name") == name:
            return child.text
    # Older files have some properties as elements of their own name: <refname>.
    return next((child.text for child in element.children if child.tag == name), default)


def inner(element: Element, name: str) -> Element | None:
    """An element property by its name."""
    for child in element.children:
        if child.tag == "elementProp" and child.attributes.get("name") == name:
            return child
    return None


def items(tree: Element) -> Iterator[Item]:
    """Items of a `hashTree`."""
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
