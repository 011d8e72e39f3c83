"""Diagnoses a configuration from all of its load levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from towtank.analysis.aggregation import Point
from towtank.analysis.diagnosis.answer import Cause, Diagnosis
from towtank.analysis.diagnosis.of_run import diagnose_run
from towtank.analysis.diagnosis.seen import objects_at
from towtank.analysis.limits.of_levels import LimitKind
from towtank.analysis.system.rates import lookup
from towtank.digging import dig

_FLAT = 0.10
"""Largest relative growth of throughput between two levels that counts as flat, in (0, 1)."""
_MORE_LOAD = 1.4
"""Smallest ratio of two loads between which a flat throughput shows a limit. [1]"""
_SEVERAL_LEVELS = 0.95
_DECISIVE = (LimitKind.CPU, LimitKind.ERRORS, LimitKind.OVERLOAD, LimitKind.UNKNOWN)


def diagnose_levels(points: Sequence[Point], limit: Mapping[str, Any]) -> Diagnosis:
    """Return what limits a configuration.

    Parameters
    ----------
    points : sequence of Point
        Load levels of one configuration, ordered by load.
    limit : dict
        Result of `limits.of_levels.limit` for these points.

    Notes
    -----
    The levels show whether throughput stopped to grow; the runs of the level with the highest throughput beyond that
    show which resource was at its limit. Runs of one level that disagree leave the cause unknown.
    """
    kind, evidence = LimitKind(dig(limit, "kind")), str(dig(limit, "evidence"))
    if kind is LimitKind.NONE:
        settle = "raise the load until throughput stops to grow"
        return Diagnosis(Cause.NONE, sure=0.9, evidence=(evidence,), settle=settle)
    ended = [point for point in points if point.usable]
    if not ended:
        return Diagnosis(Cause.UNKNOWN, unknown=("no run of this configuration has a result",))
    found = _agreed(_showing(ended, kind))
    flat = _flat(ended)
    if found.cause in (Cause.UNKNOWN, Cause.NONE):
        return _not_known(found, flat, evidence, kind)
    shown = (flat,) if flat else ()
    sure = found.sure
    if flat and kind in _DECISIVE and not found.against:
        sure = max(sure, _SEVERAL_LEVELS)
    place = replace(found.place, transaction=found.place.transaction or _slowed(ended))
    return replace(found, place=place, sure=sure, evidence=(*found.evidence, *shown))


def _showing(points: Sequence[Point], kind: LimitKind) -> Point:
    """Return the level that shows the limit: the highest load, or the highest load that counts with a CPU limit."""
    if kind is LimitKind.CPU:
        return next((point for point in reversed(points) if point.is_valid), points[-1])
    return points[-1]


def _agreed(point: Point) -> Diagnosis:
    """Return the diagnosis on which most of the runs of a level agree."""
    made = [diagnose_run(run) for run in point.usable]
    counted = Counter((each.cause, each.place.tier) for each in made)
    (cause, tier), number = counted.most_common(1)[0]
    agreeing = [each for each in made if (each.cause, each.place.tier) == (cause, tier)]
    if 2 * number <= len(made) and len(made) > 1:
        causes = ", ".join(sorted({str(each.cause) for each in made}))
        text = f"the runs at this load show different limits: {causes}"
        return Diagnosis(Cause.UNKNOWN, evidence=(text,), settle="repeat the runs of the highest load")
    return replace(agreeing[0], sure=min(each.sure for each in agreeing) * (0.8 + 0.2 * number / len(made)))


def _flat(points: Sequence[Point]) -> str | None:
    """Return the levels between which throughput does not grow, as text; None if it grows to the last level."""
    known = [(point.load, rate) for point in points if (rate := point.throughput.value) is not None]
    if len(known) < 2:
        return None
    last_load, last = known[-1]
    flat = [load for load, rate in known[:-1] if last <= (1 + _FLAT) * rate and last_load >= _MORE_LOAD * load]
    if not flat:
        return None
    unit = "users" if points[0].kind == "users" else "arrivals per second"
    return f"throughput stays at about {last:,.4g} /s from {flat[0]:,.6g} to {last_load:,.6g} {unit}"


def _slowed(points: Sequence[Point]) -> str | None:
    """Return the transaction whose response times grow most in total from the lowest to the highest load.

    None with a single transaction, or if no transaction accounts for more than half of the growth.
    """
    first, last = points[0].usable[0], points[-1].usable[0]
    grown: dict[str, float] = {}
    for name in objects_at(last, "transactions"):
        before, now = (lookup(run, ("transactions", name, "response_time_s", "mean", "value")) for run in (first, last))
        if now is not None and before is not None:
            grown[name] = max(0.0, now - before) * (lookup(last, ("transactions", name, "count")) or 0.0)
    total = sum(grown.values())
    most = max(grown, key=lambda name: grown[name], default=None)
    return most if most is not None and len(grown) > 1 and grown[most] > total / 2 else None


def _not_known(found: Diagnosis, flat: str | None, evidence: str, kind: LimitKind) -> Diagnosis:
    """Return the diagnosis if no resource was observed at its limit: a limit that nothing explains, or an open end."""
    if flat is None:
        if found.cause is Cause.NONE and kind is LimitKind.UNDECIDED:
            return found
        return replace(found, cause=Cause.UNKNOWN, sure=0.0, evidence=(evidence, *found.evidence))
    settle = "show a page of metrics with locks, pools and waits (`metrics:` of the service), or profile the target"
    return Diagnosis(
        Cause.UNKNOWN,
        evidence=(f"{flat}: a limit that no observed resource explains: a lock, a pool or a service behind", evidence),
        unknown=found.unknown,
        settle=settle,
    )
