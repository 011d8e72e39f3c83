"""Compares configurations at equal load: computes the ratios of their measured values, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from towtank.analysis.elasticity import Elasticity
from towtank.analysis.factors import Factor
from towtank.analysis.load_point import LoadPoint, TierAtLoad
from towtank.analysis.statistics import ratio_interval
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE, is_repeated, with_run_to_run
from towtank.analysis.study_summary import AssumedChange, Comparison, Configuration

# Number of transactions to list at each load level, sorted by the size of their change. The study summary contains all
# transactions.
TRANSACTIONS_SHOWN = 3


@dataclass(frozen=True)
class _Pair:
    """Points of two configurations with equal load. The configurations differ in the named factor alone."""

    factor: str
    base: Configuration
    other: Configuration
    first: LoadPoint
    second: LoadPoint

    def compared(
        self,
        metric: str,
        of: Callable[[LoadPoint], Estimate],
        transaction: str | None = None,
        tier: str | None = None,
        part: str | None = None,
    ) -> Iterator[Comparison]:
        """Yield the comparison of a metric; nothing if a value is unknown, or if the first value is 0."""
        base, other = of(self.first), of(self.second)
        if not base.value or other.value is None:
            return
        ratio = ratio_interval(other, base).written
        paces = self.first.pace_s, self.second.pace_s
        yield Comparison(
            factor=self.factor,
            from_level=self.base.key[self.factor],
            to_level=self.other.key[self.factor],
            users=self.first.users,
            rate=self.first.rate,
            load=self.first.load,
            others={key: level for key, level in self.base.key.items() if key != self.factor},
            pace_ratio=paces[1] / paces[0] if paces[0] and paces[1] else None,
            rested_page_from_s=self.first.rested_page_s,
            rested_page_to_s=self.second.rested_page_s,
            metric=metric,
            transaction=transaction,
            tier=tier,
            part=part,
            from_value=base,
            to_value=other,
            ratio=ratio,
            differs=_excludes_one(ratio),
        )


def comparisons(
    factors: Sequence[Factor],
    load_factor: str | None,
    configurations: Sequence[Configuration],
    run_to_run: float = ASSUMED_SHARE,
) -> list[Comparison]:
    """Compare each level of a factor with the first level of that factor. All other factors have equal levels.

    Parameters
    ----------
    factors : sequence of Factor
    load_factor : str or None
    configurations : sequence of Configuration
    run_to_run : float, default 0.1
        Assumed standard deviation of the system's speed from run to run, relative to the speed. It is used for points
        (load levels) with a single run. [1]

    Returns
    -------
    list of Comparison
        If a point has a single run, `differs` is None, and the interval of the ratio covers only the scatter within the
        runs. `assumed` then has an interval that also covers the assumed differences from run to run.
    """
    found: list[Comparison] = []
    for factor in factors:
        if factor.name == load_factor or len(factor.levels) < 2:
            continue
        for pair in _pairs(factor.name, factor.levels[0], configurations):
            elasticities = [Elasticity.read(point.elasticity) for point in (pair.second, pair.first)]
            found += [_decided(line, run_to_run, elasticities) for line in _lines(pair)]
    return found


def _pairs(name: str, base_level: str, configurations: Sequence[Configuration]) -> Iterator[_Pair]:
    """Yield pairs of points with the same load, which have at least one run that is not invalid. The first
    configuration of each pair has the first level of the factor.
    """
    for base in configurations:
        if base.key.get(name) != base_level:
            continue
        for other in configurations:
            same = {**other.key, name: base_level} == base.key
            if not same or other.key.get(name) == base_level:
                continue
            table = {point.load: point for point in other.usable}
            for point in base.usable:
                if (second := table.get(point.load)) is not None:
                    yield _Pair(name, base, other, point, second)


def _lines(pair: _Pair) -> Iterator[Comparison]:
    yield from pair.compared("throughput_per_s", lambda point: point.throughput_per_s)
    yield from pair.compared("response_time_s.mean", lambda point: point.response_time_s.mean)
    lines = [
        line
        for name in pair.first.transactions
        if name in pair.second.transactions
        for line in pair.compared(f"response_time_s.mean of {name}", partial(_mean, name), name)
    ]
    # Largest change first, relative to the scatter within the runs. `_decided` adds the scatter between runs later.
    yield from sorted(lines, key=strength, reverse=True)[:TRANSACTIONS_SHOWN]
    for tier in pair.first.tiers:
        yield from pair.compared(f"cpu_demand_s of {tier}", partial(_demand, tier, None), tier=tier)
        for part in pair.first.tiers[tier].parts:
            yield from pair.compared(
                f"cpu_demand_s of {tier} / {part}",
                partial(_demand, tier, part),
                tier=tier,
                part=part,
            )


def _mean(transaction: str, point: LoadPoint) -> Estimate:
    return point.transactions[transaction].mean_s


def _demand(tier: str, part: str | None, point: LoadPoint) -> Estimate:
    """Return the CPU time per transaction of a tier, or of a part of it; without a value if unknown. [s]"""
    use = point.tiers.get(tier, TierAtLoad())
    if part is None:
        return use.cpu_demand_s
    return use.parts[part].cpu_demand_s if part in use.parts else NO_ESTIMATE


def _decided(line: Comparison, run_to_run: float, elasticities: Sequence[Elasticity]) -> Comparison:
    """Decide whether two values differ, and return the comparison with `differs` and `assumed`.

    If both values come from several runs, the interval over the runs decides. If a value comes from a single run, its
    interval is widened: the assumed difference of the system's speed from run to run is multiplied by the elasticity of
    the value, and added.
    """
    values = line.to_value, line.from_value
    if all(map(is_repeated, values)):
        return line
    quantity = line.metric.partition(" of ")[0].split(".")
    shares = [run_to_run * each.of(quantity) for each in elasticities]
    widened = [
        value if is_repeated(value) else with_run_to_run(value, share)
        for value, share in zip(values, shares, strict=True)
    ]
    ratio = ratio_interval(*widened).written
    assumed = AssumedChange(
        run_to_run=run_to_run,
        to_share=shares[0],
        from_share=shares[1],
        low=ratio.low,
        high=ratio.high,
        differs=_excludes_one(ratio),
    )
    return line.model_copy(update={"differs": None, "assumed": assumed})


def _excludes_one(ratio: Estimate) -> bool | None:
    return None if ratio.low is None or ratio.high is None else not ratio.low <= 1 <= ratio.high


def strength(line: Comparison) -> tuple[float, float]:
    """Return a lower bound of the factor by which a value changed, and the estimated factor. Both are at least 1:
    halving and doubling are both a factor of 2.

    The lower bound is the limit of the interval that is nearer to 1. It is 1 if the interval contains 1 or is unknown.
    """
    bounds = line.ratio if line.differs or line.assumed is None else line.assumed
    certain = min(_times(bounds.low), _times(bounds.high)) if line.is_certain else 1.0
    return certain, _times(line.ratio.value)


def _times(ratio: float | None) -> float:
    return max(ratio, 1 / ratio) if ratio and ratio > 0 else 1.0
