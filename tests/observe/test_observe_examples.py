"""Examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["host", "prometheus", "scraper", "scraping"])
def test_examples_are_true(name: str) -> None:
    results = doctest.testmod(import_module(f"towtank.observe.{name}"))
    assert results.attempted > 0
    assert results.failed == 0
