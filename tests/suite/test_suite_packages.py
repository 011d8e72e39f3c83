"""Packages that `make test` installs: one list, which covers the needs of all servers and hosts of the product."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import TargetError
from towtank.system import packages
from towtank.system.hosts.capabilities import PROGRAMS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The script's functions, on a Debian machine of root that lacks two packages."""
    names: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "packages.py"))
    monkeypatch.setattr(
        names["debian"], "missing", lambda wanted: [name for name in wanted if name in ("wrk", "slapd")]
    )
    monkeypatch.setattr(names["shutil"], "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(names["os"], "geteuid", lambda: 0)
    monkeypatch.setattr(names["packages"], "needed", lambda text: [])
    return names


def test_the_list_has_all_that_servers_and_hosts_need(script: dict[str, Any]) -> None:
    listed = script["listed"]("tests")
    assert len(listed) == len(set(listed))
    needed = {name for package in packages.PACKAGES for name in package.names} | {name for _, name in PROGRAMS.values()}
    assert needed - set(listed) == set()
    assert "make" in script["listed"]("build")


def test_ci_and_make_read_the_list_and_have_no_other() -> None:
    for path in (".ci/run", "Makefile"):
        text = (ROOT / path).read_text()
        assert "mariadb-server" not in text
    assert "scripts/packages.txt" in (ROOT / ".ci/run").read_text()
    assert "scripts/packages.py" in (ROOT / "Makefile").read_text()


def test_root_installs_what_is_missing(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    installed = []
    monkeypatch.setattr(script["debian"], "install", lambda names, run: installed.append(names))
    assert script["main"]() == 0
    assert installed == [["slapd", "wrk"]]


def test_another_user_installs_nothing(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script["os"], "geteuid", lambda: 1000)
    monkeypatch.setattr(script["debian"], "install", lambda names, run: pytest.fail("only root may"))
    assert script["main"]() == 0


def test_without_a_network_the_run_goes_on(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(names: list[str], run: object) -> None:
        raise TargetError("`apt-get update -qq` ended with status 100")

    monkeypatch.setattr(script["debian"], "install", refuse)
    assert script["main"]() == 0
    assert "note: `apt-get update -qq` ended with status 100" in capsys.readouterr().err
