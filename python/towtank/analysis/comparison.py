"""Configurations compared at equal load: the ratio of what was measured, with its interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from towtank.analysis.statistics import ratio_interval
from towtank.analysis.statistics.estimates import Estimate, estimate_of

# Of the transactions, those that changed most are worth a line at each level; the rest is in the points.
TRANSACTIONS_SHOWN = 3


def comparisons(
    factors: list[dict[str, Any]], load_factor: str | None, configurations: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Each level of every factor but the load against the factor's first level, all else equal.

    Returns
    -------
    list of dict
        `factor`, `from`, `to`, the load, `metric`, both values and their ratio to / from.
    """
    found = []
    for factor in factors:
        name, levels = factor["name"], [str(level) for level in factor["levels"]]
        if name == load_factor or len(levels) < 2:
            continue
        for base, other in _pairs(name, levels[0], configurations):
            for first, second in _points(base, other):
                head = {
                    "factor": name,
                    "from": base["key"][name],
                    "to": other["key"][name],
                    **_load(first),
                    "others": {key: level for key, level in base["key"].items() if key != name},
                }
                found += [{**head, **line} for line in _lines(first, second)]
    return found


def _load(point: dict[str, Any]) -> dict[str, Any]:
    return {key: point[key] for key in ("users", "rate", "load") if key in point}


def _pairs(
    name: str, base_level: str, configurations: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Configurations that differ in one factor only, the first level of it against each other one."""
    for base in configurations:
        if base["key"].get(name) != base_level:
            continue
        rest = {key: level for key, level in base["key"].items() if key != name}
        for other in configurations:
            same = {key: level for key, level in other["key"].items() if key != name} == rest
            if same and other["key"].get(name) != base_level:
                yield base, other


def _points(base: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Points at equal load of which both have a run that is not invalid."""
    table = {point["load"]: point for point in other["points"]}
    for point in base["points"]:
        second = table.get(point["load"])
        if second is not None and all(
            any(verdict != "invalid" for verdict in one["verdicts"]) for one in (point, second)
        ):
            yield point, second


def _lines(first: dict[str, Any], second: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _line("throughput_per_s", first, second, "throughput_per_s")
    yield from _line("response_time_s.mean", first, second, "response_time_s", "mean")
    names = [name for name in first["transactions"] if name in second["transactions"]]
    lines = [
        line
        for name in names
        for line in _line(
            f"response_time_s.mean of {name}", first, second, "transactions", name, "mean_s", transaction=name
        )
    ]
    lines.sort(key=strength, reverse=True)
    yield from lines[:TRANSACTIONS_SHOWN]
    for tier in first["tiers"]:
        yield from _line(f"cpu_demand_s of {tier}", first, second, "tiers", tier, "cpu_demand_s", tier=tier)
        for part in first["tiers"][tier]["parts"]:
            path = ("tiers", tier, "parts", part, "cpu_demand_s")
            yield from _line(f"cpu_demand_s of {tier} / {part}", first, second, *path, tier=tier, part=part)


def _line(
    metric: str, first: dict[str, Any], second: dict[str, Any], *path: str, **about: str
) -> Iterator[dict[str, Any]]:
    base, other = estimate_of(first, *path), estimate_of(second, *path)
    if not base.value or other.value is None:
        return
    ratio: Estimate = ratio_interval(other, base)
    document = ratio.document()
    low, high = document["low"], document["high"]
    yield {
        "metric": metric,
        **about,
        "from_value": base.document(),
        "to_value": other.document(),
        "ratio": document,
        "differs": None if low is None else not low <= 1 <= high,
    }


def strength(line: dict[str, Any]) -> tuple[float, float]:
    """How strong a change is for certain, and how strong it seems; a half and a double count the same.

    For certain is the bound of the interval that is nearer to 1, so that few wild values do not pass for the largest
    change; an interval that holds 1, or none, makes nothing certain.
    """
    ratio = line["ratio"]
    certain = min(_times(ratio["low"]), _times(ratio["high"])) if line["differs"] else 1.0
    return certain, _times(ratio["value"])


def _times(ratio: float | None) -> float:
    return max(ratio, 1 / ratio) if ratio and ratio > 0 else 1.0
