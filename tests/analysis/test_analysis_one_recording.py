"""For the same recording, `drive` and `run` state the same p95, interval and verdict."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from even_runs import even_script, stages_of
from synthetic_runs import Exchange, Script, write_run

from towtank.analysis import drive_document, summarize_run
from towtank.analysis.merged_percentiles import HISTOGRAM

USERS, THINK_S, STEADY_S, SLOW_UNTIL_S = 10, 0.1, 60.0, 9.0
SLOW_S, FAST_S = 0.4, 0.1


def script(slow_s: float = SLOW_S) -> Script:
    """Return a run with exponential response times, whose mean is larger at the beginning."""
    stream = random.Random(20261128)
    exchanges: list[Exchange] = []
    for user in range(USERS):
        at = user / USERS
        while at < STEADY_S + 1.0:
            response = stream.expovariate(1 / (slow_s if at < SLOW_UNTIL_S else FAST_S))
            exchanges.append(Exchange(0, at, at, at + response, 0.0, THINK_S, user))
            at += response + THINK_S
    base = even_script(
        stages_of(USERS, 1.0, STEADY_S),
        users=USERS,
        response_s=FAST_S,
        think_s=THINK_S,
        seconds=STEADY_S + 2.0,
        service_s=0.0,
        transactions=["get"],
        name="drive",
        tiers={},
    )
    return replace(base, exchanges=sorted(exchanges, key=lambda each: each.end))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the document of `drive` and the summary of `run` of the same recording."""
    run = write_run(tmp_path_factory.mktemp("one") / "drive", script())
    for path in run.observe.iterdir():
        path.unlink()
    return drive_document(run, "http://127.0.0.1:1/x"), summarize_run(run)


def test_the_slow_start_is_cut_off(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """`drive` and `run` leave out the slow start. Otherwise both windows would be the entire run, and the other tests
    would prove nothing.
    """
    window = both[1]["window"]
    assert window["start_s"] - window["asked_start_s"] > 5.0


def test_both_have_the_same_times_with_the_same_intervals(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    document, summary = both
    for name in ("response_time_s", "exchange_time_s"):
        expected = {key: value for key, value in summary[name].items() if key != HISTOGRAM}
        assert document["estimates"][name] == expected
    assert document["estimates"]["throughput_per_s"] == summary["request_throughput_per_s"]
    assert summary["response_time_s"]["p95"]["low"] is not None
    assert document["response_time_ms"]["p95"] == pytest.approx(1e3 * summary["response_time_s"]["p95"]["value"])
    assert document["throughput_per_s"] == pytest.approx(summary["throughput_per_s"]["value"])
    assert document["measured_s"] == pytest.approx(summary["window"]["end_s"] - summary["window"]["start_s"])


def test_the_p95_is_that_of_the_answers_after_the_start(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The p95 of exponential times is ln 20 times their mean. With the slow start, the p95 would be a third higher."""
    p95 = both[0]["estimates"]["response_time_s"]["p95"]
    assert p95["low"] < 2.9957 * FAST_S < p95["high"]


def test_both_have_the_same_verdict(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    document, summary = both
    assert document["valid"] == (summary["verdict"]["level"] != "invalid")
    assert document["doubts"] == summary["verdict"]["reasons"]


def test_counts_cover_the_whole_stage(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    document = both[0]
    assert document["window_s"] == pytest.approx(STEADY_S)
    ended = [each for each in script().exchanges if 1.0 <= each.end < 1.0 + STEADY_S]
    assert document["requests"] == len(ended)
    assert document["transactions"]["get"]["count"] == len(ended)
