"""Every fenced block of the documentation has a judgement (rule how it is tested), and every judgement has a block."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import zip_longest

import pytest
from accounts import ACCOUNTS
from judgements import Judgement, Line, Run, Shown
from pages import Block, Page, pages, parse

NAMED = {found.name: found for found in pages()}
# Minimum length of a reason, so that it is more than a single word. [characters]
_LEAST = 9


def faults_of(found: Page, judgements: tuple[Judgement, ...]) -> list[str]:
    """Return the blocks without a judgement (rule how a block is tested) and the judgements without a block."""
    faults = []
    pairs: zip_longest[tuple[Block | None, Judgement | None]] = zip_longest(found.blocks, judgements)
    for block, judgement in pairs:
        if block is None:
            faults.append(f"{found.name}: no block begins with {judgement.begins!r}: remove its judgement")  # type: ignore[union-attr]
        elif judgement is None or not block.first.startswith(judgement.begins):
            wanted = "none" if judgement is None else f"the next one begins {judgement.begins!r}"
            faults.append(f"{block}: has no judgement in tests/docs/accounts*.py ({wanted})")
            break
    return faults


@pytest.mark.parametrize("name", sorted({*NAMED, *ACCOUNTS}))
def test_every_block_has_a_judgement(name: str) -> None:
    assert name in NAMED, f"{name}: this page does not exist, so remove its judgements"
    assert faults_of(NAMED[name], ACCOUNTS.get(name, ())) == []


def test_a_block_without_judgement_is_found_with_its_line() -> None:
    text = "# A\n\n```\ntowtank list\n```\n\n```yaml\na: 1\n```\n"
    found = parse("x.md", text)
    assert faults_of(found, (Run("towtank list"),)) == [
        "x.md:7: a: 1: has no judgement in tests/docs/accounts*.py (none)"
    ]
    assert faults_of(found, (Run("towtank list"), Shown("b", because="x"))) != []
    assert faults_of(found, (Run("towtank"), Shown("a: 1", because="x"))) == []
    stale = faults_of(replace(found, blocks=found.blocks[:1]), (Run("towtank"), Shown("a: 1", because="x")))
    assert stale == ["x.md: no block begins with 'a: 1': remove its judgement"]


def lines() -> list[tuple[str, Run, Line]]:
    """Return the settings (`Line`) of all commands that are not run as shown."""
    return [
        (name, judgement, line)
        for name, judgements in ACCOUNTS.items()
        for judgement in judgements
        if isinstance(judgement, Run)
        for line in judgement.lines
    ]


def test_reasons_are_given() -> None:
    reasons = [judgement.because for of in ACCOUNTS.values() for judgement in of if isinstance(judgement, Shown)]
    reasons += [line.shown or line.planned for _, _, line in lines() if line.shown or line.planned]
    assert [reason for reason in reasons if len(reason) < _LEAST] == []


def test_paths_in_reasons_exist() -> None:
    from pages import ROOT  # noqa: PLC0415

    reasons = [judgement.because for of in ACCOUNTS.values() for judgement in of if isinstance(judgement, Shown)]
    named = [path for reason in reasons for path in re.findall(r"\btests/[\w/.]+", reason)]
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
