"""Output of `towtank doctor` as text and JSON, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from towtank import engine
from towtank.cli import doctor_command
from towtank.errors import EngineError, ExitStatus
from towtank.observe.host import host_facts

pytestmark = pytest.mark.waits


def invoke(*arguments: str) -> tuple[Result, int]:
    """Run `towtank doctor`; return the result and the value of the command, which the application uses as exit
    status.
    """
    app = typer.Typer()
    statuses = []

    @app.callback()
    def main() -> None:
        """Main command without options."""

    app.command("doctor")(doctor_command.command)
    app.callback(result_callback=statuses.append)(main)
    result = CliRunner().invoke(app, ["doctor", *arguments], env={"NO_COLOR": "1", "COLUMNS": "200"})
    assert result.exception is None, result.output
    return result, statuses[0]


def test_text_for_people(tmp_path: Path) -> None:
    result, status = invoke("--results", str(tmp_path))
    assert status == ExitStatus.DONE
    assert "Towtank can run on this machine." in result.stdout
    assert "towtank-engine" in result.stdout


def test_one_json_document(tmp_path: Path) -> None:
    result, status = invoke("--json", "--results", str(tmp_path))
    document = json.loads(result.stdout)
    assert status == ExitStatus.DONE
    assert document["schema"] == "towtank/doctor/1"
    assert (document["ready"], document["missing"]) == (True, [])
    assert {"name", "status", "value", "note", "install"} == document["checks"][0].keys()
    assert len(document["host"]["fingerprint"]) == 16


@pytest.mark.parametrize("form", ["--json", "--no-json"])
def test_without_an_engine_the_status_is_6(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    def missing() -> Path:
        raise EngineError("towtank-engine is not installed")

    monkeypatch.setattr(engine, "binary", missing)
    arguments = ["--json"] if form == "--json" else []
    result, status = invoke(*arguments)
    assert status == ExitStatus.TARGET == 6
    assert "engine" in result.stdout and "make setup" in result.stdout
    if form == "--json":
        assert json.loads(result.stdout)["missing"] == ["engine"]


def found_envelope() -> dict[str, object]:
    point = {"share": None, "rate_per_s": 100.0, "started_per_s": 99.0, "busy": 0.01}
    point |= {"p50_s": 5e-6, "p99_s": 6e-5, "p99.9_s": 1e-4, "max_s": 2e-3}
    return {
        "schema": "towtank/envelope/1",
        "fingerprint": host_facts().fingerprint,
        "measured_wall_ns": 1_780_000_000_000_000_000,
        "rate_per_core_per_s": 65_432.1,
        "cpu_us_per_request": 15.28,
        "limited_by": "generator",
        "timer": point,
        "start_lag": [{**point, "share": 0.25}],
    }


def test_a_calibration_is_shown_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("towtank.conduct.calibrate_here", lambda note: note("rate") or found_envelope())
    before, _ = invoke("--results", str(tmp_path))
    assert "not calibrated as a load generator: run `towtank doctor --calibrate`" in before.stdout
    made, status = invoke("--calibrate", "--results", str(tmp_path))
    assert status == ExitStatus.DONE
    assert "65,432 requests/s, 15.28 µs of CPU each (limited by the generator" in made.stdout
    assert "timer" in made.stdout and "25%" in made.stdout and "60 µs" in made.stdout
    assert "calibrating: rate" in made.stderr
    again, _ = invoke("--json", "--results", str(tmp_path))
    assert json.loads(again.stdout)["envelope"] == found_envelope()


def test_sizes_for_people() -> None:
    assert [doctor_command._size(size) for size in (0, 1023, 1536, 25276510208, 5 << 40)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "23.54 GiB",
        "5 TiB",
    ]
