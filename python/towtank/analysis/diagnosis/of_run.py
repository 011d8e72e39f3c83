"""Diagnoses what limits the system in a single run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from towtank.analysis.checks.course import ERRORS_SHARE
from towtank.analysis.diagnosis.answer import Cause, Diagnosis, Place, limit_at
from towtank.analysis.diagnosis.connection_signs import spare_connections
from towtank.analysis.diagnosis.seen import SERVED, Seen
from towtank.analysis.diagnosis.sign import Sign
from towtank.analysis.diagnosis.signs import disturbance, failures, signs
from towtank.analysis.diagnosis.single_user import serial_signs
from towtank.analysis.doubts import DoubtKind, DoubtLevel
from towtank.estimates import few_digits

_THINKING = 0.98
"""Users determine throughput if they think for at least this share of their cycle time, in (0, 1)."""
NOT_VALID = 0.4
"""Largest degree of belief in a cause if the run is invalid, in (0, 1)."""
_OVERLOAD = (DoubtKind.NO_STEADY_STATE, DoubtKind.BACKLOG, DoubtKind.OVERFLOW)
_EXPLAINED: dict[Cause, tuple[DoubtKind, ...]] = {
    Cause.LINK: (*_OVERLOAD, DoubtKind.ERRORS_ABOVE_LIMIT),
    Cause.GENERATOR: (*_OVERLOAD, DoubtKind.GENERATOR_SATURATED, DoubtKind.GENERATOR_STALLED, DoubtKind.START_LAG),
    Cause.MACHINE: (*_OVERLOAD, DoubtKind.INTERFERENCE, DoubtKind.NOT_ATTRIBUTED, DoubtKind.START_LAG),
    Cause.ERRORS: (*_OVERLOAD, DoubtKind.ERRORS_ABOVE_LIMIT),
    **dict.fromkeys(
        (Cause.CPU, Cause.QUOTA, Cause.POOL, Cause.DISK, Cause.LOCK), (*_OVERLOAD, DoubtKind.ERRORS_ABOVE_LIMIT)
    ),
}
"""Kinds of doubts that a cause explains: they result from the cause or describe it. They do not reduce the degree of
belief.
"""
_NOT_OF_LOAD = (Cause.ERRORS, Cause.GENERATOR)
"""Causes that exclude the diagnosis that the load alone determines throughput."""


def diagnose_run(summary: Mapping[str, Any]) -> Diagnosis:
    """Return the diagnosis of what limits the system in a single run.

    Parameters
    ----------
    summary : dict
        Run summary, as `describe` returns it.

    Notes
    -----
    A single load level cannot show that throughput no longer grows with the load. A resource is therefore the cause
    only if it was measured at its limit. The cause is `none` only if the load determines throughput in one of three
    ways: users think nearly all the time, nearly every arrival is served, or there is a single user and no resource is
    at its limit. If a resource is at its limit under a single user without think time, the resource determines
    throughput.
    """
    return of_seen(Seen.of(summary))


def of_seen(seen: Seen) -> Diagnosis:
    """Return the diagnosis that follows from the extracted data of a run."""
    if seen.throughput is None and not seen.errors:
        return Diagnosis(Cause.UNKNOWN, unknown=("the run has no window with a completed transaction",))
    found, below = signs(seen), _below(seen)
    if not any(sign.cause in _NOT_OF_LOAD for sign in found):
        if serial := serial_signs(seen):
            return _of_sign(serial[0], serial[1:], seen)
        if below is not None:
            return _none(seen, below, found)
    if found:
        return _of_sign(found[0], found[1:], seen)
    return _not_known(seen)


def _none(seen: Seen, below: str, found: list[Sign]) -> Diagnosis:
    """Return the diagnosis that no limit was reached, so that the load determines throughput.

    Resources that are at their limit nevertheless are listed as evidence against the diagnosis.
    """
    invalid = _invalid_besides(Cause.NONE, seen)
    busiest = _busiest(seen)
    against = tuple(text for sign in found for text in sign.evidence)
    return Diagnosis(
        Cause.NONE,
        sure=NOT_VALID if invalid else 0.6 if found else 0.9,
        evidence=(below, *([busiest] if busiest else [])),
        against=(*(f"the run is invalid: {text}" for text in invalid), *against),
        unknown=missing(seen),
        settle="raise the load until throughput stops growing, or let `towtank run` search for the limit",
    )


def _of_sign(sign: Sign, others: list[Sign], seen: Seen) -> Diagnosis:
    own = limit_at(sign.cause, sign.place)
    also = tuple(text for other in others if limit_at(other.cause, other.place) != own for text in other.evidence)
    place = sign.place
    if len(seen.transactions) == 1 and seen.transactions[0] != "request":
        place = replace(place, transaction=seen.transactions[0])
    invalid = _invalid_besides(sign.cause, seen)
    against = (*(f"the run is invalid: {text}" for text in invalid), *sign.against, *also)
    sure = min(sign.sure, NOT_VALID) if invalid else sign.sure
    return Diagnosis(sign.cause, place, sure, sign.evidence, against, missing(seen), sign.settle)


def _invalid_besides(cause: Cause, seen: Seen) -> list[str]:
    """Return the reasons why a run is invalid, except reasons that the diagnosed cause explains."""
    explained = _EXPLAINED.get(cause, ())
    return [
        text for kind, (level, text) in seen.doubts.items() if level == DoubtLevel.INVALID and kind not in explained
    ]


def _below(seen: Seen) -> str | None:
    """Return the evidence that the load is below the limit of the system; None if there is no such evidence."""
    if seen.has(DoubtKind.NO_STEADY_STATE, "invalid", "suspect") or seen.grows:
        return None
    if seen.rate is not None:
        served = seen.served
        if served is None or served.share < SERVED or seen.has(DoubtKind.OVERFLOW, "invalid", "suspect"):
            return None
        share = min(1.0, served.share)
        ended = f"{few_digits(share * served.rate, 4)} arrivals per second"
        return f"the system completes {ended}, {few_digits(100 * share)} % of those that arrived"
    if seen.users == 1:
        return "a single user never waits for another: its response and think times determine throughput"
    if seen.response_s is not None and seen.think_s:
        share = seen.think_s / (seen.think_s + seen.response_s)
        if share >= _THINKING:
            return f"users think for {100 * share:.0f} % of the time, so they determine throughput"
    return None


def _busiest(seen: Seen) -> str | None:
    """Render the use of the busiest resource of the system. If no resource was observed, render the CPU use of this
    machine; None if that use is unknown as well.
    """
    known = [(disk.utilization, f"the busiest resource is a disk: {disk.text}") for disk in seen.disks]
    known += [(link.utilization, f"the busiest resource is a link: {link.text}") for link in seen.links]
    if seen.shared is not None:
        known.append((seen.shared.utilization, f"the busiest resource is a CPU: {seen.shared.text}"))
    for tier in seen.tiers:
        if tier.cpus_used and tier.cpus_allotted:
            share = tier.cpus_used / tier.cpus_allotted
            known.append((share, f"the busiest tier is {tier.name}: {100 * share:.0f} % of its CPUs"))
    if known:
        return max(known, key=lambda entry: entry[0])[1]
    if seen.machine_used is None or not seen.machine_cpus:
        return None
    return f"this machine uses {seen.machine_used:.2f} of {seen.machine_cpus:g} CPUs"


def missing(seen: Seen) -> tuple[str, ...]:
    """Describe the important component of the system that was not observed; empty if none is missing."""
    if seen.not_found:
        return (f"the process that serves {', '.join(seen.not_found)} (of another user, or in a container)",)
    if not seen.tiers:
        return ("CPU, memory and connections of the target: no process of it was found on this machine",)
    return ()


def _not_known(seen: Seen) -> Diagnosis:
    busiest = _busiest(seen)
    shape = seen.unexplained
    evidence = list(shape)
    evidence += [f"no observed resource is at its limit: {busiest}"] if busiest else []
    evidence += [*spare_connections(seen), *disturbance(seen)]
    if seen.errors > ERRORS_SHARE:
        evidence.append(failures(seen))
    if shape:
        settle = "provide metrics of locks, pools and waits of the target, or profile it"
    elif seen.users:
        text = f"repeat with {2 * seen.users:g} users"
        settle = f"{text}: if throughput stays the same, something delays requests (a lock, a pool, another service); "
        settle += "if it doubles, the load is below the limit"
    else:
        settle = "repeat at half the rate, and compare response times"
    waits = ("locks, pools and waits inside the target, which metrics of the target would show",) if seen.tiers else ()
    place = Place(transaction=seen.shape.steady.transaction if seen.shape is not None and shape else None)
    return Diagnosis(Cause.UNKNOWN, place, 0.0, tuple(evidence), unknown=(*missing(seen), *waits), settle=settle)
