"""The list of words: each is found in its part of a file with its place, and every allowed use stays allowed."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "words"


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("words_script", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, loader.name, module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    return module


def places(words: ModuleType, name: str, text: str) -> list[tuple[int, int, str]]:
    return [(finding.line, finding.column, finding.word) for finding in words.findings(name, text)]


PYTHON = '''"""What a module is."""

LIMIT = 3
"""How many."""


class Given:
    r"""Whether it is so, as they told."""

    def wish(self, lines: list[str]) -> str:  # this tells nothing
        """
        Who waits.
        """
        for number, one in enumerate(lines):
            print(f"{number} told {one}")
        return "".join(one for one in lines)
'''


def test_python_is_searched_in_docstrings_comments_strings_loops_and_names(words: ModuleType) -> None:
    assert places(words, "a.py", PYTHON) == [
        (1, 4, "What"),
        (4, 4, "How"),
        (7, 7, "Given"),
        (8, 9, "Whether"),
        (8, 35, "told"),
        (10, 54, "tells"),
        (12, 9, "Who"),
        (14, 21, "one"),
        (15, 30, "told"),
        (16, 32, "one"),
    ]


RUST = """//! Where it is.
//! What follows is no summary.

/// How it \'a\' goes.
pub struct Wish<\'a> { told: &\'a str }

fn course(c: char) -> &\'static str {
    // "one for one in the comment" tells
    for (at, one) in [(1, \'"\')] { drop((at, one)); }
    /* told */ match c { \'\\\'\' => r#"it is "so" told"#, _ => "\\"told {told}" }
}
"""


def test_rust_is_searched_in_doc_comments_comments_strings_loops_and_names(words: ModuleType) -> None:
    assert places(words, "src/a.rs", RUST) == [
        (1, 5, "Where"),
        (4, 5, "How"),
        (5, 12, "Wish"),
        (8, 37, "tells"),
        (9, 14, "one"),
        (10, 8, "told"),
        (10, 48, "told"),
        (10, 64, "told"),
    ]


def test_other_texts_are_prose(words: ModuleType) -> None:
    assert places(words, "docs/a.md", "# Untold\nWhat it is: Course.\nTold, and retold.\n") == [(3, 1, "Told")]
    assert places(words, "a.yaml", "key: 1  # telling\n") == [(1, 11, "telling")]
    assert places(words, "broken.py", "def f(:\n  'told\n") == [(2, 4, "told")]


@pytest.mark.parametrize("name", ["Wish", "Manner", "Happenings", "Given", "Parting", "Course"])
def test_a_name_is_found_as_an_identifier_and_not_inside_another(words: ModuleType, name: str) -> None:
    assert places(words, "a.py", f"class {name}:\n    pass\n") == [(1, 7, name)]
    assert places(words, "a.rs", f"use course::{name};\n") == [(1, 13, name)]
    assert places(words, "a.py", f"class Own{name}Of:\n    pass\n") == []


@pytest.mark.parametrize("name", ["python/towtank/conduct/happenings.py", "crates/load/src/worker/parting.rs"])
def test_a_file_has_no_such_name(words: ModuleType, name: str) -> None:
    assert places(words, name, "") == [(1, 1, Path(name).stem)]


def test_plain_words_are_allowed(words: ModuleType) -> None:
    plain = '"""Return the one that a manner of parting has given."""\n\nfor run in one:\n    run.tell(one)\n'
    assert places(words, "a.py", plain) == []
    assert places(words, "a.py", 'X = f(\n    """What is not a docstring."""\n)\n') == []
    assert places(words, "a.py", "TOLD = tell(told)\n") == []


def test_a_finding_reads_as_place_word_reason_and_substitute(words: ModuleType) -> None:
    (finding,) = words.findings("a.py", "# told\n")
    assert str(finding) == (
        "a.py:1:3: 'told': programs and measurements do not talk. "
        "Write report, state, print, record, detect or distinguish."
    )


def test_each_allowed_use_is_still_in_use(words: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    root = SCRIPT.parents[1]
    allowed = words.ALLOWED
    files = words.tracked([root / folder for folder in words.FOLDERS])
    texts = {words.relative(path): words.readable(path) or "" for path in files}

    def allows(entry: object, name: str) -> bool:
        monkeypatch.setattr(words, "ALLOWED", ())
        unwanted = words.findings(name, texts[name])
        monkeypatch.setattr(words, "ALLOWED", (entry,))
        return bool(unwanted != words.findings(name, texts[name]))

    for entry in allowed:
        assert entry.reason
        names = [name for name, text in texts.items() if fnmatch(name, entry.file) and re.search(entry.text, text)]
        assert any(allows(entry, name) for name in names), entry


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", 'VALUE = {"told": 1}["told"]\n'),
        ("docs/a.md", "The key `told`, and `cannot tell`.\n"),
        ("rules/advice.yaml", "read:\n  told: {unit: s}\nfollows_when: told\n"),
        ("a.rs", 'fn f() { panic!("{told}: {}", "told") }\n'),
        ("tests/data/old/a.json", '{"sentence": "nobody told"}\n'),
    ],
)
def test_keys_and_values_of_documents_are_allowed(words: ModuleType, name: str, text: str) -> None:
    assert places(words, name, text) == []


def test_the_same_words_in_prose_are_not_allowed(words: ModuleType) -> None:
    assert places(words, "a.md", "`told`: it told\n") == [(1, 12, "told")]
    assert places(words, "a.md", "A plan has until: told.\n") == [(1, 19, "told")]
    assert places(words, "a.md", "It cannot tell.\n") == [(1, 11, "tell")]
    assert places(words, "other.yaml", "sentence: told\n") == [(1, 11, "told")]


def test_an_allowed_use_is_not_found_and_the_rest_of_the_file_is(
    words: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "ALLOWED", (words.Allowed("docs/*.md", "wrk said: told", "quotes another program"),))
    assert places(words, "docs/a.md", "wrk said: told\nthey told, wrk said: told\n") == [(2, 6, "told")]
    assert places(words, "python/a.md", "wrk said: told\n") == [(1, 11, "told")]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


def test_the_status_says_whether_words_were_found(tmp_path: Path) -> None:
    plain, plaintive = tmp_path / "plain.py", tmp_path / "plaintive.py"
    plain.write_text('"""A module."""\n')
    plaintive.write_text('"""What a module is."""\n\nfor one in ():\n    pass\n')
    assert run(plain).returncode == 0
    assert run(plain).stdout == ""
    found = run(plain, plaintive)
    assert found.returncode == 1
    assert [line.split(": ")[0] for line in found.stdout.splitlines()] == [f"{plaintive}:1:4", f"{plaintive}:3:5"]
    assert found.stderr.startswith("2 words found.")
    missing = run(tmp_path / "missing")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.startswith(f"error: {tmp_path / 'missing'} must be")


def test_a_folder_stands_for_its_tracked_files(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "sub").mkdir()
    for name in ("sub/a.md", "untracked.md", "script", "data", "image.png"):
        (tmp_path / name).write_text("#!/bin/sh\n# told\n" if name == "script" else "told\n")
    subprocess.run(["git", "-C", tmp_path, "add", "sub", "script", "data", "image.png"], check=True)
    assert [line.split(": ")[0] for line in run(tmp_path).stdout.splitlines()] == [
        f"{tmp_path}/script:2:3",
        f"{tmp_path}/sub/a.md:1:1",
    ]
    assert len(run(tmp_path / "sub").stdout.splitlines()) == 1


def test_the_script_holds_itself_to_its_list(words: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SCRIPT.read_text("utf-8")
    monkeypatch.setattr(words, "ALLOWED", ())
    tables = (("RULES = (", "class Allowed"), ("ALLOWED = (", "TEXTS = "))
    lines = [
        line
        for start, end in tables
        for line in range(text[: text.index(start)].count("\n"), text[: text.index(end)].count("\n"))
    ]
    assert [finding for finding in words.findings("scripts/words", text) if finding.line - 1 not in lines] == []
