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
# Comments of Rust, characters, which may be a quotation mark, and texts.
_RUST_TOKENS = re.compile(r"""//[^\n]*|'(?:[^'\\]|\\.)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_WORD = re.compile(r"[A-Za-z][\w'-]*")


@cache
def files() -> list[Path]:
    return [*(ROOT / "python").rglob("*.py"), *(ROOT / "crates").glob("*/src/**/*.rs")]


def texts_of(source: str, suffix: str) -> Iterator[str]:
    """Yield the texts of a source file: Python string literals, and quoted text in Rust, without the values inserted
    into them. Comments and docstrings are no texts.
    """
    if suffix == ".py":
        tree = ast.parse(source)
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) not in docstrings:
                parts = node.values if isinstance(node, ast.JoinedStr) else [node]
                yield " ".join(
                    part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )
    else:
        # A backslash at the end of a line of Rust removes the line break and the blanks after it.
        yield from (re.sub(r"\\\n\s*", "", found[1]) for found in _RUST_TOKENS.finditer(source) if found[1])


@cache
def texts() -> list[list[str]]:
    """Return the lower-case words of each text of the code, without the values inserted into it."""
    found = (text for path in files() for text in texts_of(path.read_text("utf-8"), path.suffix))
    words = ([word.lower() for word in _WORD.findall(re.sub(r"\{[^{}]*\}", " ", text))] for text in found)
    return [each for each in words if each]


@cache
def code() -> str:
    """Return the words of all texts of the code, with a mark between the texts."""
    return " | ".join(" ".join(words) for words in texts())


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
    """Return the words of each text of the code that has at least `LEAST` words."""
    return [words for words in texts() if len(words) >= LEAST]


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


PYTHON = """# Three kettles sing.
def say(number):
    "Three docstrings yodel."
    return f"{number} parsnips " "sing" if number else "no parsnips"
"""
RUST = """// Three "kettles" sing.
let mark = '"'; // "Yodel."
let says = "three \\
    parsnips {number}";
"""


@pytest.mark.parametrize(
    ("source", "suffix", "expected"),
    [(PYTHON, ".py", ["parsnips sing", "no parsnips"]), (RUST, ".rs", ["three parsnips {number}"])],
)
def test_comments_and_docstrings_are_no_texts(source: str, suffix: str, expected: list[str]) -> None:
    assert {text.strip() for text in texts_of(source, suffix)} - {""} >= {*expected}
    found = " ".join(texts_of(source, suffix)).lower()
    assert not {"kettles", "docstrings", "yodel"} & set(_WORD.findall(found))
