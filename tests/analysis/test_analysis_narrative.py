"""Sentences say the numbers of the levels that they name."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.analysis.narrative import _failed, _response


def estimate(value: float | None) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "method": "runs", "n": 1}


def point(load: float, mean: float | None, p95: float, verdict: str = "valid") -> dict[str, Any]:
    return {
        "users": load,
        "load": load,
        "stage": None,
        "verdicts": [verdict],
        "throughput_per_s": estimate(load),
        "response_time_s": {"mean": estimate(mean), "p95": estimate(p95)},
    }


def told(*points: dict[str, Any]) -> list[dict[str, Any]]:
    return list(_response({"points": list(points), "key": {}, "label": ""}))


def test_the_response_time_goes_from_the_lowest_to_the_highest_valid_level() -> None:
    points = [point(10, 0.1, 0.2), point(20, 0.2, 0.4), point(30, 0.5, 0.8), point(40, 9.0, 9.0, "invalid")]
    (sentence,) = told(*points)
    assert sentence["numbers"] == {"first_s": 0.1, "last_s": 0.5, "ratio": pytest.approx(5.0)}
    assert sentence["text"] == (
        "The mean response time goes from 100 ms at 10 users to 500 ms at 30 users, 5 times as long; "
        "p95 is 800 ms there."
    )


def test_one_level_or_none_with_a_time_says_nothing() -> None:
    assert told(point(10, 0.1, 0.2)) == []
    assert told(point(10, None, 0.2), point(20, 0.2, 0.4)) == []


def test_the_load_at_which_most_transactions_fail_is_told_with_what_response_times_hold() -> None:
    points = [point(10, 0.1, 0.2), point(20, 0.2, 0.4), point(30, 0.1, 0.3), point(40, 0.1, 0.3, "invalid")]
    for one, share in zip(points, (0.0, 0.031, 0.02, 0.9), strict=True):
        one["errors_share"] = share
    (sentence,) = _failed({"points": points, "key": {}, "label": ""})
    assert sentence["text"].startswith("At 20 users 3.1 % of the transactions fail, the most of all valid loads. ")
    assert sentence["numbers"] == {"errors_share": 0.031}


def test_without_a_failure_nothing_is_said_of_any() -> None:
    one = {**point(10, 0.1, 0.2), "errors_share": 0.0}
    assert list(_failed({"points": [one], "key": {}, "label": ""})) == []
