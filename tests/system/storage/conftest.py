"""A bench for each kind of file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from storage_cases import CASES, StorageBench


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder of the test."""
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StorageBench]:
    """A bench with its system up, for all tests of a module; skipped with the reason where this machine cannot."""
    bench = StorageBench(tmp_path_factory.mktemp("storage"), request.param)
    if lines := bench.lacks():
        pytest.skip("; ".join(lines))
    with pytest.MonkeyPatch.context() as patch, bench.system as system:
        patch.setenv("TOWTANK_STATE", str(bench.folder / "state"))
        system.up()
        yield bench
