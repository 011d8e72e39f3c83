"""Search for words to avoid by `scripts/words`: each word is found with its position, and allowed uses are not
reported.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

SCRIPT = Path(__file__).parents[2] / "scripts" / "words"
DATA = Path(__file__).parents[1] / "data" / "words"


def examples(section: str) -> list[dict[str, Any]]:
    """Return the examples in a section of examples.yaml. An example has the name and the text of a file, and the words
    to be found.
    """
    read: list[dict[str, Any]] = yaml.safe_load((DATA / "examples.yaml").read_text("utf-8"))[section]
    assert read
    return read


def found_places(example: dict[str, Any]) -> list[tuple[int, int, str]]:
    return [(line, column, word) for line, column, word in example["found"]]


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


def test_python_is_searched_in_docstrings_comments_strings_loops_and_names(words: ModuleType) -> None:
    (example,) = examples("python")
    assert places(words, "a.py", (DATA / "python.txt").read_text("utf-8")) == found_places(example)


def test_rust_is_searched_in_doc_comments_comments_strings_loops_and_names(words: ModuleType) -> None:
    (example,) = examples("rust")
    assert places(words, "src/a.rs", (DATA / "rust.txt").read_text("utf-8")) == found_places(example)


@pytest.mark.parametrize("example", examples("other texts"))
def test_other_texts_are_prose(words: ModuleType, example: dict[str, Any]) -> None:
    assert len(example["found"]) == 1
    assert places(words, example["file"], example["text"]) == found_places(example)


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
    for example in examples("names of values"):
        assert places(words, example["file"], example["text"]) == []


def test_a_finding_reads_as_place_word_reason_and_substitute(words: ModuleType) -> None:
    (example,) = examples("message")
    (finding,) = words.findings(example["file"], example["text"])
    assert str(finding) == example["message"]


def test_each_allowed_use_is_still_in_use(words: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    root = SCRIPT.parents[1]
    allowed = words.ALLOWED
    files = words.files_of([root / folder for folder in words.FOLDERS])
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


@pytest.mark.parametrize("example", examples("keys and values of documents"))
def test_keys_and_values_of_documents_are_allowed(words: ModuleType, example: dict[str, Any]) -> None:
    assert places(words, example["file"], example["text"]) == []


@pytest.mark.parametrize("example", examples("the same words in prose"))
def test_the_same_words_in_prose_are_not_allowed(words: ModuleType, example: dict[str, Any]) -> None:
    assert len(example["found"]) == 1
    assert places(words, example["file"], example["text"]) == found_places(example)


def test_an_allowed_use_is_not_found_and_the_rest_of_the_file_is(
    words: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    quoted = words.Allowed("docs/*.md", (DATA / "allowed.txt").read_text("utf-8").strip(), "quotes another program")
    monkeypatch.setattr(words, "ALLOWED", (quoted,))
    inside, outside = examples("an allowed use")
    for example in (inside, outside):
        assert len(example["found"]) == 1
        assert places(words, example["file"], example["text"]) == found_places(example)


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
    (example,) = examples("a folder")
    for name in ("sub/a.md", "untracked.md", "script", "data", "image.png"):
        (tmp_path / name).write_text(example["script" if name == "script" else "text"])
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
