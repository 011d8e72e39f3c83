"""Fixture of the conformance tests of services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from service_bench import Bench
from service_cases import CASES, ServiceCase

from towtank.system.build import make_service
from towtank.system.model import load_system


@pytest.fixture(params=CASES, ids=lambda case: case.kind)
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A system with one service of each kind. If a package is missing, the test is skipped with the name of the
    package.
    """
    case: ServiceCase = request.param
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("TOWTANK_RUN", str(tmp_path))
    made = Bench(tmp_path, case)
    file = load_system(made.file())
    if missing := make_service("served", file.services["served"], tmp_path).missing():
        pytest.skip(missing)
    yield made
    if made.system is not None:
        made.system.down()
