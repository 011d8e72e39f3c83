"""The gate does not import files whose tests all wait: these tests check that the names that they import exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

TESTS = Path(__file__).parents[1]


def imported(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, module and name of each import from a module of Towtank."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "towtank":
            yield from ((node.lineno, str(node.module), alias.name) for alias in node.names)


def exists(module: str, name: str) -> bool:
    """Return True if a module has an attribute or a submodule of this name."""
    try:
        return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError:
        return False


def missing(*paths: Path) -> list[str]:
    """Return the imports of names that do not exist, with file and line."""
    return [
        f"{path.name}:{line}: {module} has no {name}"
        for path in paths
        for line, module, name in imported(path)
        if not exists(module, name)
    ]


def test_each_name_that_a_test_imports_exists() -> None:
    assert missing(*sorted(TESTS.rglob("*.py"))) == []


def test_a_name_that_does_not_exist_is_found(tmp_path: Path) -> None:
    stale = tmp_path / "test_stale.py"
    lines = [
        "from towtank.results import ResultsFolder, gone",
        "from towtank.errors import lost",
        "def late():",
        "    from towtank.gone import a",
    ]
    stale.write_text("\n".join(lines))
    assert missing(stale) == [
        "test_stale.py:1: towtank.results has no gone",
        "test_stale.py:2: towtank.errors has no lost",
        "test_stale.py:4: towtank.gone has no a",
    ]
