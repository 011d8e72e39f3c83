"""The examples in the docstrings of the code print the output shown."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import towtank

pytestmark = pytest.mark.waits

PACKAGE = Path(towtank.__file__).parent
MODULES = sorted(
    ".".join(("towtank", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if any(">>> " in line and "+SKIP" not in line for line in path.read_text("utf-8").splitlines())
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_come_out(module: str) -> None:
    results = doctest.testmod(import_module(module))
    assert results.attempted > 0
    assert results.failed == 0
