"""Report on the measurements that a machine supports, in tests that each remove one requirement."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import EngineError
from towtank.observe import offers
from towtank.observe.host import HostFacts
from towtank.observe.offers import Offer, examine_machine

FACTS = HostFacts(kernel="6.1", cpus_usable=4, memory_bytes=8 << 30)


def by_name(found: list[Offer]) -> dict[str, Offer]:
    assert len({offer.name for offer in found}) == len(found)
    return {offer.name: offer for offer in found}


def machine(monkeypatch: pytest.MonkeyPatch, **facts: Any) -> dict[str, Offer]:
    monkeypatch.setattr(offers, "host_facts", lambda: replace(FACTS, **facts))
    return by_name(examine_machine(Path("results")))


def test_everything_is_looked_at(tmp_path: Path) -> None:
    found = by_name(examine_machine(tmp_path / "not" / "yet"))
    assert found.keys() >= {
        *("kernel", "engine", "cpus", "pinning", "memory_bytes", "open_files_limit", "pressure", "cgroup_version"),
        *("chromium", "free_disk_bytes", "local_ports", "somaxconn", "clock_source"),
    }
    assert found["engine"].status == "ok"
    assert str(found["engine"].value).startswith("towtank-engine ")
    assert str(tmp_path) in found["free_disk_bytes"].note


def test_an_engine_that_is_missing_or_broken_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "towtank-engine"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("TOWTANK_ENGINE", str(broken))
    assert by_name(examine_machine(tmp_path))["engine"].status == "missing"

    def missing() -> Path:
        raise EngineError("towtank-engine is not installed")

    monkeypatch.setattr(offers.engine, "binary", missing)
    engine = by_name(examine_machine(tmp_path))["engine"]
    assert (engine.status, engine.install) == ("missing", "make setup")


def test_programs_that_are_missing_come_with_their_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(offers.shutil, "which", lambda name, path=None: None)
    found = by_name(examine_machine(tmp_path))
    for name, install in {"chromium": "chromium"}.items():
        assert (found[name].status, found[name].install) == ("note", f"apt-get install {install}")


def test_a_small_machine_is_noted_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine(
        monkeypatch,
        cpus_usable=1,
        cpu_limit=0.5,
        memory_limit_bytes=1 << 30,
        open_files_limit_hard=1024,
        clock_source="hpet",
    )
    for name in ("cpus", "pinning", "memory_limit_bytes", "open_files_limit", "clock_source", "cgroup_version"):
        assert found[name].status == "note", name
    assert "0.5" in found["cpus"].note
    assert "a load thread for each 1024" in found["open_files_limit"].note


def test_a_large_machine_is_all_right(monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine(monkeypatch, open_files_limit_hard=1 << 20, clock_source="tsc", cgroup_version=2, cpu_limit=8.0)
    for name in ("kernel", "cpus", "pinning", "memory_bytes", "open_files_limit", "clock_source", "cgroup_version"):
        assert found[name].status == "ok", name
    assert "memory_limit_bytes" not in found


def test_little_disk_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(offers, "ENOUGH_DISK_BYTES", 1 << 62)
    assert by_name(examine_machine(tmp_path))["free_disk_bytes"].status == "note"
