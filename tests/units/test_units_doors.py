"""A package with lazy imports must have exactly the names that a type checker sees."""

from __future__ import annotations

import ast
import py_compile
import shutil
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest

PACKAGE = Path(str(files("towtank")))


def doors() -> Iterator[str]:
    """Yield the names of all packages with lazy imports."""
    for path in sorted(PACKAGE.rglob("__init__.py")):
        if "door(" in path.read_text("utf-8"):
            yield ".".join(path.parent.relative_to(PACKAGE.parent).parts)


def declared(package: str) -> set[str]:
    """Return the names that a package imports for type checkers only."""
    tree = ast.parse(Path(str(files(package)), "__init__.py").read_text("utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.name for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("package", list(doors()))
def test_a_door_has_the_declared_names(package: str) -> None:
    module = import_module(package)
    names = declared(package)
    assert names == set(dir(module))
    assert [name for name in names if not hasattr(module, name)] == []


SOURCES = {
    "__init__": (
        "from os.path import join\nfrom typing import TYPE_CHECKING\n\nfrom towtank.doors import door\n\n"
        "if TYPE_CHECKING:\n    from packed.inner import (\n        eight,  # A comment.\n        seven,\n    )\n\n"
        "__getattr__, __dir__ = door(__name__)\n"
    ),
    "inner": "seven, eight = 7, 8\n",
}


@pytest.mark.parametrize("is_archive", [False, True])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_package_has_its_names_in_archives_and_without_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_archive: bool, is_compiled: bool
) -> None:
    place = tmp_path / "packed"
    place.mkdir()
    for name, text in SOURCES.items():
        source = place / f"{name}.py"
        source.write_text(text, "utf-8")
        if is_compiled:
            py_compile.compile(str(source), str(source.with_suffix(".pyc")), doraise=True)
            source.unlink()
    if is_archive:
        with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
            for path in place.iterdir():
                archive.write(path, f"packed/{path.name}")
        shutil.rmtree(place)
    for name in ("packed", "packed.inner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip" if is_archive else tmp_path))
    packed = import_module("packed")
    assert (dir(packed), packed.seven, packed.eight) == (["eight", "seven"], 7, 8)


@pytest.mark.parametrize("package", list(doors()))
def test_no_name_is_that_of_a_module(package: str) -> None:
    """When a module is imported, Python sets its name in the package. A function with the same name would be hidden."""
    modules = {path.stem for path in Path(str(files(package))).iterdir()}
    assert declared(package) & modules == set()


def test_a_door_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match=r"module 'towtank.study' has no attribute 'no_such_name'"):
        _ = import_module("towtank.study").no_such_name
