"""Checks files a second time with their typing errors corrected, so that each typing error causes only one fault.

A misspelt key hides its value, so everything that depends on the value appears to be wrong. Therefore a copy of the
file's tree, with the typing errors corrected, is checked too. Towtank reports the typing errors, and the faults of the
copy. The copy has no other use: a file with typing errors stays invalid.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from towtank.errors import Fault
from towtank.spelling import Misspelt, Typo
from towtank.yamlfile import Document, Node, where

ResultT = TypeVar("ResultT")

# Largest number of checks of a file. A correction may reveal further typing errors: inside the value of the corrected
# key, or in names that were unknown before.
ROUNDS_AT_MOST = 10

Place = tuple[str, int, int]
"""Type of a position in a file: file, line and column."""


class Corrected:
    """Trees of the checked files, with corrected typing errors."""

    def __init__(self) -> None:
        self._trees: dict[str, Node] = {}

    def tree(self, root: Node) -> Node:
        """Return the corrected tree of a file; the original tree if nothing in the file was corrected."""
        return self._trees.setdefault(root.file, root)

    def document(self, document: Document) -> Document:
        tree = self.tree(document.root)
        return document if tree is document.root else replace(document, root=tree)

    def correct(self, faults: list[Fault]) -> list[Fault]:
        """Correct typing errors in the trees, and return the faults that report the corrected errors.

        Misspelt keys of the file format are corrected first: a name may look wrong because the key that defines the
        name is misspelt.
        """
        typos = [fault for fault in faults if fault.typo is not None and fault.line]
        form = [fault for fault in typos if fault.typo is not None and fault.typo.is_form]
        return self._apply(form or _with_definitions(typos, list(self._trees.values())))

    def _apply(self, typos: list[Fault]) -> list[Fault]:
        wanted: dict[Place, list[Fault]] = defaultdict(list)
        for fault in typos:
            wanted[fault.file, fault.line, fault.column].append(fault)
        done: list[Fault] = []
        for file, tree in list(self._trees.items()):
            copy = tree.copy()
            found = list(_corrected(copy, wanted))
            if found:
                self._trees[file] = copy
                done += found
        return done


def as_meant(check: Callable[[Corrected], tuple[ResultT, list[Fault]]]) -> tuple[ResultT, list[Fault]]:
    """Check files, and then check them with their typing errors corrected. `check` checks the given trees, and returns
    a result and all faults.

    Return the result for the files as written; and, sorted, their typing errors and the faults that remain after their
    correction.
    """
    corrected = Corrected()
    result, found = check(corrected)
    typos: list[Fault] = []
    for _ in range(ROUNDS_AT_MOST):
        further = corrected.correct(found)
        if not further:
            break
        typos += further
        _, found = check(corrected)
    return result, sorted({*typos, *found})


def _corrected(root: Node, wanted: dict[Place, list[Fault]]) -> Iterator[Fault]:
    """Correct the keys and values of a tree at the positions of the faults in `wanted`; yield each corrected fault."""
    for node in root.walk():
        if isinstance(node.value, dict):
            for key, child in list(node.value.items()):
                name = key
                for fault in wanted.get((child.file, *node.keys.get(key, (0, 0))), ()):
                    new = _respelt(name, fault.typo)
                    if new != name and new not in node.value:
                        node.rename(name, new)
                        name = new
                        yield fault
        elif isinstance(node.value, str):
            for fault in wanted.get((node.file, node.line, node.column), ()):
                new = _respelt(node.value, fault.typo)
                if new != node.value:
                    node.value = new
                    yield fault


def _respelt(text: str, typo: Typo | None) -> str:
    """Return a text with the misspelt word replaced by its correction."""
    if typo is None:
        return text
    if text == typo.got:
        return typo.meant
    return _word(typo.got).sub(lambda _: typo.meant, text)


def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")


@dataclass(frozen=True)
class _Spot:
    """Position of a key or text that contains a certain word."""

    place: Place
    path: str


def _with_definitions(faults: list[Fault], trees: list[Node]) -> list[Fault]:
    """Replace the faults of several uses of a name by one fault of its definition, if the definition is misspelt."""
    by_typo: dict[tuple[str, str], set[Fault]] = defaultdict(set)
    for fault in faults:
        if fault.typo is not None:
            by_typo[_without_common_end(fault.typo.got, fault.typo.meant)].add(fault)
    found: list[Fault] = []
    for (got, meant), same in by_typo.items():
        places = {(fault.file, fault.line, fault.column) for fault in same}
        spots = {spot for tree in trees for spot in _spots(tree, meant) if spot.place not in places}
        if len(places) > 1 and len(spots) == 1:
            found.append(_of_definition(spots.pop(), got, meant, same))
        else:
            found += same
    return found


def _without_common_end(got: str, meant: str) -> tuple[str, str]:
    """Return two dotted names without their common suffix: `pages` and `pags` for `pages.id` and `pags.id`."""
    parts, others = got.split("."), meant.split(".")
    while len(parts) > 1 and len(others) > 1 and parts[-1] == others[-1]:
        parts, others = parts[:-1], others[:-1]
    return ".".join(parts), ".".join(others)


def _of_definition(spot: _Spot, got: str, meant: str, uses: Iterable[Fault]) -> Fault:
    """Return the fault of a definition that misspells a name: it defines `meant`, but all uses write `got`."""
    here = spot.place[0]
    lines = [f"line {fault.line}" + (f" of {fault.file}" if fault.file != here else "") for fault in sorted(uses)]
    used = ", ".join(dict.fromkeys(lines))
    message = f"must be the name as it is used ({used}), got {meant!r} instead, did you mean {got!r}?"
    return Fault(*spot.place, spot.path, Misspelt.of(message, Typo(meant, got)))


def _spots(root: Node, word: str) -> Iterator[_Spot]:
    """Yield the keys and texts of a tree that contain a word."""
    pattern = _word(word)
    for node in root.walk():
        if isinstance(node.value, dict):
            for key, child in node.value.items():
                if pattern.search(key):
                    yield _Spot((child.file, *node.keys[key]), where(child.path))
        elif isinstance(node.value, str) and pattern.search(node.value):
            yield _Spot((node.file, node.line, node.column), where(node.path))
