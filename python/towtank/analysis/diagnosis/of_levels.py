"""Diagnoses what limits a configuration, based on all its load levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from towtank.analysis.aggregation import Point
from towtank.analysis.diagnosis.answer import Cause, Diagnosis, Place, limit_at
from towtank.analysis.diagnosis.connection_signs import occupied_s
from towtank.analysis.diagnosis.of_run import diagnose_run
from towtank.analysis.diagnosis.run_values import objects_at
from towtank.analysis.diagnosis.seen import Seen
from towtank.analysis.diagnosis.shape import Rate, flat_over, has_fallen
from towtank.analysis.diagnosis.sign import WEAK
from towtank.analysis.diagnosis.signs import nearly_full_cpus, signs
from towtank.analysis.load_point import LimitKind, LimitOfLevels
from towtank.analysis.system.rates import lookup
from towtank.estimates import few_digits

_SEVERAL_LEVELS, _SUPPORTED, _MEASURED, _WEAK = 0.95, 0.7, 0.9, 0.3
"""Degrees of belief in a cause, in (0, 1).

`_SEVERAL_LEVELS`: the cause was measured, and several load levels show the limit. `_SUPPORTED`: the cause is less
certain, and several load levels show the limit. `_MEASURED`: a cause with at least this degree counts as measured.
`_WEAK`: largest degree if the resource is at its limit even at the lowest load.
"""
_FAR_LOWER = 0.7
_SLOWER = 2.0
"""Factor by which the time that a request occupies a pooled connection must change under load to count as changed. [1]

If the time grows by this factor, the server behind the pool became slower. If the time falls by this factor, requests
share connections. The factor is high because the time is known from a few samples only.
"""
_DECISIVE = (LimitKind.CPU, LimitKind.ERRORS, LimitKind.OVERLOAD, LimitKind.UNKNOWN)


def diagnose_levels(points: Sequence[Point], limit: LimitOfLevels) -> Diagnosis:
    """Return the diagnosis of what limits a configuration.

    Parameters
    ----------
    points : sequence of Point
        Load levels of one configuration, in ascending order.
    limit : LimitOfLevels
        Result of `limits.of_levels.limit` for these load levels.

    Notes
    -----
    The load levels show whether throughput stopped growing. The runs at the highest usable level show which resource
    was at its limit. If no majority of these runs agrees, the cause is unknown. If a resource is at its limit even at
    the lowest level, it may be used by something other than the load, so the degree of belief is lower.
    """
    kind, evidence = limit.kind, limit.evidence
    ended = [point for point in points if point.usable]
    if not ended:
        return Diagnosis(Cause.UNKNOWN, unknown=("no run of this configuration has a result",))
    top = _showing(ended, kind)
    found = _agreed(top)
    if kind is LimitKind.NONE:
        return _none(found, evidence)
    flat = _flat(ended)
    if found.cause in (Cause.UNKNOWN, Cause.NONE):
        return _nearly_full(top, flat, ended) or _not_known(found, flat, limit, ended)
    sure, against = found.sure, found.against
    if _is_so_without_load(found, ended[0], top):
        # A disk may be at its limit even at the lowest load: at higher loads, the system combines several writes into
        # one.
        most = _SUPPORTED if found.cause is Cause.DISK else _WEAK
        sure, against = min(sure, most), (f"the same limit appears at the lowest load, {ended[0].load:,.6g}", *against)
    elif found.cause is Cause.POOL and (other := _other_than_pool(ended[0], top)) is not None:
        sure, against = min(sure, WEAK), (other, *against)
    elif flat and (found.is_likely or _is_far_lower(ended[0], top)) and kind in _DECISIVE and not against:
        sure = max(sure, _SEVERAL_LEVELS if sure >= _MEASURED else _SUPPORTED)
    place = found.place
    if found.cause not in (Cause.ERRORS, Cause.GENERATOR, Cause.MACHINE):
        place = replace(place, transaction=place.transaction or _slowed(ended))
    return replace(
        found, place=place, sure=sure, evidence=(*found.evidence, *([flat] if flat else [])), against=against
    )


def _nearly_full(top: Point, flat: str | None, points: Sequence[Point]) -> Diagnosis | None:
    """Return the diagnosis that a tier with nearly full CPUs limits throughput; None if the load levels do not show
    this.

    Each run at the level that shows the limit must have such a tier and no other sign of a limit. In addition,
    throughput must stay at its highest value.
    """
    rates = [value for point in points if (value := point.throughput.value) is not None]
    made = [diagnose_run(run) for run in top.documents]
    if flat is None or has_fallen(rates) or any(each.cause is not Cause.UNKNOWN for each in made):
        return None
    found = [next(nearly_full_cpus(Seen.of(run), flat), None) for run in top.documents]
    tiers = {None if sign is None else (sign.place.host, sign.place.tier) for sign in found}
    sign = found[0]
    if sign is None or len(tiers) > 1:
        return None
    place = replace(sign.place, transaction=_slowed(points))
    return Diagnosis(sign.cause, place, sign.sure, sign.evidence, sign.against, settle=sign.settle)


def _none(found: Diagnosis, evidence: str) -> Diagnosis:
    """Return the diagnosis that no limit was reached, so that the load determines throughput.

    If a resource is at its limit at the highest load nevertheless, it is listed as evidence against the diagnosis.
    """
    settle = "raise the load until throughput stops growing"
    if found.cause in (Cause.UNKNOWN, Cause.NONE):
        return Diagnosis(Cause.NONE, sure=0.9, evidence=(evidence,), settle=settle)
    near = f"at the highest load {found.clause} is at its limit: {'; '.join(found.evidence)}"
    return Diagnosis(Cause.NONE, sure=0.6, evidence=(evidence,), against=(near,), settle=settle)


def _is_so_without_load(found: Diagnosis, lowest: Point, top: Point) -> bool:
    """Return True if the resource is at its limit even at the lowest load, where throughput is far lower."""
    if not _is_far_lower(lowest, top):
        return False
    tier = found.place.tier
    if found.cause is Cause.CPU and tier is not None and _cpus(lowest, tier) < _FAR_LOWER * _cpus(top, tier):
        return False  # The tier could use more CPUs, such as those of further processes.
    there = [sign for run in lowest.documents for sign in signs(Seen.of(run))]
    own = limit_at(found.cause, found.place)
    return any(limit_at(sign.cause, sign.place) == own for sign in there)


def _cpus(point: Point, tier: str) -> float:
    """Return the largest number of CPUs that a tier used in a run at a load level; 0 if unknown. [1]"""
    return max((lookup(run, ("tiers", tier, "cpus_used", "value")) or 0.0 for run in point.documents), default=0.0)


def _is_far_lower(lowest: Point, top: Point) -> bool:
    """Return True if throughput at the lowest load is far below the throughput at the load that shows the limit.

    Without such a low load, it cannot be determined whether the load brought a resource to its limit.
    """
    return lowest is not top and (lowest.throughput.value or 0.0) <= _FAR_LOWER * (top.throughput.value or 0.0)


def _other_than_pool(lowest: Point, top: Point) -> str | None:
    """Return the evidence that a pool seems to be the limit, but that its server may be the limit, or the number of
    connections no limit. Return None if there is no such evidence.

    If the server takes longer under load, the server may be the limit. If a request occupies a connection for less time
    under load, several requests share a connection, as in HTTP/2, so the number of connections is no limit. A
    connection to PostgreSQL, however, serves one request at a time.
    """
    first, last = Seen.of(lowest.documents[0]), Seen.of(top.documents[0])
    before = {found.server: occupied_s(found, first) for found in first.connections}
    for found in last.connections:
        alone, now = before.get(found.server), occupied_s(found, last)
        if not (found.all_are_busy and alone and now):
            continue
        times = f"{few_digits(1e3 * now)} ms, at the lowest load for {few_digits(1e3 * alone)} ms"
        text = f"a request occupies a connection to {found.server} for {times}"
        if now >= _SLOWER * alone:
            return f"{text}: {found.server} may be the limit"
        if now * _SLOWER <= alone and found.waiting_for_lock is None:
            return f"{text}: several requests share a connection, so the number of connections may be no limit"
    return None


def _showing(points: Sequence[Point], kind: LimitKind) -> Point:
    """Return the highest load level that can show the limit.

    A level can show the limit if at least one of its runs is not invalid. If the limit is not a CPU, a level with only
    invalid runs can show it as well, provided that each run has a likely cause.
    """
    counts = [point for point in points if point.is_valid or (kind is not LimitKind.CPU and _only_limited(point))]
    return (counts or list(points))[-1]


def _only_limited(point: Point) -> bool:
    return all(diagnose_run(run).is_likely for run in point.documents)


def _agreed(point: Point) -> Diagnosis:
    """Return the diagnosis on which more than half of the runs at a load level agree; otherwise the cause is unknown.

    The degree of belief is lower if some runs disagree.
    """
    made = [diagnose_run(run) for run in point.documents]
    limits = [limit_at(each.cause, each.place) for each in made]
    limit, number = Counter(limits).most_common(1)[0]
    agreeing = [each for each, its_limit in zip(made, limits, strict=True) if its_limit == limit]
    if 2 * number <= len(made) and len(made) > 1:
        causes = "; ".join(sorted({each.clause or str(each.cause) for each in made}))
        text = f"the runs at this load show different limits: {causes}"
        return Diagnosis(Cause.UNKNOWN, evidence=(text,), settle="repeat the runs of the highest load")
    return replace(agreeing[0], sure=min(each.sure for each in agreeing) * (0.8 + 0.2 * number / len(made)))


def _flat(points: Sequence[Point]) -> str | None:
    """Render the range of loads over which throughput does not grow; None if it grows up to the highest load."""
    known = [(point.load, rate) for point in points if (rate := point.throughput.value) is not None]
    return flat_over(known, "users" if points[0].kind == "users" else "arrivals per second")


def _slowed(points: Sequence[Point]) -> str | None:
    """Return the transaction whose total response time grows most from the lowest to the highest load. Return None if
    there is only one transaction, or if no transaction accounts for more than half of the growth.
    """
    first, last = points[0].documents[0], points[-1].documents[0]
    grown: dict[str, float] = {}
    for name in objects_at(last, "transactions"):
        before, now = (lookup(run, ("transactions", name, "response_time_s", "mean", "value")) for run in (first, last))
        if now is not None and before is not None:
            grown[name] = max(0.0, now - before) * (lookup(last, ("transactions", name, "count")) or 0.0)
    total = sum(grown.values())
    most = max(grown, key=lambda name: grown[name], default=None)
    return most if most is not None and len(grown) > 1 and grown[most] > total / 2 else None


def _not_known(found: Diagnosis, flat: str | None, limit: LimitOfLevels, points: Sequence[Point]) -> Diagnosis:
    """Return the diagnosis for runs that show no resource at its limit."""
    kind, resource, evidence = limit.kind, limit.resource, limit.evidence
    if kind is LimitKind.CPU and resource:
        settle = f"repeat with more or fewer CPUs for {resource}: throughput changes in proportion if this is the cause"
        return Diagnosis(Cause.CPU, Place(resource), _SUPPORTED, (evidence,), settle=settle)
    if flat is None:
        if found.cause is Cause.NONE and kind is LimitKind.UNDECIDED:
            return found
        return replace(found, cause=Cause.UNKNOWN, sure=0.0, evidence=(evidence, *found.evidence))
    rate = _limit_rate(points)
    return Diagnosis(
        Cause.UNKNOWN,
        Place(transaction=None if rate is None else rate.transaction),
        evidence=tuple(dict.fromkeys((flat, *((rate.limit,) if rate else ()), evidence, *found.evidence))),
        unknown=found.unknown,
        settle="provide metrics of locks, pools and waits (`metrics:` of the service), or profile the target",
    )


def _limit_rate(points: Sequence[Point]) -> Rate | None:
    """Return the throughput at the highest load, as the limit. It is the throughput of the transaction that is slowed
    down most, if there is such a transaction. Return None if throughput was higher at a lower load.
    """
    last, slowed = points[-1], _slowed(points)
    if has_fallen([value for point in points if (value := point.throughput.value) is not None]):
        return None
    if slowed is not None and (rate := Rate.of(last.documents[0], slowed)) is not None:
        return rate
    total = last.throughput
    return None if total.value is None else Rate(total.value, total.low, total.high)
