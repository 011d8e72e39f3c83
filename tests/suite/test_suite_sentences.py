"""The check of sentences: long ones are found with their line, and blocks that hold no sentences are left out."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "sentences"
LONG = " ".join(["word"] * 36)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("sentences_script", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, loader.name, module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    return module


def places(script: ModuleType, text: str) -> list[tuple[int, int]]:
    return [(line, words) for line, words, _ in script.long_sentences(text)]


def test_a_long_sentence_is_found_with_its_line_and_length(script: ModuleType) -> None:
    assert places(script, f"# A page\n\nShort. And\nshort.\n{LONG}.\n") == [(5, 36)]
    assert places(script, f"{LONG[5:]}.\n") == [], "35 words are allowed"
    assert places(script, f"Short, and {LONG[10:]}. Then {LONG}!\n") == [(1, 36), (1, 37)]


def test_an_item_of_a_list_ends_the_sentence_before_it(script: ModuleType) -> None:
    half = " ".join(["word"] * 20)
    assert places(script, f"{half}\n{half}\n") == [(1, 40)]
    assert places(script, f"- {half}\n- {half}\n\n1. {half}\n2. {half}\n") == []


@pytest.mark.parametrize(
    "text",
    [f"```\n{LONG}\n```\n", f"<!-- {LONG} -->\n", f"| {LONG} | x |\n", f"## {LONG}\n", f"A `{LONG}` is one word.\n"],
)
def test_blocks_and_code_hold_no_sentences(script: ModuleType, text: str) -> None:
    assert places(script, text) == []


def test_a_link_counts_by_its_text(script: ModuleType) -> None:
    assert places(script, f"A [page](docs/{LONG.replace(' ', '/')}.md) and {LONG[25:]}.\n") == []


def test_the_exit_status_depends_on_the_allowed_count(
    script: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(f"{LONG}.\n", "utf-8")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "pages", lambda _: [tmp_path / "a.md"])
    assert script.main([]) == 1
    assert script.main(["--count", "1"]) == 0
    assert script.main(["--words", "36"]) == 0
    assert capsys.readouterr().out == f"a.md:1: 36 words: {LONG}.\n" * 2
