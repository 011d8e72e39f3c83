"""The real engine sends metrics during a run. Afterwards, a real Prometheus server returns the recorded values."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from held_port import held_port
from integration_bench import Bench
from small_receiver import listening
from waiting import until

pytestmark = pytest.mark.waits

Query = Callable[[str], dict[str, float]]
# After a stale marker, a series has no current value, so the query asks for the last value within 30 minutes.
_LAST = "last_over_time({}[30m])"


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """Start a private Prometheus server that accepts remote writes; yield its address."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("Prometheus is not installed: apt-get install prometheus")
    folder = tmp_path / "prometheus"
    folder.mkdir()
    (folder / "prometheus.yml").write_text("global: {}\n")
    with held_port() as port:
        command = [
            program,
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--web.enable-remote-write-receiver",
            "--log.level=error",
        ]
        url = f"http://127.0.0.1:{port}"
        with subprocess.Popen(command, cwd=folder) as server:
            try:
                until(lambda: _is_ready(url), 60.0)
                yield url
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait(30)


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture
def query(prometheus: str) -> Query:
    """A function that sends a query to Prometheus and returns the values by label value."""

    def ask(text: str) -> dict[str, float]:
        place = f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": text, "time": str(time.time() + 1)})
        with urllib.request.urlopen(place, timeout=10) as answer:
            found = json.load(answer)["data"]["result"]
        return {",".join(series["metric"].values()): float(series["value"][1]) for series in found}

    return ask


def last(family: str, **labels: str) -> str:
    chosen = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return _LAST.format(f"towtank_live_{family}{{{chosen}}}")


def sent(bench: Bench, run: str) -> list[dict[str, Any]]:
    return [event for event in bench.events(run) if event["k"] == "sent"]


@pytest.mark.prometheus
def test_prometheus_returns_what_a_study_recorded(bench: Bench, prometheus: str, query: Query) -> None:
    bench.study(users=[3], steady="3 s")
    ended = bench.run_study("--send", f"prometheus={prometheus}")
    assert ended.returncode in (0, 4), ended.stderr
    run = bench.results / "runs" / "r001"
    totals = json.loads((run / "engine" / "engine.json").read_text())["totals"]
    assert query(f"sum by (outcome) ({last('requests_total')})") == {"ok": totals["ok"]}
    assert query(f"sum by (run) ({last('request_response_time_seconds_count')})") == {"r001": totals["ok"]}
    by_phase = query(f"sum by (phase) ({last('users', study='tiny', run='r001', factor_users='3')})")
    assert set(by_phase) >= {"ramp_up", "settle", "steady"}
    assert by_phase["steady"] == pytest.approx(3.0)
    assert set(query(f"sum by (tier) ({last('tier_cpus_used')})")) >= {"content"}
    # After the run every series has ended, so a query without a time range returns no values.
    assert query("towtank_live_users") == {}
    (event,) = sent(bench, "r001")
    assert event["receivers"][0]["dropped_points"] == event["receivers"][0]["refused_points"] == 0
    summary = json.loads((run / "summary.json").read_text())["observation"]
    assert 0 < summary["sending_cpus_used"] < summary["cpus_used"]


@pytest.mark.prometheus
def test_increase_over_a_stage_misses_nothing(
    bench: Bench, prometheus: str, query: Query, serve: Callable[..., str]
) -> None:
    ended = bench.towtank(
        "drive", f"http://{serve()}/", "--users", "2", "--think", "10ms", "--duration", "3s", "--json", "--quiet",
        "--send", f"prometheus={prometheus}",
    )  # fmt: skip
    document = json.loads(ended.stdout)
    first = query(f"sum by (phase) (min_over_time({_range('requests_total')}))")
    assert set(first.values()) == {0.0}, "counters must start at zero"
    assert query(f"sum by (phase) ({last('requests_total')})")["steady"] == document["requests"]
    assert document["sent"][0]["dropped_points"] == 0


def _range(family: str) -> str:
    return f"towtank_live_{family}[30m]"


def test_a_dead_receiver_neither_holds_up_nor_fails_a_run(bench: Bench, serve: Callable[..., str]) -> None:
    with held_port() as port:
        ended = bench.towtank(
            "drive", f"http://{serve()}/", "--users", "2", "--think", "10ms", "--duration", "2s", "--json", "--quiet",
            "--send", f"otlp=http://127.0.0.1:{port}",
        )  # fmt: skip
    document = json.loads(ended.stdout)
    assert ended.returncode == (0 if document["valid"] else 4)
    assert document["window_s"] == pytest.approx(2.0)
    assert document["sent"][0]["points"] == 0 < document["sent"][0]["dropped_points"]
    assert "note: http://127.0.0.1:" in ended.stderr
    assert "Connection refused" in ended.stderr


def test_a_study_sends_every_run_by_its_name(bench: Bench) -> None:
    bench.study(users=[1, 2])
    with listening() as receiver:
        ended = bench.run_study("--send", f"otlp={receiver.url}")
    assert ended.returncode in (0, 4), ended.stderr
    runs = set()
    for path, _, body in receiver.requests:
        assert path == "/v1/metrics"
        (resource,) = json.loads(body)["resourceMetrics"]
        about = resource["resource"]["attributes"]
        result = {attribute["key"]: attribute["value"]["stringValue"] for attribute in about}
        assert result["towtank.study"] == "tiny"
        runs.add((result["towtank.run"], result["towtank.factor.users"]))
    assert runs == {("r001", "1"), ("r002", "2")}


def test_wrong_receivers_are_refused_before_anything_starts(bench: Bench) -> None:
    bench.study()
    ended = bench.run_study("--send", "otlp=http://203.0.113.9:4318")
    assert ended.returncode == 2
    assert "--send: must be on this machine or in a private network" in ended.stderr
    assert "--i-may-send 203.0.113.9" in ended.stderr
    assert not bench.results.exists()
