"""Fixture with a bench for each kind of file system."""

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
    """A bench with its running system, for all tests of a module.

    The tests are skipped with the reason if this machine cannot run the system.
    """
    folder = tmp_path_factory.mktemp("storage")
    with pytest.MonkeyPatch.context() as patch:
        # This must be set first, because the path of the data is fixed when the system is built.
        patch.setenv("TOWTANK_STATE", str(folder / "state"))
        bench = StorageBench(folder, request.param)
        if lines := bench.lacks():
            pytest.skip("; ".join(lines))
        with bench.system as system:
            system.up()
            yield bench
