from __future__ import annotations

import math
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from towtank.errors import MeasurementError, ModelError
from towtank.model import EngineModel, JobClass, Pool, SimulatedOutcome, SolvedClass, SolvedNetwork, Station
from towtank.sizing import bounds, quantities, simulated, simulated_pool, trust
from towtank.sizing.factors import Factor, drawn_factors
from towtank.sizing.growth import GivenGrowth, HistoricGrowth
from towtank.sizing.interval import Interval, _below_all, between, draws_outside, interval_of, share_between, share_text
from towtank.sizing.network import Layout, _strong, _with_nodes
from towtank.sizing.reading import check_sizing
from towtank.sizing.scores import scores
from towtank.sizing.tiers import Cost, Option, Tier, cost_of, machine_options, plain_options
from towtank.yamlfile import read


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("20 % / year", 1.2),
        ("-20 % / year", 0.8),
        ("1 % / month", 1.01**12),
        ("1 % / day", 1.01**365.25),
        ("1000 % / year", 11.0),
        ("-99 % / year", 0.01),
        ("0 % / week", 1.0),
    ],
)
def test_growth_is_a_yearly_factor(text: str, factor: float) -> None:
    assert quantities.growth(text) == pytest.approx(factor)


@pytest.mark.parametrize("text", ["-100 % / year", "1001 % / year", "20 %", 20])
def test_growth_beyond_its_bounds_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="must be growth"):
        quantities.growth(text)


@pytest.mark.parametrize("value", [0.5, 1.0, 2.0])
def test_a_factor_has_its_value_in_the_middle_and_its_ends_at_two_standard_deviations(
    value: float,
) -> None:
    found = Factor(value, value / 2, value * 4)
    assert found.drawn(0.0) == pytest.approx(value)
    assert found.drawn(1.959964) == pytest.approx(4 * value)
    assert found.drawn(-1.959964) == pytest.approx(value / 2)
    assert found.drawn(0.979982) == pytest.approx(value * 2)


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_a_factor_without_a_lower_end_has_the_relative_distance_of_its_upper_end(low: float) -> None:
    found = Factor(2.0, low, 8.0)
    assert found.drawn(-1.959964) == pytest.approx(0.5)
    assert found.drawn(1.959964) == pytest.approx(8.0)
    assert Factor(2.0, 1e-3, 8.0).drawn(-1.959964) == pytest.approx(1e-3)


def test_an_interval_beside_its_value_is_widened_to_it() -> None:
    assert Factor(1.0, 2.0, 4.0).drawn(-1.959964) == pytest.approx(1.0)
    assert Factor(4.0, 1.0, 2.0).drawn(1.959964) == pytest.approx(4.0)


def test_corrections_multiply_what_the_simulation_found() -> None:
    ratio, correction = Factor(1.0, 0.5, 2.0), Factor(3.0, 2.0, 4.0)
    found = drawn_factors({0: ratio}, {0: correction, 1: correction}, (3, 8), "app")
    first = ratio.drawn(scores(8, "simulation 0 app")[3])
    assert found[0].value == pytest.approx(first * correction.drawn(scores(8, "correction 0")[3]))
    assert found[1].value == pytest.approx(correction.drawn(scores(8, "correction 1")[3]))
    assert found[1].low == found[1].high == found[1].value


@pytest.mark.parametrize(("count", "outside"), [(39, 0), (40, 1), (79, 1), (80, 2), (200, 5), (1, 0)])
def test_at_most_a_fortieth_of_the_draws_lies_outside_on_each_side(count: int, outside: int) -> None:
    assert draws_outside(count) == outside
    assert between(range(count)) == Interval(float(outside), float(count - 1 - outside))


def test_an_unknown_end_of_a_stored_interval_is_infinite() -> None:
    assert interval_of({"low": None, "high": None}) == Interval(-math.inf, math.inf)
    assert interval_of([1.0, 2.0]) == Interval(1.0, 2.0)
    assert interval_of(None) is None
    assert Interval(1.0, math.inf).document() == {"low": 1.0, "high": None}
    assert Interval(1.0, 2.0).around(3.0) == Interval(1.0, 3.0)
    assert Interval(1.0, 2.0).around(0.5) == Interval(0.5, 2.0)


@pytest.mark.parametrize(
    ("low", "high", "point"),
    [(1.0, 1.0, True), (1.0, 1.0 + 0.9e-9, True), (1.0, 1.0 + 1.1e-9, False), (0.0, 0.0, True), (1.0, math.inf, False)],
)
def test_an_interval_without_a_width_is_a_point(low: float, high: float, point: bool) -> None:
    assert Interval(low, high).is_point is point


@pytest.mark.parametrize(("count", "low", "high"), [(0, 0.0, 0.0370), (100, 0.9630, 1.0), (50, 0.4038, 0.5962)])
def test_a_share_of_draws_has_the_interval_of_wilson(count: int, low: float, high: float) -> None:
    found = share_between(count, 100)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("percent", "text"),
    [
        (100.0, "above 99.9"),
        (99.96, "99.96"),
        (99.9999, "99.9999"),
        (50.0, "50"),
        (0.0, "0"),
        (1e-3, "0.001"),
        (4e-4, "0.0004"),
    ],
)
def test_a_percentage_below_all_is_not_shown_as_all(percent: float, text: str) -> None:
    assert _below_all(percent) == text
    assert share_text(1.0) == "100 %"
    assert share_text(1.5) == "150 %"
    assert share_text(None) == "-"


def solved(**parts: object) -> SolvedNetwork:
    """Return a solved network without classes and stations, except for the given parts."""
    return SolvedNetwork.model_validate({"classes": {}, "stations": {}, "method": "", "exact": True, **parts})


def job_class(**values: object) -> dict[str, object]:
    return {"throughput_per_s": 1.0, "response_time_s": 0.1, "users_in_system": 0.1, **values}


def answer(utilization: float, rate: float, most: float | None = 10.0) -> SolvedNetwork:
    limits = {"throughput_per_s": {"lower": 0.0, "upper": most}, "response_time_s": {"lower": 0.2, "upper": None}}
    return solved(
        stations={"app": {"utilization": utilization, "queue_length": 1.0}},
        classes={"web": job_class(throughput_per_s=rate)},
        bounds={"web": limits},
    )


@pytest.mark.parametrize(
    ("utilization", "rate", "most", "wrong"),
    [
        (1.0, 10.0, 10.0, ""),
        (1.0 + 0.9e-6, 10.0, 10.0, ""),
        (1.01, 10.0, 10.0, "utilization of app 101 %"),
        (0.5, 10.1, 10.0, "10.1 /s of web, above the bound of 10 /s"),
        (0.5, 10.1, None, ""),
    ],
)
def test_a_solution_beyond_a_theoretical_bound_is_detected(
    utilization: float, rate: float, most: float | None, wrong: str
) -> None:
    assert bounds.outside(answer(utilization, rate, most)) == wrong


def check(name: str | None, metric: str, *, limit: float = 1.0) -> Any:
    upward = metric == "throughput"
    ratio = (lambda value: limit / value) if upward else (lambda value: value / limit)
    objective = SimpleNamespace(metric=metric)
    return SimpleNamespace(name=name, objective=objective, upward=upward, ratio=ratio, text="objective", unit="s")


@pytest.mark.parametrize(
    ("name", "metric", "users", "most", "best"),
    [
        (None, "throughput", 0, 10.0, 10.0),
        (None, "throughput", 0, None, None),
        ("web", "throughput", 0, 10.0, 10.0),
        ("web", "mean", 0, 10.0, 0.2),
        ("web", "mean", 50, 10.0, 3.0),
        ("web", "mean", 21, 10.0, 0.2),
        ("web", "mean", 50, None, 0.2),
        ("web", "p95", 50, 10.0, None),
        ("other", "mean", 50, 10.0, None),
    ],
)
def test_the_best_value_within_the_bounds_follows_from_little(
    name: str | None, metric: str, users: int, most: float | None, best: float | None
) -> None:
    model = EngineModel([JobClass("web", users, 2.0)], [])
    found = bounds._best(check(name, metric), model, answer(1.1, 10.0, most))
    assert found == (None if best is None else pytest.approx(best))


def test_a_candidate_that_misses_at_its_bounds_is_refused_and_any_other_cannot_be_judged() -> None:
    model = EngineModel([JobClass("web", 0)], [])
    missed = SimpleNamespace(checks=[check("web", "mean", limit=0.1999)])
    assert "missed even at the theoretical bound, 0.2 s" in bounds.refused_by_bounds(missed, model, answer(2, 1), "x")
    met = SimpleNamespace(checks=[check("web", "mean", limit=0.2)])
    with pytest.raises(ModelError, match="exceeds its theoretical bounds"):
        bounds.refused_by_bounds(met, model, answer(2, 1), "x")


def test_options_have_the_capacity_and_the_price_of_all_their_nodes() -> None:
    assert Option(3, 8, 0.5).capacity == 12.0
    assert [(each.nodes, each.cpus, each.price) for each in plain_options([2, 4], [1, 3], 5.0)] == [
        (1, 2, 10.0), (1, 4, 20.0), (3, 2, 30.0), (3, 4, 60.0),
    ]  # fmt: skip
    assert plain_options([2], [1], None)[0].price is None
    machine = SimpleNamespace(name="m", cpus=8, price=SimpleNamespace(amount=7.0), memory=2**30)
    (found,) = machine_options([machine], {"m": SimpleNamespace(value=2.0, low=1.5, high=2.5)}, [3])  # type: ignore[list-item, dict-item]
    assert (found.cpus, found.speed, found.speed_low, found.speed_high, found.price) == (8, 2.0, 1.5, 2.5, 21.0)


def test_the_cost_is_the_price_then_the_capacity_then_the_cpus() -> None:
    def by(*options: Option) -> Cost:
        return cost_of([Tier("a", ("s",), options)], "EUR")

    assert by(Option(1, 2, price=1.0), Option(1, 4, price=2.0)) == Cost("price", "EUR")
    assert by(Option(1, 2, price=1.0), Option(1, 4, 2.0)).by == "capacity"
    assert by(Option(1, 2), Option(1, 4)).by == "CPUs"
    assert Cost("capacity", "").of((Option(2, 3, 0.5), Option(1, 4))) == 7.0
    assert Cost("CPUs", "").of((Option(2, 3, 0.5), Option(1, 4))) == 10.0


def test_the_strongest_option_has_the_largest_number_of_each_kind() -> None:
    tier = Tier("a", ("s",), (Option(1, 8, 1.0), Option(4, 2, 0.5)))
    assert tier.strongest == Option(4, 8, 1.0)
    assert (tier.scales, Tier("a", ("s",), (Option(1, 8),)).scales) == (True, False)


def test_jobs_at_once_grow_with_the_servers_and_pools_with_the_nodes() -> None:
    def strong(at_once: int | None, layout: Layout | None) -> tuple[int, int | None]:
        found = _strong(Station("app", servers=4, at_once=at_once), layout)
        return found.servers, found.at_once

    assert strong(10, Layout(1, 8, 1.0)) == (8, 20)
    assert strong(1, Layout(1, 2, 1.0)) == (2, 2)
    assert strong(None, Layout(1, 2, 1.0)) == (2, None)
    assert strong(10, None) == (4, 10)
    model = EngineModel([], [], [Pool("threads", 5, ["app", "db"]), Pool("lock", 4, ["lan"])])
    layouts = {"app": Layout(3, 1, 1.0), "db": Layout(2, 1, 1.0)}
    found = _with_nodes(model, {"app": ["app-1", "app-2", "app-3"], "db": ["db-1", "db-2"]}, layouts)
    assert [pool.size for pool in found.pools] == [15, 4]
    assert found.pools[0].holds == ["app-1", "app-2", "app-3", "db-1", "db-2"]
    assert found.pools[1].holds == ["lan"]


SIZING = "schema: towtank/sizing/1\nobjectives: [p95 < 1 s]\n"


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("load: {mix: {a: 60 %, b: 40 %}}", None),
        ("load: {mix: {a: 60 %, b: 41 %}}", "must be shares that add up to 100 %, got 101 %"),
        ("load: {mix: {a: 60 %, b: 39 %}}", "must be shares that add up to 100 %, got 99 %"),
        ("load: {growth: 20 % / year, growth_interval: [20 % / year, 30 % / year]}", None),
        ("load: {growth: 20 % / year, growth_interval: [10 % / year, 20 % / year]}", None),
        (
            "load: {growth: 20 % / year, growth_interval: [21 % / year, 30 % / year]}",
            "must be a lower and an upper end",
        ),
        (
            "load: {growth: 20 % / year, growth_interval: [10 % / year, 19 % / year]}",
            "must be a lower and an upper end",
        ),
        ("load: {growth_interval: [10 % / year, 19 % / year]}", "must be given with 'growth'"),
        ("load: {horizon: 1 year}", "must be given with 'growth' or 'history'"),
        ("hit_ratios: {c: {station: s, memory: [1 GiB, 2 GiB], hit_ratio: [10 %, 20 %], now: 1 GiB}}", None),
        ("hit_ratios: {c: {station: s, memory: [1 GiB, 2 GiB], hit_ratio: [10 %, 20 %], now: 2 GiB}}", None),
        (
            "hit_ratios: {c: {station: s, memory: [1 GiB, 2 GiB], hit_ratio: [10 %, 20 %], now: 3 GiB}}",
            "must be within",
        ),
        (
            "hit_ratios: {c: {station: s, memory: [2 GiB, 3 GiB], hit_ratio: [10 %, 20 %], now: 1 GiB}}",
            "must be within",
        ),
        (
            "hit_ratios: {c: {station: s, memory: [1 GiB, 2 GiB], hit_ratio: [10 %, 20 %, 30 %], now: 1 GiB}}",
            "must have a hit ratio",
        ),
        ("hit_ratios: {c: {station: s, memory: [2 GiB, 1 GiB], hit_ratio: [10 %, 20 %], now: 1 GiB}}", "ascending"),
        ("tiers: {app: {stations: [a, b]}}", "must be one station"),
        ("tiers: {app: {stations: [a]}}", None),
        ("tiers: {app: {disk_size: 1 TiB}}", "must be given with kind: disk only"),
        ("tiers: {app: {disk_size: 1 TiB, kind: disk}}", None),
        ("tiers: {app: {}}\nmemory: {ap: [{what: x, size: 1 GiB}]}", "did you mean 'app'"),
    ],
)
def test_keys_of_a_sizing_file_do_not_contradict_each_other(lines: str, fault: str | None) -> None:
    faults = check_sizing(read(SIZING + lines + "\n", "sizing.yaml"))
    assert [each.message for each in faults] == [] if fault is None else any(fault in str(each) for each in faults)


def fitted(throughput: float, error: float | None = 0.0) -> Any:
    return SimpleNamespace(throughput=throughput, held_out_error=error, held_out_interval=None, percentiles={})


def asked_of(monkeypatch: pytest.MonkeyPatch, asked: float, **basis: Any) -> Any:
    monkeypatch.setattr(trust, "_asked", lambda _question: asked)
    given = {"fitted": fitted(10.0), "guess": "", "asserted": False, "unreached": False, "source": "x", **basis}
    return SimpleNamespace(basis=SimpleNamespace(**given))


@pytest.mark.parametrize(("asked", "refused"), [(100.0, False), (100.1, True)])
def test_hardware_is_sized_up_to_ten_times_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, asked: float, refused: bool
) -> None:
    found = asked_of(monkeypatch, asked)
    if refused:
        with pytest.raises(MeasurementError, match="would be a guess"):
            trust.refuse_a_guess(found, beyond=False)
    else:
        trust.refuse_a_guess(found, beyond=False)
    trust.refuse_a_guess(found, beyond=True)


@pytest.mark.parametrize(
    ("asked", "error", "unreached", "known"),
    [
        (10.0, trust.MISS_LIMIT * 2, False, True),
        (10.1, trust.MISS_LIMIT * 2, False, False),
        (10.1, -trust.MISS_LIMIT * 2, False, False),
        (10.1, trust.MISS_LIMIT, False, True),
        (10.1, None, False, True),
        (10.1, 0.0, True, False),
        (10.0, 0.0, True, True),
    ],
)
def test_a_load_above_what_was_measured_has_a_probability_if_the_model_held(
    monkeypatch: pytest.MonkeyPatch, asked: float, error: float | None, unreached: bool, known: bool
) -> None:
    found = trust.no_probability(asked_of(monkeypatch, asked, fitted=fitted(10.0, error), unreached=unreached))
    assert (found == "") is known


def historic(
    length_d: float, season: str = "none", factors: tuple[float, float] = (1.0, 1.0), margin: float = 0.0
) -> Any:
    growing = object.__new__(HistoricGrowth)
    trend = SimpleNamespace(form="linear")
    history = SimpleNamespace(length_d=length_d, season=season, margin=margin, trend=trend)
    other = SimpleNamespace(
        factor=lambda _d: factors[1], history=SimpleNamespace(trend=SimpleNamespace(form="exponential"))
    )
    for name, value in {"history": history, "start": date(2026, 3, 1)}.items():
        object.__setattr__(growing, name, value)
    return growing, other


@pytest.mark.parametrize(
    ("ratio", "doubted"), [(trust.FORMS_APART - 0.001, False), (trust.FORMS_APART, True), (1 / trust.FORMS_APART, True)]
)
def test_forms_of_growth_that_lie_apart_are_a_doubt(
    monkeypatch: pytest.MonkeyPatch, ratio: float, doubted: bool
) -> None:
    growing, other = historic(100, factors=(1.0, ratio))
    monkeypatch.setattr(HistoricGrowth, "otherwise", other, raising=False)
    monkeypatch.setattr(HistoricGrowth, "factor", lambda _self, _d: 1.0)
    assert bool(trust._form_doubts(growing, 365.0)) is doubted
    assert trust._form_doubts(growing, 0.0) == []


@pytest.mark.parametrize(
    ("margin", "words"), [(0.0, "does not show"), (trust.SURE, "does not show"), (-1e6, "better than")]
)
def test_a_form_is_sure_beyond_its_margin(monkeypatch: pytest.MonkeyPatch, margin: float, words: str) -> None:
    growing, other = historic(100, factors=(1.0, 2.0), margin=margin)
    monkeypatch.setattr(HistoricGrowth, "otherwise", other, raising=False)
    monkeypatch.setattr(HistoricGrowth, "factor", lambda _self, _d: 1.0)
    assert words in trust._form_doubts(growing, 365.0)[0]


@pytest.mark.parametrize(("loss", "doubted"), [(0.001, False), (0.0011, True), (0.5, True)])
def test_losses_that_no_objective_limits_are_a_doubt(loss: float, doubted: bool) -> None:
    outcome: Any = SimpleNamespace(loss={"web": loss}, throughput={"web": 5.0})
    found = trust._losses(SimpleNamespace(checks=[]), outcome)  # type: ignore[arg-type]
    assert bool(found) is doubted
    if loss == 0.5:
        assert "5 /s of 10 /s are served" in found[0]
    limited: Any = SimpleNamespace(checks=[SimpleNamespace(is_loss=True, name="web")])
    assert trust._losses(limited, outcome) == []


def test_a_simulated_loss_is_a_share_of_what_came() -> None:
    def loss(throughput: float, **ends: object) -> tuple[float | None, float | None, float | None]:
        found = job_class(throughput_per_s=throughput, dropped_per_s=2.0, confidence_interval=ends)
        return simulated._loss(SolvedClass.model_validate(found))

    assert loss(8.0, dropped_per_s=[1.0, 3.0]) == pytest.approx((0.2, 0.1, 0.3))
    assert loss(8.0, dropped_per_s=[None, 3.0]) == (None, None, None)
    assert loss(8.0) == (None, None, None)
    assert loss(0.0, dropped_per_s=[1.0, 3.0]) == (1.0, 0.0, 0.0)


def short(measured: float | None, *holds: bool | None) -> bool:
    classes = {str(n): job_class(little=None if law is None else {"holds": law}) for n, law in enumerate(holds)}
    run = {"stopped": "", "replications": 2, "events": 1, "warm_up_share": 0.0, "confidence": 0.95, "widest": ""}
    run |= {"precision_reached": None, "measured_relaxations": measured}
    return simulated._is_short(solved(classes=classes, simulation=run))


def test_a_simulation_is_short_below_its_relaxations_or_against_little() -> None:
    assert [short(value, True) for value in (23.9, 24.0, 24.1, None)] == [True, False, False, False]
    assert (short(30.0, True, False), short(30.0, None, True)) == (True, False)


def test_a_growth_without_an_interval_is_certain() -> None:
    assert GivenGrowth is not None
    growing: Any = SimpleNamespace(notes=(), certain=True)
    file = SimpleNamespace(load=SimpleNamespace(horizon=365.0, start=None))
    assert "give growth_interval" in trust._growth_doubts(SimpleNamespace(file=file), growing)[0]  # type: ignore[arg-type]
    file.load.horizon = 0.0
    assert trust._growth_doubts(SimpleNamespace(file=file), growing) == []  # type: ignore[arg-type]


def pool_wait(monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any]) -> tuple[float, Interval]:
    found = iter(answers)
    monkeypatch.setattr(simulated_pool, "simulate_models", lambda *_: SimulatedOutcome.model_validate(next(found)))
    return simulated_pool._wait({}, "db", 0.02)


def test_the_wait_for_a_pool_is_that_of_the_class_that_waits_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    pool: dict[str, Any] = {
        "utilization": 0.5,
        "held": 2.0,
        "waiting_time_s": {"a": 0.1, "b": 0.4},
        "waiting": 2.0,
        "confidence_interval": {"waiting_time_s.b": [0.3, 0.5], "waiting_time_s.a": [0.0, 0.2], "waiting": [1.0, 3.0]},
    }
    empty = {"classes": {}, "stations": {}, "method": "", "exact": False}
    steady = {"answers": [{**empty, "steady": True, "pools": {"db": pool}}]}
    assert pool_wait(monkeypatch, steady) == (0.4, Interval(0.3, 0.5))
    pool["confidence_interval"]["waiting_time_s.b"] = [None, None]
    assert pool_wait(monkeypatch, steady) == (0.4, Interval(0.0, pytest.approx(0.6)))
    pool["waiting_time_s"] = {}
    assert pool_wait(monkeypatch, steady) == (0.0, Interval(0.0, 0.0))
    assert pool_wait(monkeypatch, {"answers": [{**empty, "steady": False}]})[0] == math.inf
    assert pool_wait(monkeypatch, {"faults": []})[0] == math.inf


@pytest.mark.parametrize(
    ("interval", "finer"),
    [((0.1, 0.2), True), ((0.05, 0.1), False), ((0.11, 0.2), False), ((0.05, 0.11), True), ((0.0, math.inf), False)],
)
def test_a_wait_whose_interval_contains_the_limit_is_simulated_again(
    monkeypatch: pytest.MonkeyPatch, interval: tuple[float, float], finer: bool
) -> None:
    seen: list[float] = []

    def wait(model: float, _name: str, precision: float) -> tuple[float, Interval]:
        seen.append(precision)
        return model, Interval(*interval)

    monkeypatch.setattr(simulated_pool, "_wait", wait)
    monkeypatch.setattr(simulated_pool, "with_pool", lambda _question, _pool, job, _size: job)
    found = simulated_pool._simulated_wait(None, ("db", None), [0.1, 0.3, 0.2], 5, 0.1)  # type: ignore[arg-type, list-item]
    assert (found.size, found.value) == (5, 0.3)
    assert seen == [0.02] * 3 + ([0.005] * 3 if finer else [])
