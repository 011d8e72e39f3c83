"""Fixture with a running system for each kind of file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from storage_cases import CASES, StorageBench


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StorageBench]:
    """A running system with each file system under test, shared by the tests of a module.

    If the machine cannot run the system, the tests are skipped with the reasons.
    """
    folder = tmp_path_factory.mktemp("storage")
    with pytest.MonkeyPatch.context() as patch:
        # The state folder must be set before the system is built, because the path of the data depends on it.
        patch.setenv("TOWTANK_STATE", str(folder / "state"))
        bench = StorageBench(folder, request.param)
        if lines := bench.lacks():
            pytest.skip("; ".join(lines))
        with bench.system as system:
            system.up()
            yield bench
