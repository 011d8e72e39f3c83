from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from towtank.analysis import deciding
from towtank.analysis.checks import generator
from towtank.analysis.limits import plateaus, silence
from towtank.analysis.limits.plateaus import PlateauRules, _achieved, _flat, _margins, _not_settled, _objectives
from towtank.analysis.limits.search import PlateauFailure
from towtank.analysis.objective import Objective


def plateau(level: float, throughput: float | None, **more: Any) -> Any:
    given = {"errors_share": 0.0, "passed": True, "number": 0, "throughput_error": 0.0, "settled": None, **more}
    window = SimpleNamespace(length_s=given.pop("length_s", 100.0), changes=given.pop("changes", ()))
    return SimpleNamespace(level=level, throughput=SimpleNamespace(value=throughput), window=window, **given)


def kinds(found: Any) -> list[str]:
    return [failure.kind for failure in found]


BELOW, FLAT, MISSED = (
    str(PlateauFailure.ACHIEVED_BELOW_OFFERED),
    str(PlateauFailure.THROUGHPUT_PLATEAU),
    str(PlateauFailure.OBJECTIVE_MISSED),
)


@pytest.mark.parametrize(
    ("throughput", "more", "fails"),
    [
        (94.9, {}, True),
        (95.0, {}, False),
        (50.0, {"errors_share": 0.5}, False),
        (47.4, {"errors_share": 0.5}, True),
        (0.0, {"errors_share": 1.0}, True),
        # With 400 expected arrivals, up to 3 * sqrt(400) = 60 may be missing by chance, which is 15 a second.
        (84.0, {"length_s": 4.0}, True),
        (85.0, {"length_s": 4.0}, False),
        (None, {}, False),
    ],
)
def test_throughput_below_the_offered_rate_fails_beyond_chance(
    throughput: float | None, more: dict[str, float], fails: bool
) -> None:
    rules = PlateauRules(achieved=0.95, is_open=True)
    found = list(_achieved(plateau(100.0, throughput, **more), rules))
    assert kinds(found) == ([BELOW] if fails else [])
    assert list(_achieved(plateau(100.0, 0.0), PlateauRules(achieved=0.95))) == []
    assert list(_achieved(plateau(100.0, 0.0), PlateauRules(is_open=True))) == []


def test_the_share_that_ended_counts_failures_too() -> None:
    (found,) = _achieved(plateau(100.0, 45.0, errors_share=0.5), PlateauRules(achieved=0.95, is_open=True))
    assert (found.seen, found.limit) == (pytest.approx(0.9), 0.95)


@pytest.mark.parametrize(
    ("throughput", "error", "before_error", "fails"),
    [
        (104.9, 0.0, 0.0, True),
        (105.0, 0.0, 0.0, False),
        (90.0, 0.0, 0.0, True),
        # The margins of the gain are 1.645 * hypot(10, 20) / 100 = 0.368 and 1.645 * hypot(20, 20) / 100 = 0.465. With
        # a gain of 0.04, the upper bound is below a half only with the first margin.
        (104.0, 10.0, 20.0, True),
        (104.0, 20.0, 20.0, False),
        (104.0, None, 0.0, False),
        (104.0, 0.0, None, False),
        (None, 0.0, 0.0, False),
    ],
)
def test_throughput_that_grows_too_little_fails_if_its_error_is_small(
    throughput: float | None, error: float | None, before_error: float | None, fails: bool
) -> None:
    before = [plateau(100.0, 100.0, throughput_error=before_error)]
    found = _flat(plateau(200.0, throughput, throughput_error=error), PlateauRules(grows=0.05), before)
    assert kinds(found) == ([FLAT] if fails else [])


def test_growth_counts_from_the_highest_level_that_passed_below() -> None:
    rules, here = PlateauRules(grows=0.05), plateau(200.0, 150.0)
    passed, failed = plateau(100.0, 100.0), plateau(150.0, 150.0, passed=False)
    assert kinds(_flat(here, rules, [passed, failed])) == []
    assert kinds(_flat(here, rules, [passed, plateau(150.0, 150.0)])) == [FLAT]
    assert kinds(_flat(here, rules, [passed, plateau(150.0, 112.5), plateau(150.0, 150.0, number=1)])) == [FLAT]
    assert kinds(_flat(here, rules, [plateau(200.0, 150.0), plateau(250.0, 150.0), plateau(100.0, None)])) == []
    assert kinds(_flat(here, PlateauRules(), [plateau(150.0, 150.0)])) == []


def test_the_gain_is_relative_to_ideal_growth() -> None:
    (found,) = _flat(plateau(300.0, 106.0), PlateauRules(grows=0.05), [plateau(100.0, 100.0)])
    assert found.seen == pytest.approx(0.03)


def change(is_gross: bool) -> Any:
    return SimpleNamespace(text="throughput", share=-0.2, tolerance=0.1, is_gross=is_gross)


@pytest.mark.parametrize(
    ("settled", "is_gross", "fails"),
    [(None, False, False), (True, False, False), (False, False, True), (None, True, True), (True, True, True)],
)
def test_a_change_counts_if_it_is_gross_or_the_stage_did_not_settle(
    settled: bool | None, is_gross: bool, fails: bool
) -> None:
    found = list(_not_settled(plateau(1.0, 1.0, settled=settled, changes=[change(is_gross)])))
    assert [(each.seen, each.limit) for each in found] == ([(0.2, 0.1)] if fails else [])


def objective(metric: str, comparison: str, value: float) -> Objective:
    return Objective(f"{metric} {comparison} {value:g}", metric, comparison=comparison, limit=value)


@pytest.mark.parametrize(
    ("given", "seen", "margin", "missed"),
    [
        (objective("p95", "<", 1.0), 2.0, math.log(2), True),
        (objective("p95", "<", 1.0), 1.0, 0.0, True),
        (objective("p95", "<=", 1.0), 1.0, 0.0, False),
        (objective("p95", "<", 1.0), 0.5, -math.log(2), False),
        (objective("throughput", ">", 50.0), 25.0, math.log(2), True),
        (objective("throughput", ">", 50.0), 50.0, 0.0, True),
        (objective("throughput", ">=", 50.0), 50.0, 0.0, False),
        (objective("throughput", ">", 50.0), 100.0, -math.log(2), False),
        (objective("p95", "<", 1.0), None, None, False),
        (objective("errors", "<", 0.1), 0.0, None, False),
        (objective("errors", "<", 0.0), 0.1, None, True),
    ],
)
def test_an_objective_has_a_margin_above_zero_if_it_is_missed(
    monkeypatch: pytest.MonkeyPatch, given: Objective, seen: float | None, margin: float | None, missed: bool
) -> None:
    monkeypatch.setattr(plateaus, "_seen", lambda *_: seen)
    monkeypatch.setattr(silence, "is_missed", lambda *_: False)
    rules, nothing = PlateauRules([given]), SimpleNamespace()
    margins = [found for found, _ in _margins(rules, nothing, None)]  # type: ignore[arg-type]
    assert margins == ([] if margin is None else [pytest.approx(margin)])
    assert kinds(_objectives(rules, nothing, None)) == ([MISSED] if missed else [])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "searched"),
    [
        ({}, True),
        ({"phase": "steady"}, True),
        ({"phase": "ramp_up"}, False),
        ({"users": 5}, False),
        ({"rate": 5.0}, False),
    ],
)
def test_only_objectives_at_each_load_end_a_search(given: dict[str, Any], searched: bool) -> None:
    search = {"of": "rate", "stop_when": {"objective_missed": True, "errors": 0.01}}
    rules = PlateauRules.of(search, [given])
    assert (bool(rules.objectives), rules.errors, rules.achieved, rules.is_open) == (searched, 0.01, None, True)
    assert PlateauRules.of({**search, "stop_when": {}, "of": "users"}, [given]) == PlateauRules()


def test_a_generator_that_is_half_busy_is_saturated_if_its_lag_grows() -> None:
    def found(share: float, lag_grows: bool) -> bool:
        evidence = SimpleNamespace(
            generator_cpus=2 * share, generator_cores=2, lag_grows=lag_grows, limit=lambda _name, default: default
        )
        return bool(list(generator.saturated(evidence)))  # type: ignore[arg-type]

    limit = generator.GENERATOR_BUSY
    assert [found(share, False) for share in (0.5 * limit, limit, limit + 0.01)] == [False, False, True]
    assert [found(share, True) for share in (0.5 * limit, 0.5 * limit + 0.01, limit + 0.01)] == [False, True, True]


def test_long_stalls_beyond_the_third_are_counted() -> None:
    stalls = [SimpleNamespace(start_s=float(n), end_s=n + 1.5) for n in range(5)]
    assert generator._times(stalls[:1]) == "from 0.0 s to 1.5 s of the run"
    assert generator._times(stalls[:3]).endswith("from 2.0 s to 3.5 s of the run")
    assert generator._times(stalls).endswith("from 2.0 s to 3.5 s of the run and 2 more times")
    assert generator._times([]) == ""


def test_claims_and_objectives_without_a_verdict_are_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    judged = [
        {"verdict": "undecided", "says": "a", "why": "few", "needs_runs": 5, "needs_at_least": 3},
        {"verdict": "not_testable", "says": "b", "why": "invalid", "do": deciding.INVALID},
        {"verdict": "not_testable", "says": "c", "why": "no JVM"},
        {"verdict": "confirmed", "says": "d", "do": deciding.INVALID},
    ]
    objectives = [
        {"text": "p95 < 1 s", "label": "one", "configuration": {"n": 1}, "met": None},
        {"text": "p95 < 1 s", "label": "all", "configuration": {}, "met": True, "certain": False},
        {"text": "p95 < 2 s", "label": "all", "configuration": {}, "met": True, "certain": None},
        {"text": "p95 < 3 s", "label": "all", "configuration": {}, "met": False, "certain": True},
    ]
    summary: dict[str, Any] = {"claims": True, "objectives": objectives}
    monkeypatch.setattr(deciding, "summarize_study", lambda _results: summary)
    monkeypatch.setattr(deciding, "read_object", lambda _path: {"claims": judged})
    results: Any = SimpleNamespace(path=tmp_path)
    shown = ["p95 < 1 s (one)", "p95 < 1 s"]
    assert [question.text for question in deciding.open_questions(results)] == shown
    (tmp_path / deciding.CLAIMS_FILE).write_text("{}")
    found = deciding.open_questions(results)
    assert [question.text for question in found] == ["a", "b", *shown]
    assert (found[0].needs_runs, found[0].needs_at_least, found[1].needs_runs) == (5, 3, None)
    del summary["claims"]
    assert [question.text for question in deciding.open_questions(results)] == shown
