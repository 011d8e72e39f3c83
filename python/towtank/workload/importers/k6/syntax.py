"""Parses JavaScript with tree-sitter, and reads positions, syntax faults and literals."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from towtank.errors import Fault, StudyError
from towtank.workload.importers.textfile import read_text

# Largest size of a script. [bytes]
_BYTES_AT_MOST = 10_000_000
# Largest number of syntax faults that are reported per file; most of the later faults are consequences of the first.
# [1]
_FAULTS_AT_MOST = 10
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.|\n))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}


class Source:
    """Parsed script.

    Parameters
    ----------
    path : Path
        Path of the script.

    Raises
    ------
    StudyError
        If the file cannot be read or is not JavaScript.
    """

    def __init__(self, path: Path) -> None:
        text = read_text(path, at_most=_BYTES_AT_MOST)
        self.path = path
        self.bytes = text.encode("utf-8")
        self.lines = self.bytes.split(b"\n")
        # This reference keeps the syntax tree alive, because its nodes are valid only as long as the tree exists.
        self.tree = Parser(Language(tree_sitter_javascript.language())).parse(self.bytes)
        self.root = self.tree.root_node
        if self.root.has_error:
            faults = [self._fault(node) for node in _errors(self.root)]
            raise StudyError(faults[:_FAULTS_AT_MOST])

    def place(self, node: Node) -> tuple[int, int]:
        """Return the line and the column of a syntax node, both counted from 1. The column is in characters."""
        row, column = node.start_point
        return row + 1, len(self.lines[row][:column].decode("utf-8", "replace")) + 1

    def _fault(self, node: Node) -> Fault:
        got = f"no {node.type}" if node.is_missing else repr(text_of(node)[:40])
        return Fault(str(self.path), *self.place(node), "", f"must be JavaScript, got {got} here")


def _errors(node: Node) -> Iterator[Node]:
    """Yield the syntax nodes with errors, outermost first.

    The search is iterative, because recursion would fail for deeply nested files.
    """
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.is_error or each.is_missing:
            yield each
        elif each.has_error:
            waiting += reversed(each.children)


def text_of(node: Node | None) -> str:
    """Return the source text of a syntax node."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def throws(node: Node | None) -> bool:
    """Return True if a statement or expression of a script ends the round: `throw`, `fail()` or `exec.test.abort()`."""
    ends = node is not None and node.type == "throw_statement"
    return ends or re.match(r"(\w+\.)?(fail|test\.abort)\(", text_of(node)) is not None


def shown(node: Node) -> str:
    """Return the source text of a syntax node for notes, on one line and shortened."""
    text = " ".join(text_of(node).split())
    return text if len(text) <= 70 else f"{text[:67]}..."


def named(node: Node | None) -> list[Node]:
    """Return the named children of a syntax node, without comments."""
    return [child for child in node.named_children if child.type != "comment"] if node is not None else []


def unescaped(text: str) -> str:
    """Resolve the escapes in the text of a string or template."""

    def value(match: re.Match[str]) -> str:
        code = match.group(1) or match.group(2) or match.group(3)
        if code:
            number = int(code, 16)
            return chr(number) if number <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"
        return _ESCAPES.get(match.group(4), match.group(4))

    return _ESCAPE.sub(value, text)


def number_of(text: str) -> int | float | None:
    """Parse a JavaScript number; None if the text is not a number or too large for a float."""
    text = text.replace("_", "").lower().rstrip("n")
    try:
        if text[:2] in {"0x", "0o", "0b"}:
            return int(text, 0)
        value = float(text)
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    except (ValueError, OverflowError):
        return None


def json_of(text: str) -> object:
    """Return the value of a JSON text; None if the text is no valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


EQUAL = frozenset({"==", "==="})
ROUNDS = frozenset({"__ITER", "exec.vu.iterationInScenario", "exec.vu.iterationInInstance"})
"""Names that k6 uses for the number of the current round of a user."""


def is_first_round(comparison: Node) -> bool:
    """Return True if a comparison of the round number tests for the first round (`__ITER === 0`)."""
    left, right = (comparison.child_by_field_name(side) for side in ("left", "right"))
    sign = comparison.child_by_field_name("operator")
    if left is None or right is None or text_of(sign) not in EQUAL:
        return False
    return text_of(left) in ROUNDS and text_of(right) == "0"
