from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import report_synthetic as synthetic

from towtank.load_level import Load
from towtank.model import CapacityModel
from towtank.report.content import observations, tables
from towtank.report.document import Table
from towtank.report.figures import FIGURES, MAIN, capacity_curve, cpu_by_tier, series, throughput, transactions
from towtank.report.source import Results, RunResult

Json = dict[str, Any]
RATES = (20, 40, 80)


def renamed(found: Any, *, bare: bool) -> Any:
    """Return the document with the key `rate` in place of `users`. If `bare` is true, the key `load` is removed."""
    if isinstance(found, dict):
        return {
            "rate" if key == "users" else key: renamed(value, bare=bare)
            for key, value in found.items()
            if not (bare and key == "load")
        }
    return [renamed(each, bare=bare) for each in found] if isinstance(found, list) else found


def open_results(*, bare: bool = False) -> Results:
    """Return the synthetic study with arrival rates in place of numbers of users."""
    study = synthetic.results(RATES)
    summary = renamed(json.loads(json.dumps(study.summary).replace('"users"', '"rate"')), bare=bare)
    runs = []
    for run in study.runs:
        rate = run.manifest["users"]
        factors = renamed(run.factors, bare=False)
        manifest = {**run.manifest, "users": None, "rate": rate, "factors": factors}
        counted = {"asked": None, "mean": 1.0}
        runs.append(
            RunResult(run.run_id, manifest, {**run.summary, "users": counted, "rate": rate, "factors": factors})
        )
    return replace(study, summary=summary, runs=tuple(runs))


def drawn_loads(found: Any) -> Iterator[float]:
    """Yield the loads of all measured points in the data of a figure. Only measured points have the key `state`."""
    if isinstance(found, dict):
        if "state" in found and isinstance(found.get("load"), int | float):
            yield float(found["load"])
        for value in found.values():
            yield from drawn_loads(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from drawn_loads(value)


@pytest.mark.parametrize("bare", [False, True])
def test_points_are_at_their_rates(bare: bool) -> None:
    results = open_results(bare=bare)
    points = series.throughput_of(results)
    assert [point.load for point in points] == [*map(float, RATES)] * 2
    assert {entry.load for entry in cpu_by_tier.compute(results).slices} == set(map(float, RATES))
    assert transactions.common_loads(results) == [20.0, 80.0]
    assert {point.load for point in throughput.compute(results).points} == set(map(float, RATES))


@pytest.mark.parametrize("bare", [False, True])
def test_every_transaction_table_is_there(bare: bool) -> None:
    blocks = [block for block in tables.build(open_results(bare=bare)).blocks if isinstance(block, Table)]
    captions = [block.caption for block in blocks if block.caption.startswith("Transactions at")]
    assert captions == [f"Transactions at {rate} arrival rate [1/s]" for rate in reversed(RATES)]
    assert [row[1] for row in blocks[0].rows] == [str(rate) for rate in RATES] * 2


def test_comparisons_name_the_rate() -> None:
    section = observations.build(open_results(bare=True))
    table = next(block for block in section.blocks if getattr(block, "caption", "").startswith("Comparison"))
    assert [row[1] for row in table.rows] == [str(rate) for rate in RATES]  # type: ignore[union-attr]


def test_no_figure_has_a_point_at_load_0() -> None:
    results = open_results()
    found = [made for _, make in (MAIN, *FIGURES) if (made := make(results)) is not None]
    loads = {figure.name: set(drawn_loads(figure.spec)) for figure in found}
    assert len(found) >= 6
    assert any(set(map(float, RATES)) <= of for of in loads.values())
    assert all(of <= set(map(float, RATES)) for of in loads.values())


@pytest.mark.parametrize(
    ("document", "load"),
    [
        ({"rate": 40, "load": 40}, Load("rate", 40.0)),
        ({"users": 30, "load": 30.0}, Load("users", 30.0)),
        ({"users": {"asked": None, "mean": 3.2}, "rate": 0.5}, Load("rate", 0.5)),
        ({"users": {"asked": 60}, "rate": None}, Load("users", 60.0)),
        ({"users": None, "rate": None}, None),
        ({"users": 0}, Load("users", 0.0)),
        ({"rate": float("nan")}, None),
        ({"rate": True}, None),
    ],
)
def test_a_load_is_read_with_its_kind(document: Json, load: Load | None) -> None:
    assert Load.read(document) == load
    assert load is None or load.is_open is ("rate" in document and document["rate"] is not None)


def test_whiskers_of_a_point_are_the_same_in_the_capacity_curve() -> None:
    results = synthetic.results(RATES, ("present",))
    points = series.throughput_of(results)
    rows = [
        {"load": float(load), "throughput": synthetic.throughput(load, "present"), "standard_error": 1.0,
         "response_s": 0.1} for load in RATES
    ]  # fmt: skip
    model = {"configurations": [{"label": "", "refused": None, "held_out": None, "grid": [], "points": rows,
                                 "knees": []}]}  # fmt: skip
    measured = capacity_curve.compute(replace(results, model=CapacityModel.model_validate(model))).measured
    whiskers = [(row.load, row.low, row.high) for row in measured if row.quantity == "throughput"]
    assert whiskers == [(point.load, point.low, point.high) for point in points]
