"""Pytest plugin: with `--dist loadgroup`, all tests of an `xdist_group` run on the same worker.

pytest-xdist 3.8 appends the group to a field of the test that pytest 9.2 no longer reads. Without this plugin, each
worker repeats the fixtures of a group (pytest-xdist issue 1386).
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Append the group to the test identifier, which the scheduler of pytest-xdist reads."""
    if not getattr(config.option, "loadgroup", False):
        return
    for item in items:
        groups = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
        if groups and "@" not in item.nodeid.rpartition("]")[2]:
            item._id = type(item.id).parse(f"{item.nodeid}@{'_'.join(groups)}")  # type: ignore[attr-defined]
