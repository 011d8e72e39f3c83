"""Fixture: a running system, for each kind of file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from storage_cases import CASES, StorageBench


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a separate state folder for the test."""
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StorageBench]:
    """A running system with the file system under test, for all tests of a module.

    If this machine cannot run the system, the tests are skipped with the reason.
    """
    folder = tmp_path_factory.mktemp("storage")
    with pytest.MonkeyPatch.context() as patch:
        # The state folder must be set before the system is built, because the build fixes the path of the data.
        patch.setenv("TOWTANK_STATE", str(folder / "state"))
        bench = StorageBench(folder, request.param)
        if lines := bench.lacks():
            pytest.skip("; ".join(lines))
        with bench.system as system:
            system.up()
            yield bench
