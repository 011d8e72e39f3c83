"""Messages that pages show as examples exist in the code; only their values are invented."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from accounts import ACCOUNTS
from judgements import Texts
from pages import ROOT, page

# Smallest number of consecutive words that a message on a page must share with the code. A message with fewer words
# must occur completely.
LEAST = 3
# Pattern for the place between two adjacent string literals, which Python joins.
_JOINED = re.compile(r'"\s*\n\s*f?r?"')
_WORD = re.compile(r"[A-Za-z][\w'-]*")


@cache
def files() -> list[Path]:
    return [*(ROOT / "python").rglob("*.py"), *(ROOT / "crates").glob("*/src/**/*.rs")]


@cache
def code_as_written() -> str:
    """Return the source code, with texts that span several lines joined."""
    return "\n".join(_JOINED.sub("", path.read_text("utf-8")) for path in files())


def texts_of(path: Path) -> Iterator[str]:
    """Yield the texts of a source file: Python string literals, and quoted text in Rust, without the values inserted
    into them.
    """
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            yield " ".join(
                part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
    else:
        yield from re.findall(r'"((?:[^"\\]|\\.)*)"', path.read_text("utf-8"))


@cache
def code() -> str:
    """Return the source code as lower-case words, without the expressions in braces."""
    return " ".join(_WORD.findall(re.sub(r"\{[^{}]*\}", " ", code_as_written()))).lower()


def longest(line: str) -> int:
    """Return the length of the longest sequence of words of a line that also occurs in the code."""
    words = [word.lower() for word in _WORD.findall(line)]
    best = 0
    for start in range(len(words)):
        while start + best < len(words) and f" {' '.join(words[start : start + best + 1])} " in code():
            best += 1
    return best


@cache
def templates() -> list[list[str]]:
    """Return the words of each text of the code that has at least `LEAST` words; inserted values are left out."""
    texts = (text for path in files() for text in texts_of(path))
    words = [[word.lower() for word in _WORD.findall(re.sub(r"\{[^{}]*\}", " ", text))] for text in texts]
    return [found for found in words if len(found) >= LEAST]


def follows_a_template(line: str) -> bool:
    """Return True if a line contains all words of one text of the code in the same order."""
    words = [word.lower() for word in _WORD.findall(line)]
    return any(_is_in_order(template, words) for template in templates() if template[0] == words[0])


def _is_in_order(template: list[str], words: list[str]) -> bool:
    rest = iter(words)
    return all(word in rest for word in template)


def shown() -> list[Any]:
    """Return the lines of the messages shown on pages, each with its page."""
    return [
        pytest.param(line, id=f"{name}:{block.line}:{number}")
        for name, judgements in ACCOUNTS.items()
        for block, judgement in zip(page(name).blocks, judgements, strict=True)
        if isinstance(judgement, Texts)
        for number, line in enumerate(block.text.splitlines())
    ]


@pytest.mark.parametrize("line", shown())
def test_messages_are_those_of_the_code(line: str) -> None:
    assert longest(line) >= min(LEAST, len(_WORD.findall(line))) or follows_a_template(line), line


def test_another_message_is_found() -> None:
    assert longest("study.yaml: parsnips yodel when the kettle sings") < LEAST
