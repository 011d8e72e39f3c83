"""Compares configurations at equal load: computes the ratios of their measured values, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from towtank.analysis.elasticity import Elasticity
from towtank.analysis.statistics import ratio_interval
from towtank.analysis.statistics.estimates import Estimate, estimate_from_document, estimate_of
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE, is_repeated, with_run_to_run
from towtank.load_level import Load

# Number of transactions to list at each load level, sorted by the size of their change. The study summary contains all
# transactions.
TRANSACTIONS_SHOWN = 3


def comparisons(
    factors: list[dict[str, Any]],
    load_factor: str | None,
    configurations: list[dict[str, Any]],
    run_to_run: float = ASSUMED_SHARE,
) -> list[dict[str, Any]]:
    """Compare each level of a factor with the first level of that factor. All other factors have equal levels.

    Parameters
    ----------
    factors, configurations : list of dict
        Factors and configurations, as in a study summary.
    load_factor : str or None
    run_to_run : float, default 0.1
        Assumed standard deviation of the system's speed from run to run, relative to the speed. It is used for points
        (load levels) with a single run. [1]

    Returns
    -------
    list of dict
        `factor`, `from`, `to`, the load, `metric`, both values and their ratio to / from. If a point has a single run,
        `differs` is None, and the interval of the ratio covers only the scatter within the runs. `assumed` then has an
        interval that also covers the assumed differences from run to run, relative to each value (`to_share`,
        `from_share`). `pace_ratio` is the CPU time of a fixed amount of work at `to`, divided by its CPU
        time at `from`; None if not observed.
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
                    "pace_ratio": _pace_ratio(first, second),
                }
                found += [{**head, **line} for line in _lines(first, second, run_to_run)]
    return found


def compared_points(comparison: Mapping[str, Any], configurations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the load levels (points) of both configurations that one comparison covers."""
    sides = [{**comparison.get("others", {}), comparison["factor"]: comparison[end]} for end in ("from", "to")]
    load = _level(comparison)
    return [
        point
        for configuration in configurations
        if configuration["key"] in sides
        for point in configuration["points"]
        if _level(point) == load
    ]


def _level(document: Mapping[str, Any]) -> float | None:
    load = Load.read(document)
    return None if load is None else load.level


def suspect_runs(points: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the suspect runs at the given load levels."""
    return [
        str(run)
        for point in points
        for run, verdict in zip(point.get("runs") or (), point.get("verdicts") or (), strict=False)
        if verdict == "suspect"
    ]


def _pace_ratio(first: Mapping[str, Any], second: Mapping[str, Any]) -> float | None:
    base, other = first.get("pace_s"), second.get("pace_s")
    return float(other) / float(base) if base and other else None


def _load(point: dict[str, Any]) -> dict[str, Any]:
    return {key: point[key] for key in ("users", "rate", "load") if key in point}


def _pairs(
    name: str, base_level: str, configurations: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield pairs of configurations that differ in the named factor alone. The first configuration of each pair has the
    first level of this factor.
    """
    for base in configurations:
        if base["key"].get(name) != base_level:
            continue
        rest = {key: level for key, level in base["key"].items() if key != name}
        for other in configurations:
            same = {key: level for key, level in other["key"].items() if key != name} == rest
            if same and other["key"].get(name) != base_level:
                yield base, other


def _points(base: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield pairs of points (load levels) of two configurations with the same load. Each point has at least one run
    that is not invalid.
    """
    table = {point["load"]: point for point in other["points"]}
    for point in base["points"]:
        second = table.get(point["load"])
        if second is not None and all(
            any(verdict != "invalid" for verdict in side["verdicts"]) for side in (point, second)
        ):
            yield point, second


def _lines(first: dict[str, Any], second: dict[str, Any], run_to_run: float) -> Iterator[dict[str, Any]]:
    found = [Elasticity.read(point.get("elasticity")) for point in (second, first)]
    for line in _plain_lines(first, second):
        quantity = line["metric"].partition(" of ")[0].split(".")
        yield {**line, **_decided(line, run_to_run, [each.of(quantity) for each in found])}


def _decided(line: dict[str, Any], run_to_run: float, elasticities: Sequence[float]) -> dict[str, Any]:
    """Decide whether two values differ, and return the entries `differs` and `assumed` of a comparison.

    If both values come from several runs, the interval over the runs decides. If a value comes from a single run, its
    interval is widened: the assumed difference of the system's speed from run to run is multiplied by the elasticity of
    the value, and added.
    """
    values = [estimate_from_document(line[key]) for key in ("to_value", "from_value")]
    if all(is_repeated(value) for value in values):
        return {"differs": _excludes_one(line["ratio"]), "assumed": None}
    shares = [run_to_run * each for each in elasticities]
    widened = [
        value if is_repeated(value) else with_run_to_run(value, share)
        for value, share in zip(values, shares, strict=True)
    ]
    ratio = ratio_interval(*widened).document()
    assumed = {
        "run_to_run": run_to_run,
        "to_share": shares[0],
        "from_share": shares[1],
        "low": ratio["low"],
        "high": ratio["high"],
        "differs": _excludes_one(ratio),
    }
    return {"differs": None, "assumed": assumed}


def _excludes_one(ratio: dict[str, Any]) -> bool | None:
    return None if ratio["low"] is None else not ratio["low"] <= 1 <= ratio["high"]


def is_certain_change(line: dict[str, Any]) -> bool:
    """Return True if the change between two values is significant. If a value comes from a single run, this relies on
    the assumed difference between runs.
    """
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
    # Largest change first, relative to the scatter within the runs. `_decided` adds the scatter between runs later.
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
    """Return a lower bound of the factor by which a value changed, and the estimated factor. Both are at least 1:
    halving and doubling are both a factor of 2.

    The lower bound is the limit of the interval that is nearer to 1. It is 1 if the interval contains 1 or is unknown.
    """
    ratio = line["ratio"]
    bounds = ratio if line["differs"] else line.get("assumed") or ratio
    certain = min(_times(bounds["low"]), _times(bounds["high"])) if is_certain_change(line) else 1.0
    return certain, _times(ratio["value"])


def _times(ratio: float | None) -> float:
    return max(ratio, 1 / ratio) if ratio and ratio > 0 else 1.0
