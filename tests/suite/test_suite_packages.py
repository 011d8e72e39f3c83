"""The list of Debian packages that `make test-all` installs must contain the packages that all servers and hosts
require.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import TargetError
from towtank.system import packages
from towtank.system.hosts.capabilities import PROGRAMS

ROOT = Path(__file__).parents[2]
# Patterns of a skip reason, and of the command in a reason that installs the missing package. `make setup` installs
# Python packages and the engine, which are not Debian packages.
REASON = re.compile(r"pytest\.skip\(f?\"([^\"]*)\"|skipif\([^\n]*reason=f?\"([^\"]*)\"")
INSTALL = re.compile(r"apt-get install (?:-\S+ )*(\S+)|make setup|pip install|\{INSTALL_HINT\}")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Functions of `scripts/packages.py` on a simulated Debian machine with root rights, on which two packages are
    missing.
    """
    names: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "packages.py"))
    monkeypatch.setattr(
        names["debian"], "missing", lambda wanted: [name for name in wanted if name in ("wrk", "slapd")]
    )
    monkeypatch.setattr(names["shutil"], "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(names["os"], "geteuid", lambda: 0)
    monkeypatch.setattr(names["study"], "needed_packages", lambda text: [])
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


def test_skips_for_want_of_a_program_name_a_listed_package(script: dict[str, Any]) -> None:
    texts = [(path, path.read_text("utf-8")) for path in sorted((ROOT / "tests").rglob("*.py"))]
    reasons = [(path.name, *found) for path, text in texts for found in REASON.findall(text)]
    named = [(name, INSTALL.search(reason)) for name, *parts in reasons if "install" in (reason := "".join(parts))]
    # A skip reason composed of variables contains the name of a package from Towtank's list of packages.
    assert [name for name, found in named if found is None] == []
    packages = {found[1] for _, found in named if found is not None and found[1] and "{" not in found[1]}
    assert len(packages) > 4
    assert packages - set(script["listed"]("tests")) == set()


def test_root_installs_what_is_missing(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    installed = []
    monkeypatch.setattr(script["debian"], "install", lambda names, run: installed.append(names))
    assert script["main"]() == 0
    assert installed == [["slapd", "wrk"]]


def test_another_user_installs_nothing(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script["os"], "geteuid", lambda: 1000)
    monkeypatch.setattr(
        script["debian"], "install", lambda names, run: pytest.fail("without root, nothing may be installed")
    )
    assert script["main"]() == 0


def test_without_a_network_the_run_goes_on(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(names: list[str], run: object) -> None:
        raise TargetError("`apt-get update -qq` ended with status 100")

    monkeypatch.setattr(script["debian"], "install", refuse)
    assert script["main"]() == 0
    assert "note: `apt-get update -qq` ended with status 100" in capsys.readouterr().err
