"""Computes how the factors with two levels affect throughput and response time in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from towtank.analysis.factors import Factor
from towtank.analysis.load import estimate_in
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics.effects import Effect, two_level_effects
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate

METRICS: tuple[tuple[str, Callable[[RunSummary], Estimate]], ...] = (
    ("throughput_per_s", lambda run: run.throughput_per_s),
    ("response_time_s.mean", lambda run: estimate_in(run.response_time_s, "mean")),
    ("response_time_s.p95", lambda run: estimate_in(run.response_time_s, "p95")),
)
# Smallest and largest number of two-level factors for which effects are computed. For a single factor, `comparison`
# compares the two levels. With more than six factors, the table of effects is too long to read.
FACTORS = (2, 6)


@dataclass(frozen=True)
class FactorLevels:
    """Factor of a design, and its levels in their order."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class FactorEffect:
    """Effect of a factor or interaction of several factors: the change of a metric from the first to the second level,
    in its unit, and the share of the variation between the runs, in [0, 1]. `differs` is None without an interval.
    """

    factors: tuple[str, ...]
    change: Estimate = NO_ESTIMATE
    share: float | None = None
    differs: bool | None = None


@dataclass(frozen=True)
class EffectsOnMetric:
    """Effects of all two-level factors on a metric, at the levels `at` of the other factors, with the mean in the unit
    of the metric and the number of runs. [1]

    `error_share` is the share of repetitions in the variation between the runs, in [0, 1]. `spans` is the largest value
    divided by the smallest; None if the smallest is 0. [1] If it is large, effects multiply rather than add.
    """

    metric: str
    at: dict[str, str]
    factors: tuple[FactorLevels, ...]
    runs: int = 0
    mean: Estimate = NO_ESTIMATE
    effects: tuple[FactorEffect, ...] = ()
    error_share: float | None = None
    spans: float | None = None


def effects(factors: Sequence[Factor], runs: Sequence[RunSummary]) -> list[EffectsOnMetric]:
    """Compute the effects of all two-level factors. All other factors are fixed at each combination of their levels in
    turn.
    """
    binary = [FactorLevels(factor.name, factor.levels) for factor in factors if len(factor.levels) == 2]
    others = [factor for factor in factors if len(factor.levels) > 2]
    if not FACTORS[0] <= len(binary) <= FACTORS[1]:
        return []
    usable = [run for run in runs if run.verdict.level != "invalid"]
    found = []
    for levels in product(*(factor.levels for factor in others)):
        at = {factor.name: level for factor, level in zip(others, levels, strict=True)}
        found += list(_of_metrics(binary, at, [run for run in usable if _is_at(run, at)]))
    return found


def _is_at(run: RunSummary, at: Mapping[str, str]) -> bool:
    return all(str(run.factors.get(name)) == level for name, level in at.items())


def _of_metrics(
    binary: Sequence[FactorLevels], at: dict[str, str], runs: Sequence[RunSummary]
) -> Iterator[EffectsOnMetric]:
    for metric, value_of in METRICS:
        responses = _responses(binary, runs, value_of)
        if not all(responses):
            continue
        taken_apart = two_level_effects(responses)
        yield EffectsOnMetric(
            metric,
            at,
            tuple(binary),
            sum(map(len, responses)),
            taken_apart.mean,
            tuple(_effect(effect, binary) for effect in taken_apart.effects),
            taken_apart.error_share,
            _spans(responses),
        )


def _responses(
    binary: Sequence[FactorLevels], runs: Sequence[RunSummary], value_of: Callable[[RunSummary], Estimate]
) -> list[list[float]]:
    """Return the values of a metric in all runs, one list per configuration. The configurations are in standard order:
    the level of the first factor changes fastest.
    """
    cells = []
    for levels in product(*(factor.levels for factor in reversed(binary))):
        at = {factor.name: level for factor, level in zip(reversed(binary), levels, strict=True)}
        values = [value_of(run).value for run in runs if _is_at(run, at)]
        cells.append([value for value in values if value is not None])
    return cells


def _effect(effect: Effect, binary: Sequence[FactorLevels]) -> FactorEffect:
    change = effect.coefficient.scaled(2.0)
    differs = None if change.low is None or change.high is None else not change.low <= 0 <= change.high
    return FactorEffect(tuple(binary[index].name for index in effect.factors), change, effect.share, differs)


def _spans(responses: Sequence[Sequence[float]]) -> float | None:
    values = [value for cell in responses for value in cell]
    return max(values) / min(values) if min(values) > 0 else None
