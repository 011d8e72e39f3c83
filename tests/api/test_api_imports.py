"""`import towtank` is fast, and `__all__` contains the public names."""

from __future__ import annotations

import inspect
import subprocess
import sys
from enum import EnumType
from pathlib import Path

import pytest

import towtank
import towtank.api

pytestmark = pytest.mark.waits

HEAVY = {"duckdb", "jinja2", "numpy", "pydantic", "rich", "ruamel", "scipy", "typer", "vl_convert"}
NAMES = [name for name in towtank.__all__ if name != "errors"]


def modules_after(code: str) -> set[str]:
    """Return the modules that a new Python process has loaded after it has executed the given code."""
    code += "\nimport sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_import_loads_nothing_but_itself() -> None:
    plain = modules_after("import __future__, importlib, typing")
    assert modules_after("import towtank") - plain == {"towtank", "towtank.version"}


@pytest.mark.parametrize(
    "code",
    [
        "import towtank; towtank.errors.StudyError; dir(towtank)",
        "import towtank; " + "; ".join(f"towtank.{name}" for name in towtank.__all__),
        "import towtank.api.plugin",
    ],
    ids=["errors", "names", "plugin"],
)
def test_names_and_the_plugin_load_nothing_heavy(code: str) -> None:
    assert {name.partition(".")[0] for name in modules_after(code)} & HEAVY == set()


@pytest.mark.parametrize("path", ["published-cases/machines.yaml", "from-csv-to-size/sizing.yaml"])
def test_a_check_of_machines_and_of_a_sizing_loads_no_arrays(path: str) -> None:
    file = Path(__file__).parents[2] / "examples" / path
    loaded = modules_after(f"from towtank.filecheck import check_file; assert check_file({str(file)!r}).faults == []")
    assert {name.partition(".")[0] for name in loaded} & {"numpy", "scipy"} == set()


def test_public_names_are_those_that_are_listed() -> None:
    behind = {towtank._OTHER_NAMES.get(name, name) for name in NAMES}
    assert behind == set(dir(towtank.api))
    assert set(towtank.__all__) <= set(dir(towtank))
    with pytest.raises(AttributeError, match="no attribute 'latency'"):
        towtank.latency  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is(name: str) -> None:
    found = getattr(towtank, name)
    assert inspect.getdoc(found)
    if not isinstance(found, type) or isinstance(found, EnumType):
        return
    for attribute, value in vars(found).items():
        if not attribute.startswith("_") and (callable(value) or isinstance(value, property)):
            assert inspect.getdoc(value), f"{name}.{attribute}"
