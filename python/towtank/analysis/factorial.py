"""Computes how the factors with two levels affect throughput and response time in a study."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from towtank.analysis.statistics.effects import Effect, two_level_effects
from towtank.analysis.statistics.estimates import estimate_of

METRICS = (
    ("throughput_per_s", ("throughput_per_s",)),
    ("response_time_s.mean", ("response_time_s", "mean")),
    ("response_time_s.p95", ("response_time_s", "p95")),
)
# Smallest and largest number of two-level factors for which effects are computed. For a single factor, `comparison`
# compares the two levels. With more than six factors, the table of effects is too long to read.
FACTORS = (2, 6)

Run = dict[str, Any]


def effects(factors: list[dict[str, Any]], runs: list[Run]) -> list[dict[str, Any]]:
    """Compute the effects of all two-level factors. All other factors are fixed at each combination of their levels in
    turn.
    """
    binary = [factor for factor in factors if len(factor["levels"]) == 2]
    others = [factor for factor in factors if len(factor["levels"]) > 2]
    if not FACTORS[0] <= len(binary) <= FACTORS[1]:
        return []
    usable = [run for run in runs if run["verdict"]["level"] != "invalid"]
    found = []
    for levels in product(*(factor["levels"] for factor in others)):
        at = {factor["name"]: str(level) for factor, level in zip(others, levels, strict=True)}
        found += list(_of_metrics(binary, at, [run for run in usable if _is_at(run, at)]))
    return found


def _is_at(run: Run, at: dict[str, str]) -> bool:
    return all(str(run["factors"].get(name)) == level for name, level in at.items())


def _of_metrics(binary: list[dict[str, Any]], at: dict[str, str], runs: list[Run]) -> Iterator[dict[str, Any]]:
    for metric, path in METRICS:
        responses = _responses(binary, runs, path)
        if not all(responses):
            continue
        taken_apart = two_level_effects(responses)
        yield {
            "metric": metric,
            "at": at,
            "factors": [
                {"name": factor["name"], "levels": [str(level) for level in factor["levels"]]} for factor in binary
            ],
            "runs": sum(len(cell) for cell in responses),
            "mean": taken_apart.mean.document(),
            "effects": [_document(effect, binary) for effect in taken_apart.effects],
            "error_share": taken_apart.error_share,
            "spans": _spans(responses),
        }


def _responses(binary: list[dict[str, Any]], runs: list[Run], path: tuple[str, ...]) -> list[list[float]]:
    """Return the values of a metric in all runs, one list per configuration. The configurations are in standard order:
    the level of the first factor changes fastest.
    """
    cells = []
    for levels in product(*(factor["levels"] for factor in reversed(binary))):
        at = {factor["name"]: str(level) for factor, level in zip(reversed(binary), levels, strict=True)}
        values = [estimate_of(run, *path).value for run in runs if _is_at(run, at)]
        cells.append([value for value in values if value is not None])
    return cells


def _document(effect: Effect, binary: list[dict[str, Any]]) -> dict[str, Any]:
    change = effect.coefficient.scaled(2.0)
    return {
        "factors": [binary[index]["name"] for index in effect.factors],
        "change": change.document(),
        "share": effect.share,
        "differs": None if change.low is None or change.high is None else not change.low <= 0 <= change.high,
    }


def _spans(responses: list[list[float]]) -> float | None:
    """Return the ratio of the largest to the smallest measured value (response); None if the smallest is 0.

    A large ratio suggests that effects multiply rather than add.
    """
    values = [value for cell in responses for value in cell]
    return max(values) / min(values) if min(values) > 0 else None
