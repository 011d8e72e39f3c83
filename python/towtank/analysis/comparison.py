"""Configurations compared at equal load: the ratio of what was measured, with its interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from towtank.analysis.statistics import ratio_interval
from towtank.analysis.statistics.estimates import Estimate, estimate_of, from_document
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE, is_repeated, with_run_to_run

# Of the transactions, those that changed most are worth a line at each level; the rest is in the points.
TRANSACTIONS_SHOWN = 3


def comparisons(
    factors: list[dict[str, Any]],
    load_factor: str | None,
    configurations: list[dict[str, Any]],
    run_to_run: float = ASSUMED_SHARE,
) -> list[dict[str, Any]]:
    """Each level of every factor but the load against the factor's first level, all else equal.

    Parameters
    ----------
    factors, configurations : list of dict
        As in a study summary.
    load_factor : str or None
    run_to_run : float, default 0.1
        Standard deviation from run to run, relative to the value, that is assumed of a point with one run. [1]

    Returns
    -------
    list of dict
        `factor`, `from`, `to`, the load, `metric`, both values and their ratio to / from. `differs` is None unless both
        points have two runs at least: the interval of the ratio is one within these runs then, and `assumed` has the
        one with the share from run to run.
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
                found += [{**head, **line} for line in _lines(first, second, run_to_run)]
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


def _lines(first: dict[str, Any], second: dict[str, Any], run_to_run: float) -> Iterator[dict[str, Any]]:
    for line in _plain_lines(first, second):
        yield {**line, **_decided(line, run_to_run)}


def _decided(line: dict[str, Any], run_to_run: float) -> dict[str, Any]:
    """Whether both values differ, by the interval over runs; of single runs, what a share from run to run leaves."""
    values = [from_document(line[key]) for key in ("to_value", "from_value")]
    if all(is_repeated(value) for value in values):
        return {"differs": _excludes_one(line["ratio"]), "assumed": None}
    widened = [value if is_repeated(value) else with_run_to_run(value, run_to_run) for value in values]
    ratio = ratio_interval(*widened).document()
    assumed = {"run_to_run": run_to_run, "low": ratio["low"], "high": ratio["high"], "differs": _excludes_one(ratio)}
    return {"differs": None, "assumed": assumed}


def _excludes_one(ratio: dict[str, Any]) -> bool | None:
    return None if ratio["low"] is None else not ratio["low"] <= 1 <= ratio["high"]


def is_certain(line: dict[str, Any]) -> bool:
    """Whether a comparison shows a difference, of single runs with what is assumed from run to run."""
    return bool(line["differs"] or (line.get("assumed") or {}).get("differs"))


def _plain_lines(first: dict[str, Any], second: dict[str, Any]) -> Iterator[dict[str, Any]]:
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
    # What differs within runs is listed first; whether it differs between them is decided afterwards.
    lines.sort(key=lambda line: strength({**line, "differs": _excludes_one(line["ratio"])}), reverse=True)
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
    yield {
        "metric": metric,
        **about,
        "from_value": base.document(),
        "to_value": other.document(),
        "ratio": ratio.document(),
    }


def strength(line: dict[str, Any]) -> tuple[float, float]:
    """How strong a change is for certain, and how strong it seems; a half and a double count the same.

    For certain is the bound of the interval that is nearer to 1, so that few wild values do not pass for the largest
    change; an interval that holds 1, or none, makes nothing certain.
    """
    ratio = line["ratio"]
    bounds = ratio if line["differs"] else line.get("assumed") or ratio
    certain = min(_times(bounds["low"]), _times(bounds["high"])) if is_certain(line) else 1.0
    return certain, _times(ratio["value"])


def _times(ratio: float | None) -> float:
    return max(ratio, 1 / ratio) if ratio and ratio > 0 else 1.0
