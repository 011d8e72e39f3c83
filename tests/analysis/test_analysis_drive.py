from __future__ import annotations

import json
from dataclasses import replace

import pytest
from even_runs import even_script, stages_of
from synthetic_runs import write_run

from towtank.analysis import drive_document
from towtank.results.folder import RunFolder

TIMES = {"mean", "min", "p50", "p90", "p95", "p99", "p99.9", "max"}


def script(failing=0):
    base = even_script(
        stages_of(10, 1.0, 15.0),
        users=10,
        response_s=0.1,
        think_s=0.1,
        seconds=17.0,
        service_s=0.0,
        transactions=["get"],
        name="drive",
        tiers={},
    )
    if failing:
        exchanges = [
            replace(each, failure="connect" if number % failing == 0 else None)
            for number, each in enumerate(base.exchanges)
        ]
        return replace(base, exchanges=exchanges)
    return base


@pytest.fixture
def document(tmp_path):
    run = write_run(tmp_path / "drive", script())
    for path in run.observe.iterdir():
        path.unlink()
    return drive_document(run, "http://127.0.0.1:1/x")


def test_keys_are_those_of_the_contract(document):
    assert {
        "schema", "target", "valid", "invalid_because", "window_s", "users", "requests", "errors",
        "throughput_per_s", "response_time_ms", "exchange_time_ms", "transactions", "errors_by_kind",
        "generator", "intervals", "status_codes",
    } <= set(document)  # fmt: skip
    assert document["schema"] == "towtank/drive/1"
    assert set(document["response_time_ms"]) == set(document["exchange_time_ms"]) == TIMES
    assert set(document["transactions"]["get"]) == {"count", "errors", "throughput_per_s", "response_time_ms"}
    assert set(document["errors_by_kind"]) == {"timeout", "status_5xx", "connect", "check"}
    assert set(document["generator"]) == {
        "cpu_s", "cpu_us_per_request", "start_lag_ms_p99", "peak_rss_bytes", "saturated",
    }  # fmt: skip
    assert set(document["intervals"][0]) == {"t_s", "requests", "errors", "p95_ms"}
    json.dumps(document, allow_nan=False)


def test_numbers_are_those_of_the_steady_stage(document):
    assert (document["valid"], document["invalid_because"]) == (True, [])
    assert document["window_s"] == 15.0
    # Number of cycles: ten users make five cycles per second each, over 15 s.
    assert document["requests"] == 750
    assert document["throughput_per_s"] == pytest.approx(50.0)
    assert document["response_time_ms"]["mean"] == pytest.approx(100.0, rel=1e-6)
    assert document["response_time_ms"]["p99"] == pytest.approx(100.0, rel=0.001)
    assert document["generator"]["cpu_us_per_request"] == pytest.approx(50.0)


def test_the_estimates_are_the_numbers_with_their_errors(document):
    """A run of 15 s is too short for intervals of means, but all quantiles of its 750 equal times have intervals."""
    rate, times = document["estimates"]["throughput_per_s"], document["estimates"]["response_time_s"]
    assert rate["value"] == document["throughput_per_s"]
    assert set(rate) == {"value", "low", "high", "confidence", "method", "n", "needs_s"}
    for name in TIMES - {"min", "max"}:
        assert 1e3 * times[name]["value"] == pytest.approx(document["response_time_ms"][name])


def test_intervals_add_up_to_the_window(document):
    assert [interval["t_s"] for interval in document["intervals"]] == [float(second) for second in range(1, 16)]
    assert sum(interval["requests"] for interval in document["intervals"]) == document["requests"]


def test_refused_connections_make_it_invalid(tmp_path):
    run = write_run(tmp_path / "drive", script(failing=1))
    document = drive_document(run, "http://127.0.0.1:1/x")
    assert not document["valid"]
    assert any("failed" in reason for reason in document["invalid_because"])
    assert document["errors"] == document["requests"] == document["errors_by_kind"]["connect"]
    assert document["throughput_per_s"] == 0.0
    assert document["response_time_ms"] == dict.fromkeys(TIMES)


def test_nothing_recorded_is_an_answer_too(tmp_path):
    run = RunFolder.create(tmp_path / "drive", {"run": "drive", "status": "failed", "users": 4, "factors": {}})
    document = drive_document(run, "http://127.0.0.1:1/x")
    assert (document["valid"], document["requests"], document["throughput_per_s"]) == (False, 0, None)
    assert document["intervals"] == []
