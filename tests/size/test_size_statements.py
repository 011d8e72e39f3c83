"""Each rule about further statements of a sizing can fail: if a statement is changed, its rule reports a violation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sizing_statements
from sizing_pairs import contradictions
from test_size_contradictions import answered, few_draws

Json = dict[str, Any]
__all__ = ["few_draws"]


def _first_class(found: Json) -> Json:
    classes: Json = found["answer"]["scenarios"][0]["classes"]
    entry: Json = next(iter(classes.values()))
    return entry


def _first_tier(found: Json) -> Json:
    tier: Json = next(iter(found["answer"]["tiers"].values()))
    return tier


def _grow(entry: Json, key: str, factor: float = 3.0) -> None:
    entry[key] *= factor


def _of_step(found: Json, start: str) -> Json:
    return next(step for step in found["steps"] if step["step"].startswith(start))


CHANGES: dict[str, list[Callable[[Json], Any]]] = {
    "costs": [
        lambda found: _grow(found["answer"], "cost"),
        lambda found: _grow(_first_tier(found), "cost"),
        lambda found: found["pareto"].clear(),
    ],
    "counts_of_the_search": [
        lambda found: found["search"].update(tried=found["search"]["candidates"] + 1),
        lambda found: found["search"].update(tried=0, simulated=0),
    ],
    "words_and_tiers": [lambda found: found["answer"].update(configuration="app 99 CPUs")],
    "tiers_and_scenarios": [
        lambda found: _grow(_first_tier(found)["utilization"], next(iter(_first_tier(found)["utilization"])), 0.9),
        lambda found: found["answer"]["scenarios"].append(
            found["answer"]["scenarios"][0] | {"lost": {"tier": "nobody", "nodes": 1}}
        ),
    ],
    "worst_scenario": [lambda found: _grow(found["answer"]["objectives"][0], "value", 0.99)],
    "busiest_station": [lambda found: _grow(found["answer"]["busiest"], "utilization", 0.9)],
    "bottlenecks_and_loads": [
        lambda found: _grow(found["bottlenecks"][0], "load_factor"),
        lambda found: _grow(found["bottlenecks"][-1], "load", 0.1),
        lambda found: found["bottlenecks"][0].update(utilization=1.2),
    ],
    "met_and_carried": [lambda found: _grow(found["what_if"][0], "load_at_limit", 0.001)],
    "dates_and_what_if": [
        lambda found: _grow(found["dates"][0], "limit", 1.1),
        lambda found: next(row for row in found["dates"] if row["missed_from"]).update(missed_from="2030-01-01"),
    ],
    "values_and_intervals": [
        lambda found: _grow(_first_class(found), "response_time_s"),
        lambda found: found["answer"].update(probability=found["answer"]["probability"] - 0.4),
        lambda found: _grow(found, "connections"),
        lambda found: found["trust"].update(draws=0),
    ],
    "bands_and_intervals": [
        lambda found: found["what_if"][0]["objectives"][0].update(band_95=[0.0, 1e9]),
        lambda found: _grow(next(iter(found["what_if"][0]["classes"].values()))["throughput_interval"], "low", 0.5),
    ],
    "one_queue_and_nodes": [
        lambda found: found["answer"].update(
            one_queue_bound=None if found["answer"]["one_queue_bound"] else {}, one_queue_interval={}
        ),
    ],
    "connections_and_users": [lambda found: _grow(found, "connections", 1.01)],
    "steps_and_tables": [
        lambda found, start=start: _grow(_of_step(found, start), "value", 1.01)
        for start in ("throughput of", "utilization of", "work at", "cost of", "connections", "mean of")
    ],
    "limits_and_reasons": [
        lambda found: found["answer"].update(no_limit="nothing limits it"),
        lambda found: found["dates"][0].update(no_limit="nothing limits it"),
    ],
}


@pytest.mark.waits
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("few_draws")
def test_each_rule_about_a_statement_can_fail(tmp_path: Path) -> None:
    found = next(
        document
        for seed in range(60)
        if (document := answered(tmp_path, seed)) and document["answer"] and document["trust"]["draws"]
        and document["what_if"] and "refused" not in document["what_if"][0] and document["what_if"][0]["met"]
        and any(row["missed_from"] for row in document["dates"]) and len(document["bottlenecks"]) > 1
        and not any("throughput" in text for text in document["objectives"])
        and document["answer"]["probability"] > 0.5
    )  # fmt: skip
    assert contradictions(found) == []
    assert set(CHANGES) == {rule.__name__ for rule in sizing_statements.RULES}
    for rule, changes in CHANGES.items():
        for number, change in enumerate(changes):
            changed = copy.deepcopy(found)
            change(changed)
            broken = {text.partition(":")[0] for text in contradictions(changed)}
            assert rule in broken, (rule, number, broken)
