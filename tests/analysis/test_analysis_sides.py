from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from towtank.analysis.comparing import sides
from towtank.analysis.comparing.failing import FailureLine
from towtank.analysis.comparing.runs import ComparedRun, Failures, Metric, Place
from towtank.analysis.comparing.sides import _cpu, _figures_of_summary, _measured, _of_summary, _repeated
from towtank.analysis.doubts import DoubtLevel
from towtank.analysis.statistics import standard_error_of
from towtank.analysis.statistics.estimates import Estimate, estimate_from_document
from towtank.foreign import Requests


def estimate(value: float | None, half: float = 0.0) -> dict[str, Any]:
    ends = {} if not half or value is None else {"low": value - half, "high": value + half}
    return {"value": value, "method": "batches", "n": 20, **ends}


def error(value: float, half: float) -> float:
    found = standard_error_of(estimate_from_document(estimate(value, half)))
    assert found is not None
    return found


def times(mean: float) -> dict[str, Any]:
    return {name: estimate(mean) for name in ("mean", "p50", "p95", "p99")}


def transaction(count: int, errors: int = 0, mean: float = 0.1) -> dict[str, Any]:
    return {"count": count, "errors": errors, "response_time_s": times(mean)}


SUMMARY: dict[str, Any] = {
    "users": {"asked": 50},
    "verdict": {
        "level": "suspect",
        "reasons": [
            {"kind": "start_lag", "level": "suspect", "message": "late"},
            {"kind": "errors", "level": str(DoubtLevel.INVALID), "message": "many"},
        ],
    },
    "errors": {"count": 3},
    "throughput_per_s": estimate(100.0, 5.0),
    "response_time_s": times(0.2),
    "transactions": {"read": transaction(90, 3), "write": transaction(7), "never": transaction(0)},
}


def test_a_run_has_the_failures_of_each_transaction_and_of_all() -> None:
    found = _of_summary(SUMMARY, "r001", "index absent", None)
    assert found.failures == {
        "": Failures(3, 100),
        "read": Failures(3, 93),
        "write": Failures(0, 7),
        "never": Failures(0, 0),
    }
    assert (found.cell, found.verdict, found.transactions) == ("index absent, 50 users", "suspect", ("read", "write"))
    assert (found.reasons, found.because) == (("late", "many"), ("errors",))


def test_of_a_chosen_configuration_the_cell_is_the_load() -> None:
    assert _of_summary(SUMMARY, "r001", "index absent", "index absent").cell == "50 users"
    assert _of_summary({**SUMMARY, "users": None, "rate": 5}, "r001", "", None).cell == "5 rate"
    assert _of_summary({}, "r001", "", None).verdict == "invalid"


def test_times_of_transactions_are_compared_if_there_are_several() -> None:
    several = {place.transaction for place, _ in _figures_of_summary(SUMMARY)}
    assert several == {"", "read", "write", "never"}
    one = {place.transaction for place, _ in _figures_of_summary({**SUMMARY, "transactions": {"read": transaction(1)}})}
    assert one == {""}


def test_percentiles_have_the_width_of_their_bucket_and_means_none() -> None:
    found = dict(_figures_of_summary({**SUMMARY, "transactions": {}}))
    steps = {place.metric: measured.step for place, measured in found.items()}
    assert steps[Metric.MEAN] == steps[Metric.THROUGHPUT] == 0.0
    assert {steps[metric] for metric in sides.TIMES if metric is not Metric.MEAN} == {0.2 / 1024}
    tiny = dict(_figures_of_summary({"response_time_s": times(1e-6)}))
    assert {found.step for place, found in tiny.items() if place.metric is not Metric.MEAN} == {0.512e-6}


def test_an_error_is_relative_to_its_value() -> None:
    ((_, found),) = _measured(Place(Metric.THROUGHPUT), estimate_from_document(estimate(100.0, 5.0)))
    assert (found.value, found.error) == (100.0, pytest.approx(error(100.0, 5.0) / 100))


@pytest.mark.parametrize(
    ("metric", "value", "kept"),
    [
        (Metric.THROUGHPUT, 0.0, False),
        (Metric.THROUGHPUT, 0.1, True),
        (Metric.MEAN, 0.0, True),
        (Metric.MEAN, None, False),
    ],
)
def test_only_a_time_may_be_zero(metric: Metric, value: float | None, kept: bool) -> None:
    found = list(_measured(Place(metric), Estimate(value)))
    assert bool(found) is kept
    if kept:
        assert found[0][1].error is None


@pytest.mark.parametrize(
    ("tiers", "total", "relative"),
    [
        ({"a": (0.03, 0.0)}, 0.03, None),
        ({"a": (3.0, 0.3), "b": (1.0, 0.4)}, 4.0, 0.5),
        ({"a": (3.0, 0.3), "b": (1.0, 0.0)}, 4.0, None),
        ({"a": (3.0, 0.3), "b": (None, 0.0)}, None, None),
        ({"a": (0.0, 0.0)}, None, None),
        ({}, None, None),
    ],
)
def test_the_cpu_time_is_that_of_all_tiers(
    tiers: dict[str, tuple[float | None, float]], total: float | None, relative: float | None
) -> None:
    found = list(_cpu({"tiers": {name: {"cpu_demand_s": estimate(*ends)} for name, ends in tiers.items()}}))
    if total is None:
        assert found == []
        return
    ((place, measured),) = found
    assert (place.metric, measured.value) == (Metric.CPU, pytest.approx(total))
    # Independent errors add up by their squares: sqrt(0.3^2 + 0.4^2) = 0.5.
    expected = None if relative is None else pytest.approx(error(4.0, relative) / total)
    assert measured.error == expected


def run(name: str, source: str) -> ComparedRun:
    return ComparedRun(name, "", "valid", {}, {}, source=source)


def test_a_run_that_is_given_twice_is_a_fault() -> None:
    known: dict[str, str] = {}
    assert list(_repeated("a", [run("r1", "x"), run("r2", "y")], known)) == []
    (again,) = _repeated("b", [run("r3", "z"), run("r4", "y")], known)
    assert (again.file, again.where) == ("b", "r4")
    assert "the content of a" in again.message
    (same,) = _repeated("a", [run("r1", "x")], known)
    assert (same.where, "this result" in same.message) == ("", True)


def requests(*names: int) -> Requests:
    count = len(names)
    columns = {"start_s": np.arange(float(count)), "elapsed_s": np.full(count, 0.1), "ok": np.arange(count) != 0}
    return Requests(**columns, transaction=np.array(names), names=["", "write", "once"])  # type: ignore[arg-type]


def judged(inside: Requests | None, **more: Any) -> Any:
    return SimpleNamespace(inside=inside, requests=5, errors=1, **more)


def test_transactions_of_a_file_need_two_requests() -> None:
    found = [(name, len(part)) for name, part in sides._by_transaction(judged(requests(0, 0, 1, 1, 1, 2)))]
    assert found == [("(no name)", 2), ("write", 3)]
    assert list(sides._by_transaction(judged(None))) == []
    failures = dict(sides._failures_of_file(judged(requests(0, 0, 1, 1, 1, 2))))
    assert failures == {"": Failures(1, 5), "(no name)": Failures(1, 2), "write": Failures(0, 3)}


@pytest.mark.parametrize(("a", "b", "ratio"), [(0.1, 0.2, 2.0), (0.0, 0.2, None), (0.2, 0.1, 0.5)])
def test_shares_of_failures_have_a_ratio_unless_the_first_is_zero(a: float, b: float, ratio: float | None) -> None:
    line = FailureLine("", a, b, 1.0, None, None, (1, 1))
    assert (line.ratio, line.difference) == (ratio, pytest.approx(b - a))
