"""Reads YAML files with the position of every key and value.

The files follow the core schema of YAML 1.2, in which `yes` and `on` are text, and `017` is 17. Nesting, aliases and
size are checked while the parser's events are read, before objects are built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from towtank.errors import Fault, StudyError

# Limits for the size, the number of values and the nesting of a file. A study with its workload has a few hundred
# values, so the limits allow even generated files, but exclude YAML bombs.
BYTES_AT_MOST = 10_000_000
VALUES_AT_MOST = 200_000
DEPTH_AT_MOST = 50

Path_ = tuple[str | int, ...]

# Messages of the parser after an unquoted `>` or `|` that does not begin a block of text.
_BLOCK_ERRORS = ("expected chomping or indentation indicators", "expected a comment or a line break")
_INTEGER = re.compile(r"[-+]?[0-9]{1,30}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
# Pattern for lone surrogates, which an escape in a text can produce. They cannot be encoded in UTF-8.
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass
class Node:
    """Value of a file (a scalar, a list of nodes, or a mapping of keys to nodes) with its line and column, counted from
    1.

    `keys` has the line and column of each key of a mapping. The parent node may be from another file, because presets
    and factors insert values from one file into the tree of another.
    """

    value: Any
    path: Path_
    line: int
    column: int
    file: str = ""
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)

    def plain(self) -> Any:
        """Return the value as plain Python data."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def copy(self) -> Node:
        """Return a copy of the tree below this node; the copy may be changed."""
        value = self.value
        if isinstance(value, dict):
            value = {key: child.copy() for key, child in value.items()}
        elif isinstance(value, list):
            value = [child.copy() for child in value]
        return Node(value, self.path, self.line, self.column, self.file, dict(self.keys))

    def rename(self, key: str, new: str) -> None:
        """Rename a key of a mapping; the order and the positions of the keys stay unchanged."""
        self.value = {new if name == key else name: child for name, child in self.value.items()}
        self.keys = {new if name == key else name: place for name, place in self.keys.items()}
        depth = len(self.path)
        for node in self.value[new].walk():
            if len(node.path) > depth and node.path[depth] == key:
                node.path = (*node.path[:depth], new, *node.path[depth + 1 :])

    def child(self, key: str | int) -> Node | None:
        """Return the child node under a key or index; None if it does not exist."""
        if isinstance(self.value, dict):
            return self.value.get(key)
        if isinstance(self.value, list) and isinstance(key, int) and 0 <= key < len(self.value):
            child: Node = self.value[key]
            return child
        return None

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it."""
        yield self
        children = self.value.values() if isinstance(self.value, dict) else self.value
        if isinstance(self.value, dict | list):
            for child in children:
                yield from child.walk()


@dataclass
class Document:
    """YAML file as read: its tree of values and its text."""

    name: str
    path: Path
    root: Node
    text: str

    @property
    def data(self) -> Any:
        """Content of the file as plain Python data."""
        return self.root.plain()

    def node(self, path: Path_) -> Node:
        """Return the node at a path; if no such node exists, return the deepest existing node on the path."""
        return find(self.root, path)[0]

    def fault(self, path: Path_, message: str, *, key: bool = False) -> Fault:
        """Return a fault at the position of a value, or of its key."""
        return fault_at(self.root, path, message, key=key)


def find(root: Node, path: Path_) -> tuple[Node, Node | None]:
    """Return the deepest existing node on a path, and its parent.

    Elements of the path that match no node are skipped, because pydantic adds the names of union branches to paths.
    """
    node, parent = root, None
    for part in path:
        child = node.child(part)
        if child is not None:
            node, parent = child, node
    return node, parent


def fault_at(root: Node, path: Path_, message: str, *, key: bool = False) -> Fault:
    """Return a fault at the position of the value on a path, or of its key."""
    node, parent = find(root, path)
    line, column = node.line, node.column
    key = key or path[-1:] == ("[key]",)
    if key and parent is not None and isinstance(parent.value, dict):
        line, column = parent.keys.get(_key_of(node, parent.value), (line, column))
    return Fault(node.file, line, column, where(node.path), message)


def _key_of(node: Node, children: dict[Any, Node]) -> Any:
    """Return the key under which a mapping contains a node.

    This is usually the last element of the node's path. For a node that was moved to another path, the mapping is
    searched.
    """
    own = node.path[-1] if node.path else None
    return own if children.get(own) is node else next(name for name, child in children.items() if child is node)


def put(root: Node, path: Path_, value: Node, place: tuple[int, int]) -> None:
    """Set the value at a path of keys; missing mappings are created, and new keys get the position `place`."""
    node = root
    for part in path[:-1]:
        child = node.child(part)
        if child is None or not isinstance(child.value, dict):
            child = Node({}, value.path, *place, value.file)
            node.value[str(part)], node.keys[str(part)] = child, place
        node = child
    node.value[str(path[-1])], node.keys[str(path[-1])] = value.copy(), place


def parse_value(text: str, name: str, key: str = "") -> Node:
    """Read one value from the command line; its nodes have line and column 0. Messages contain the name of its source,
    such as `<command line>`, and the path of the key that gets the value.
    """
    builder = _Builder(name)
    try:
        root = builder.build(text)
    except StudyError as error:
        # The position within the value means little on a command line, so the fault names the key that gets the value.
        faults = [replace(fault, line=0, column=0, where=key or fault.where) for fault in error.faults]
        raise StudyError(faults) from None
    if builder.faults:
        raise StudyError(builder.faults)
    for node in root.walk():
        node.line = node.column = 0
    return root


def where(path: Path_) -> str:
    """Render a path as text: `groups.editors.once[2]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def load(path: Path | str) -> Document:
    """Read a YAML file; messages contain its path unchanged.

    Raises
    ------
    StudyError
        With one fault if the file cannot be read or is not YAML, or with a fault for each repeated key.
    """
    name = str(path)
    return read(_read_text(Path(path), name), name)


def read(text: str, name: str) -> Document:
    """Read the text of a YAML file; faults are raised as by `load`."""
    builder = _Builder(name)
    root = builder.build(text)
    if builder.faults:
        raise StudyError(builder.faults)
    return Document(name, Path(name), root, text)


def _read_text(path: Path, name: str) -> str:
    """Read the text of a file; if this fails, the error states the reason in a sentence."""
    try:
        if path.is_dir():
            raise StudyError.at(name, "must be a file, got a folder instead")
        if path.exists() and not path.is_file():
            raise StudyError.at(name, "must be a regular file")
        with path.open("rb") as stream:
            raw = stream.read(BYTES_AT_MOST + 1)
    except FileNotFoundError:
        raise StudyError.at(name, "must be a file that exists, got none of that name") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StudyError.at(name, f"must be a file that can be read, got: {reason}") from None
    if len(raw) > BYTES_AT_MOST:
        raise StudyError.at(name, f"must be at most {BYTES_AT_MOST // 10**6} MB long, got more instead")
    return decoded(raw, name)


def decoded(raw: bytes, name: str | Path) -> str:
    """Decode the bytes of a file as UTF-8, with or without a byte order mark.

    Raises
    ------
    StudyError
        With the position of the first byte that is not valid UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"must be UTF-8 text, got the byte 0x{raw[error.start]:02x} instead"
        raise StudyError.at(name, message, line=line, column=column) from None


class _Builder:
    """Builds nodes from the events of a YAML parser, within limits of size, nesting and aliases."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[Fault] = []
        self.count = 0
        self.anchors: dict[str, Node | None] = {}

    def build(self, text: str) -> Node:
        events = self._events(text)
        root: Node | None = None
        for event in events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise self._error(event, "must be one YAML document, got a second one")
                root = self._node(next(events), events, (), 0)
        if root is None or (root.value is None):
            raise StudyError.at(self.name, "must not be empty", line=1, column=1)
        return root

    def _events(self, text: str) -> Iterator[Event]:
        """Yield the events of the YAML parser; an error of the parser becomes a `StudyError` with its position."""
        yaml = YAML(typ="safe", pure=True)
        try:
            yield from yaml.parse(text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            problem = " ".join((error.problem or error.context or "text that cannot be parsed").split())
            if problem.startswith(_BLOCK_ERRORS) and re.search(r":\s+[>|]", text.splitlines()[line - 1]):
                problem = 'a value that begins with `>` or `|` without quotes; put it in quotes, such as "> 2"'
            raise StudyError.at(self.name, f"must be YAML, got: {problem}", line=line, column=column) from None
        except (YAMLError, ValueError, RecursionError) as error:
            line, column = _place_of_bad_character(error, text)
            problem = str(error).strip().splitlines()[0] if str(error).strip() else "text that cannot be parsed"
            raise StudyError.at(self.name, f"must be YAML, got: {problem}", line=line, column=column) from None

    def _error(self, event: Event, message: str) -> StudyError:
        mark = event.start_mark
        return StudyError.at(self.name, message, line=mark.line + 1, column=mark.column + 1)

    def _make(self, event: Event, value: Any, path: Path_) -> Node:
        self.count += 1
        if self.count > VALUES_AT_MOST:
            raise self._error(event, f"must have at most {VALUES_AT_MOST} values with aliases written out")
        return Node(value, path, event.start_mark.line + 1, event.start_mark.column + 1, self.name)

    def _node(self, event: Event, events: Iterator[Event], path: Path_, depth: int) -> Node:
        if depth > DEPTH_AT_MOST:
            raise self._error(event, f"must be nested at most {DEPTH_AT_MOST} deep")
        if isinstance(event, AliasEvent):
            return self._alias(event, path, depth)
        anchor = event.anchor if isinstance(event, NodeEvent) else None
        if anchor is not None:
            self.anchors[anchor] = (
                # The value is still incomplete. None makes `_alias` refuse an alias to it from within the value, which
                # would nest without end.
                None
            )
        if isinstance(event, ScalarEvent):
            node = self._make(event, self._scalar(event), path)
        elif isinstance(event, SequenceStartEvent):
            node = self._make(event, [], path)
            while not isinstance(item := next(events), SequenceEndEvent):
                node.value.append(self._node(item, events, (*path, len(node.value)), depth + 1))
        elif isinstance(event, MappingStartEvent):
            node = self._make(event, {}, path)
            while not isinstance(item := next(events), MappingEndEvent):
                self._entry(item, events, node, depth)
        else:
            raise self._error(event, "must be YAML")
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def _entry(self, event: Event, events: Iterator[Event], mapping: Node, depth: int) -> None:
        """Add one key and its value to a mapping."""
        if not isinstance(event, ScalarEvent):
            raise self._error(event, "must have text as key, got a list, a mapping or an alias instead")
        key = self._text(event)
        place = (event.start_mark.line + 1, event.start_mark.column + 1)
        node = self._node(next(events), events, (*mapping.path, key), depth + 1)
        if key in mapping.value:
            message = f"must not be given twice, first in line {mapping.keys[key][0]}"
            self.faults.append(Fault(self.name, *place, where(node.path), message))
            return
        mapping.value[key] = node
        mapping.keys[key] = place

    def _alias(self, event: AliasEvent, path: Path_, depth: int) -> Node:
        target = self.anchors.get(event.anchor, "unknown")
        if isinstance(target, str):
            raise self._error(event, f"must be the alias of an anchor given before, got *{event.anchor}")
        if target is None:
            raise self._error(event, f"must not contain itself, got *{event.anchor} inside &{event.anchor}")
        return self._expand(event, target, path, depth)

    def _expand(self, event: Event, target: Node, path: Path_, depth: int) -> Node:
        """Copy the value that an alias refers to.

        Each copy counts towards the limits of size and nesting, so that a YAML bomb is refused."""
        if depth > DEPTH_AT_MOST:
            raise self._error(event, f"must be nested at most {DEPTH_AT_MOST} deep with aliases written out")
        node = self._make(event, target.value, path)
        node.line, node.column, node.keys = target.line, target.column, target.keys
        if isinstance(target.value, dict):
            node.value = {
                key: self._expand(event, child, (*path, key), depth + 1) for key, child in target.value.items()
            }
        elif isinstance(target.value, list):
            node.value = [self._expand(event, child, (*path, i), depth + 1) for i, child in enumerate(target.value)]
        return node

    def _text(self, event: ScalarEvent) -> str:
        """Return the text of a scalar; a lone surrogate, which UTF-8 cannot encode, is reported as a fault."""
        text: str = event.value
        found = _SURROGATE.search(text)
        if found is not None:
            mark, code = event.start_mark, f"\\u{ord(found.group()):04x}"
            message = f"must be text of whole characters, got {code} instead"
            self.faults.append(Fault(self.name, mark.line + 1, mark.column + 1, "", message))
        return _SURROGATE.sub("?", text)

    def _scalar(self, event: ScalarEvent) -> Any:
        """Convert a scalar to a Python value by the core schema of YAML 1.2."""
        tag, text = str(event.tag or ""), self._text(event)
        if tag in {"!", "tag:yaml.org,2002:str"}:
            return text
        if tag:
            raise self._error(event, f"must have no tag, got {tag} instead")
        if event.style is not None:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            number = float(text)
            return number if abs(number) != float("inf") else text
        return text


def _place_of_bad_character(error: Exception, text: str) -> tuple[int, int]:
    position = getattr(error, "position", None)
    if not isinstance(position, int):
        return 1, 1
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def merge(base: Node, over: Node) -> Node:
    """Merge a tree of values into another tree.

    Mappings are merged by key, null removes a key, and any other value replaces the old value. This is JSON Merge
    Patch (RFC 7396) with one exception: a null without a key to remove is kept, so that a later check reports the
    missing value."""
    if not (isinstance(base.value, dict) and isinstance(over.value, dict)):
        return over.copy()
    merged = base.copy()
    for key, child in over.value.items():
        existing = merged.value.get(key)
        if existing is not None and child.value is None:
            del merged.value[key], merged.keys[key]
            continue
        merged.value[key] = merge(existing, child) if existing is not None else child.copy()
        merged.keys[key] = over.keys[key]
    return merged
