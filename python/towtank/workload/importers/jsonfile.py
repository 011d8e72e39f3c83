"""Reads JSON (RFC 8259) into the same tree of nodes as YAML files, with a source position for every value."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from pathlib import Path
from typing import Any

from towtank.errors import StudyError
from towtank.workload.importers.textfile import read_text
from towtank.yamlfile import Node, Path_

# Largest nesting depth of a JSON file. Recordings and interface descriptions have a depth of about ten. [1]
DEPTH_AT_MOST = 200
# Largest number of values in a JSON file. This number of values needs about a gigabyte of memory. [1]
VALUES_AT_MOST = 3_000_000

_BLANKS = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
# Decoder of the standard library. It is used only for strings, because parsing strings takes most of the time.
_READER = json.JSONDecoder()
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
# Largest number of digits of an integer. Longer numbers become floats, as in most JSON readers. [1]
_DIGITS = 300


def load(path: Path) -> Node:
    """Read a JSON file.

    Raises
    ------
    StudyError
        If the file cannot be read or is not JSON; the error states the position.
    """
    return parse(read_text(path), str(path))


def parse(text: str, file: str) -> Node:
    """Parse a JSON text; `file` is its name in messages.

    Examples
    --------
    >>> node = parse('{"a": [1, {"b": 2}]}', "x.json").child("a").child(1)
    >>> node.plain(), node.line, node.column
    ({'b': 2}, 1, 11)
    """
    return _Parser(text, file).whole()


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.count = 0
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def error(self, offset: int, message: str) -> StudyError:
        line, column = self.place(offset)
        return StudyError.at(self.file, message, line=line, column=column)

    def skip(self, offset: int) -> int:
        match = _BLANKS.match(self.text, offset)
        return match.end() if match else offset

    def whole(self) -> Node:
        node, end = self.value(self.skip(0), ())
        end = self.skip(end)
        if end < len(self.text):
            raise self.error(end, f"must be JSON, got {self.text[end : end + 20]!r} after its end")
        return node

    def value(self, at: int, path: Path_) -> tuple[Node, int]:
        self.count += 1
        if len(path) > DEPTH_AT_MOST:
            raise self.error(at, f"must be nested at most {DEPTH_AT_MOST} deep")
        if self.count > VALUES_AT_MOST:
            raise self.error(at, f"must have at most {VALUES_AT_MOST} values")
        node = Node(None, path, *self.place(at), self.file)
        char = self.text[at : at + 1]
        if char == "{":
            return node, self.mapping(at, node)
        if char == "[":
            return node, self.list_(at, node)
        node.value, end = self.scalar(at, char)
        return node, end

    def scalar(self, at: int, char: str) -> tuple[Any, int]:
        if char == '"':
            return self.string(at)
        for word, value in _WORDS.items():
            if self.text.startswith(word, at):
                return value, at + len(word)
        match = _NUMBER.match(self.text, at)
        if match is None:
            got = repr(self.text[at : at + 20]) if char else "the end of the file"
            raise self.error(at, f"must be JSON, got {got} instead of a value")
        whole = not match.group(1) and not match.group(2) and len(match.group()) < _DIGITS
        return (int if whole else float)(match.group()), match.end()

    def string(self, at: int) -> tuple[str, int]:
        try:
            value, end = _READER.raw_decode(self.text, at)
            return str(value), end
        except json.JSONDecodeError as error:
            raise self.error(error.pos, f"must be JSON, got: {error.msg[0].lower()}{error.msg[1:]}") from None

    def mapping(self, at: int, node: Node) -> int:
        node.value = {}
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "}":
            at = self.separator(at) if node.value else at
            if self.text[at : at + 1] != '"':
                raise self.error(at, f"must be JSON, got {self.text[at : at + 20]!r} instead of a key")
            key, end = self.string(at)
            node.keys[key] = self.place(at)
            at = self.skip(end)
            if self.text[at : at + 1] != ":":
                raise self.error(at, f"must be JSON, got {self.text[at : at + 20]!r} instead of :")
            node.value[key], end = self.value(self.skip(at + 1), (*node.path, key))
            at = self.skip(end)
        return at + 1

    def list_(self, at: int, node: Node) -> int:
        node.value = []
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "]":
            at = self.separator(at) if node.value else at
            item, end = self.value(at, (*node.path, len(node.value)))
            node.value.append(item)
            at = self.skip(end)
        return at + 1

    def separator(self, at: int) -> int:
        if self.text[at : at + 1] != ",":
            got = repr(self.text[at : at + 20]) if at < len(self.text) else "the end of the file"
            raise self.error(at, f"must be JSON, got {got} instead of , or the end of the list")
        return self.skip(at + 1)
