"""Counts of unwanted patterns by `scripts/ratchet`. A count that differs from its ceiling is a fault."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "ratchet"
LONG = "def long():\n" + "    pass\n" * 60
SOURCE = (
    '''
from towtank.model import Model
from towtank.model.fitting import fit
from towtank.sizing.inner import other


def read(values: dict[str, Any]) -> Literal["a"]:
    """What a file says."""
    return values["key"] + values.get("other", 1) + values.get(name) + values[0]


'''
    + 'for one in values:\n    print("told")\n'
)


@pytest.fixture
def ratchet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("ratchet_script", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, loader.name, module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    files = {
        "python/towtank/sizing/reading.py": SOURCE,
        "python/towtank/model/long.py": LONG,
        "README.md": f"Short. {'word ' * 40}end.\n\n| {'word ' * 40} |\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "CEILINGS", tmp_path / "ceilings.json")
    names = tuple(files)

    def listed(*patterns: str) -> tuple[str, ...]:
        ends = tuple(pattern.split("*")[-1] for pattern in patterns)
        folders = tuple(pattern.split("*")[0] for pattern in patterns)
        return tuple(name for name in names if name.endswith(ends) and name.startswith(folders))

    monkeypatch.setattr(module, "files", listed)
    return module


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("functions over 60 lines", [1]),
        ("dict[str, Any] and Json", [7]),
        ("look-ups by a literal key", [9, 9]),
        ("imports past a room's door", [3]),
        ("words of speech", [13]),
        ("summaries that begin with a question word", [8]),
        ("loops over `one`", [12]),
        ("sentences of the documentation over 35 words", [1]),
        ("files over 450 lines", []),
    ],
)
def test_each_count_finds_its_places(ratchet: ModuleType, name: str, lines: list[int]) -> None:
    assert [place.line for place in ratchet.COUNTS[name]()] == lines


def test_a_count_above_its_ceiling_fails_and_a_lower_one_is_written_down(
    ratchet: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ratchet.main(["--write"]) == 0
    written = json.loads(ratchet.CEILINGS.read_text())
    assert ratchet.main([]) == 0
    assert capsys.readouterr().out == ""
    ceilings = {**written, "words of speech": 0, "look-ups by a literal key": 5}
    ratchet.CEILINGS.write_text(json.dumps(ceilings))
    assert ratchet.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "look-ups by a literal key: 2, fewer than 5. To keep it so, type: scripts/ratchet --write",
        "words of speech: 1, at most 0 allowed. Type: scripts/ratchet --where 'words of speech'",
    ]
    assert ratchet.main(["--write"]) == 1
    assert json.loads(ratchet.CEILINGS.read_text()) == {**written, "words of speech": 0}
