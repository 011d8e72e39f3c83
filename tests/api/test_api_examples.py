"""The examples in the API's docstrings print the output shown."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import towtank.api

MODULES = [f"towtank.api.{found.name}" for found in pkgutil.iter_modules(towtank.api.__path__)]
WITH_EXAMPLES = {f"towtank.api.{name}" for name in ("checked", "frames", "measured", "models", "quantity")}


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.failed == 0
    assert (found.attempted > 0) == (name in WITH_EXAMPLES)
