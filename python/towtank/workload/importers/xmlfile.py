"""Reads XML into a tree of elements with their positions.

Document types and entities are refused: they could make the reader open other files or exhaust the memory, and imported
files do not need them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from towtank.errors import StudyError
from towtank.workload.importers.textfile import read_bytes

# Largest size [byte] and nesting depth [1] of an XML file. Test plans of large programs have a few megabytes.
_BYTES_AT_MOST = 100_000_000
_DEPTH_AT_MOST = 200


@dataclass
class Element:
    """XML element with its line and column, both from 1. `read` is True if the importer has used the element."""

    tag: str
    attributes: dict[str, str]
    line: int
    column: int
    text: str = ""
    children: list[Element] = field(default_factory=list)
    read: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of the element."""
        return self.line, self.column

    def walk(self) -> Iterator[Element]:
        """Yield this element and all elements below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def load(path: Path) -> Element:
    """Read an XML file.

    Raises
    ------
    StudyError
        If the file cannot be read, is not XML, or has a document type.
    """
    raw = read_bytes(path, at_most=_BYTES_AT_MOST)
    parser = expat.ParserCreate()
    root = Element("", {}, 1, 1)
    stack = [root]
    # Parts of the text of each element on the stack.
    texts: list[list[str]] = [[]]

    def here() -> tuple[int, int]:
        return parser.CurrentLineNumber, parser.CurrentColumnNumber + 1

    def start(tag: str, attributes: dict[str, str]) -> None:
        line, column = here()
        if len(stack) > _DEPTH_AT_MOST:
            raise StudyError.at(path, f"must be nested at most {_DEPTH_AT_MOST} deep", line=line, column=column)
        element = Element(tag, attributes, line, column)
        stack[-1].children.append(element)
        stack.append(element)
        texts.append([])

    def end(_: str) -> None:
        stack.pop().text = "".join(texts.pop())

    def text(data: str) -> None:
        texts[-1].append(data)

    def refuse(*_: object) -> None:
        line, column = here()
        raise StudyError.at(path, "must have no document type (<!DOCTYPE>), got one", line=line, column=column)

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        message = f"must be XML, got: {expat.ErrorString(error.code)}"
        raise StudyError.at(path, message, line=error.lineno, column=error.offset + 1) from None
    # this error is raised if Python does not support the encoding of the file
    except (ValueError, LookupError) as error:
        raise StudyError.at(path, f"must be XML, got: {error}", line=1, column=1) from None
    return root.children[0]
