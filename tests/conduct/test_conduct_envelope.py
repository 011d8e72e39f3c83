"""Envelope of the load generator (its maximum rates): its measurement, and its copy in the manifest of a run."""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from towtank.conduct import calibration
from towtank.conduct.calibration import Point, calibrate
from towtank.conduct.drive import Load
from towtank.conduct.envelope import (
    connections_by_ports,
    envelope_path,
    generator_facts,
    load_envelope,
    require_ports,
    save_envelope,
    state_folder,
)
from towtank.conduct.pinning import Pinning
from towtank.engine import binary
from towtank.errors import EngineError, MeasurementError, StudyError
from towtank.observe.host import host_facts
from towtank.plan import Plan, PlannedLoad

FINGERPRINT = "0123456789abcdef"
PINNING = Pinning((0,), (1,))


class Machine:
    """Simulated machine with 50,000 requests/s per core. The start lag of requests grows in proportion to the
    utilization.
    """

    def __init__(self, busy: float = 0.999, failed: int = 0) -> None:
        self.loads: list[Load] = []
        self.busy, self.failed = busy, failed

    def measure(self, load: Load) -> Point:
        self.loads.append(load)
        rate = 50_000.0 if load.rate is None else load.rate
        busy = self.busy if load.rate is None else rate / 50_000
        lag = {"p50": 1e-6 * busy, "p99": 1e-5 * busy, "p99.9": 1e-4 * busy, "max": 1e-3 * busy}
        return Point(rate, busy, round(rate * load.duration_s), self.failed, lag)


def envelope(machine: Machine) -> tuple[dict, list[str]]:
    notes: list[str] = []
    return calibrate(machine.measure, fingerprint=FINGERPRINT, pinning=PINNING, seconds=2.0, note=notes.append), notes


def test_the_rate_comes_first_then_the_lag_at_shares_of_it() -> None:
    machine = Machine()
    found, notes = envelope(machine)
    assert [load.rate for load in machine.loads] == [None, 100.0, 12_500.0, 25_000.0, 37_500.0]
    assert machine.loads[0].users == calibration.USERS
    assert {load.arrivals for load in machine.loads[1:]} == {"poisson"}
    assert all((load.threads, load.cpus, load.duration_s) == (1, (1,), 2.0) for load in machine.loads)
    assert (found["rate_per_core_per_s"], found["limited_by"]) == (50_000.0, "generator")
    assert found["cpu_us_per_request"] == pytest.approx(19.98)
    assert [point["share"] for point in found["start_lag"]] == [0.25, 0.5, 0.75]
    assert [point["p99_s"] for point in found["start_lag"]] == pytest.approx([2.5e-6, 5e-6, 7.5e-6])
    assert found["timer"]["share"] is None
    assert len(notes) == 5


def test_a_thread_that_was_not_busy_was_limited_by_something_else() -> None:
    assert envelope(Machine(busy=0.7))[0]["limited_by"] == "server or other programs"


@pytest.mark.parametrize(("load", "said"), [(0.2, False), (3.0, True)])
def test_a_busy_machine_is_reported(monkeypatch: pytest.MonkeyPatch, load: float, said: bool) -> None:
    machine = Machine()
    monkeypatch.setattr(calibration, "measure_at", lambda address: machine.measure)
    monkeypatch.setattr(calibration, "null_server", lambda pinning: nullcontext("127.0.0.1:1"))
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    notes: list[str] = []
    assert calibration.calibrate_here(notes.append)["rate_per_core_per_s"] == 50_000.0
    assert any("load average 3" in note for note in notes) == said


def test_failed_requests_make_no_envelope() -> None:
    with pytest.raises(MeasurementError, match="3 of 100,000 requests"):
        envelope(Machine(failed=3))


def test_five_stages_and_their_ramps_take_less_than_a_minute() -> None:
    machine = Machine()
    calibrate(machine.measure, fingerprint=FINGERPRINT, pinning=PINNING, note=str)
    assert sum(load.ramp_s + load.duration_s for load in machine.loads) <= 40


def test_it_is_kept_by_fingerprint_and_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path))
    found, _ = envelope(Machine())
    assert load_envelope(FINGERPRINT) is None
    assert save_envelope(found) == tmp_path / "envelopes" / "0123456789abcdef.json"
    assert load_envelope(FINGERPRINT) == found
    save_envelope({**found, "rate_per_core_per_s": 1.0})
    assert load_envelope(FINGERPRINT)["rate_per_core_per_s"] == 1.0
    assert load_envelope("fedcba9876543210") is None


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "towtank/envelope/9", "fingerprint": "0123456789abcdef"}', "{"])
def test_what_cannot_be_read_is_no_envelope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path))
    path = envelope_path(FINGERPRINT)
    path.parent.mkdir()
    path.write_text(text)
    assert load_envelope(FINGERPRINT) is None


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"TOWTANK_STATE": "/state", "XDG_STATE_HOME": "/xdg"}, "/state"),
        ({"XDG_STATE_HOME": "/xdg"}, "/xdg/towtank"),
        ({"XDG_STATE_HOME": "relative"}, "/home/one/.local/state/towtank"),
        ({}, "/home/one/.local/state/towtank"),
    ],
)
def test_the_state_folder(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str) -> None:
    for name in ("TOWTANK_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/one", **variables}.items():
        monkeypatch.setenv(name, value)
    assert str(state_folder()) == folder


def test_a_manifest_has_the_envelope_of_its_machine_and_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path))
    plan = planned(["127.0.0.1:1", "127.0.0.1:2"], ["127.0.0.1:1"])
    assert "envelope" not in generator_facts(plan)
    fingerprint = host_facts().fingerprint
    save_envelope({"schema": "towtank/envelope/1", "fingerprint": fingerprint, "rate_per_core_per_s": 7.0})
    found = generator_facts(plan)
    assert found["envelope"]["rate_per_core_per_s"] == 7.0
    # Each local port can be used once for each of the target's two addresses.
    one_address = generator_facts(planned(["127.0.0.1:1"]))
    ports = one_address["generator_limits"]["connections_by_ports"]
    assert found["generator_limits"]["connections_by_ports"] == 2 * ports > 0
    # Each local port can also be used once for each source address. A connection to a Unix socket uses no port.
    several = planned(["127.0.0.1:1", "127.0.0.1:2"], sources=["127.0.0.2", "127.0.0.3", "127.0.0.4"])
    assert generator_facts(several)["generator_limits"]["connections_by_ports"] == 6 * ports
    unix = generator_facts(planned(["unix:/run/app.sock"]))
    assert "connections_by_ports" not in unix["generator_limits"]


def planned(*targets: list[str], users: int = 1, kind: str = "closed", **connections: object) -> Plan:
    workload = {
        "targets": [{"name": "web", "addresses": addresses} for addresses in targets],
        "connections": {"mode": "per_user", **connections},
    }
    load = PlannedLoad(kind=kind, users_at_most=users, stages=[])
    return Plan(run="r001", seed=1, out="", threads=1, cpus=[], workload=workload, load=load)


def crowd(users: int, **more: object) -> Plan:
    return planned(["127.0.0.1:1", "127.0.0.1:2"], users=users, **more)


def test_users_with_connections_of_their_own_need_a_port_each() -> None:
    there = connections_by_ports(crowd(1))
    assert there is not None
    require_ports(crowd(there, mode="per_user"))
    with pytest.raises(StudyError, match=rf"--users: must be at most {there} .* got {there + 1} instead") as refused:
        require_ports(crowd(there + 1, mode="per_user"))
    assert "--source" in str(refused.value.hint)
    require_ports(crowd(there + 1, mode="per_user", sources=["127.0.0.2", "127.0.0.3"]))
    require_ports(crowd(there + 1, mode="pool", size=10))
    require_ports(crowd(there + 1, kind="open"))


def test_the_real_engine_and_null_server_make_a_point(tmp_path: Path) -> None:
    binary()
    with calibration.null_server(Pinning()) as address:
        point = calibration.measure_at(address)(Load(rate=200.0, duration_s=1.0, threads=1, arrivals="poisson"))
    assert (point.failed, point.started > 0, point.rate_per_s > 0) == (0, True, True)
    assert 0 < point.lag_s["p50"] <= point.lag_s["p99"] <= point.lag_s["p99.9"] <= point.lag_s["max"]
    json.dumps(point.lag_s)


def test_an_engine_that_fails_is_reported_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "towtank-engine"
    fake.write_text(f"#!{sys.executable} -I\nimport sys\nprint('no memory', file=sys.stderr)\nsys.exit(70)\n")
    fake.chmod(0o755)
    monkeypatch.setenv("TOWTANK_ENGINE", str(fake))
    with pytest.raises(EngineError, match="status 70 during the calibration: no memory"):
        calibration.measure_at("127.0.0.1:1")(Load(duration_s=0.1, threads=1))
    with pytest.raises(EngineError, match="did not start: it ended with status 70"), calibration.null_server(PINNING):
        pass
