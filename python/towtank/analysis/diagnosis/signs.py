"""Signs of a limit in one run: each names a cause and its place, with the numbers that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from towtank.analysis.checks.course import ERRORS_SHARE
from towtank.analysis.diagnosis import waits
from towtank.analysis.diagnosis.answer import Cause, Place
from towtank.analysis.diagnosis.seen import Busiest, Seen, Tier
from towtank.analysis.doubts import Kind, Level

MACHINE_FULL = 0.95
"""Share of a machine's CPUs in use from which the machine counts as full, in (0, 1]."""
TIER_FULL = 0.90
"""Share of its allotted CPUs in use from which a tier counts as saturated, in (0, 1]."""
THROTTLED = 0.05
"""Share of time throttled from which the limit of a control group counts as reached. [1]"""
ONE_CPU = 0.95
"""CPU use of a process or thread from which it counts as using one CPU fully. [1]"""
_MOST_OF_ONE = 1.03
"""Largest CPU use of a sample of a process that one CPU limits; above it, several CPUs work for it. [1]"""
_REST_OF_TIER = 0.30
"""CPU use of the other processes of a tier up to which a single process explains its use. [1]"""
_FOREIGN = 0.25
"""Share of the machine's CPUs used by other programs from which they may be the cause, in (0, 1)."""
_MOSTLY_ERRORS = 0.5
_MOSTLY_OWN = 0.5
"""Share of the CPU use besides the generator from which a full machine is full by the system, in (0, 1)."""
_LEAST_WAITS = 0.1
_WAITS_OF_USE = 0.25
"""Threads of the tiers that wait for a CPU, at least, and as a share of their CPU use, from which CPU time is missing.
[1]"""


@dataclass(frozen=True)
class Sign:
    """Sign of a limit.

    Attributes
    ----------
    cause : Cause
    place : Place
    sure : float
        Degree of belief that this limits throughput, in (0, 1), at a single load level.
    evidence, against : tuple of str
    settle : str
    """

    cause: Cause
    place: Place
    sure: float
    evidence: tuple[str, ...]
    settle: str
    against: tuple[str, ...] = ()


def signs(seen: Seen) -> list[Sign]:
    """Return the signs of a limit in a run, the most important first.

    Notes
    -----
    The order is that in which one limit hides another: a generator at its limit makes the load smaller than asked. A
    control group or a process that uses all it may use gets its CPU time, whatever other programs do; otherwise these
    take what the system would use. Requests that fail at once may use up the CPUs by themselves.
    """
    return [found for rule in _RULES for found in rule(seen)]


def _generator(seen: Seen) -> Iterator[Sign]:
    for kind in (Kind.GENERATOR_SATURATED, Kind.GENERATOR_STALLED, Kind.CONNECTION_WAIT):
        if message := seen.has(kind, "invalid", "suspect"):
            settle = "repeat with more load threads, or from another machine; throughput rises if this is the cause"
            yield Sign(Cause.GENERATOR, Place(), 0.9 if kind is Kind.GENERATOR_SATURATED else 0.7, (message,), settle)


def _other_programs(seen: Seen) -> Iterator[Sign]:
    message = seen.has(Kind.INTERFERENCE, Level.INVALID) or seen.has(Kind.NOT_ATTRIBUTED, Level.INVALID)
    if not _foreign(seen) and (message is None or seen.others_used is not None):
        return
    own = sum(tier.cpus_used or 0.0 for tier in seen.tiers)
    if seen.tiers and sum(tier.waits or 0.0 for tier in seen.tiers) < max(_LEAST_WAITS, _WAITS_OF_USE * own):
        return  # the system gets the CPU time that it wants
    if seen.others_used is not None:
        used = f"{seen.others_used:.2f} of {seen.machine_cpus:g} CPUs"
        message = f"programs outside system and generator use {used}, and none is idle"
    settle = "stop the other programs and repeat"
    yield Sign(Cause.MACHINE, Place(part="CPUs of this machine"), 0.9, (str(message),), settle)


def _foreign(seen: Seen) -> bool:
    """Return True if the machine is full, and other programs use much of it."""
    used, cpus = seen.others_used, seen.machine_cpus
    return used is not None and bool(cpus) and not seen.not_found and _is_full(seen) and used >= _FOREIGN * (cpus or 0)


def _quota(seen: Seen) -> Iterator[Sign]:
    for tier in seen.tiers:
        used, allotted, share = tier.cpus_used, tier.cpus_allotted, tier.throttled
        if tier.group is None or used is None or not allotted or share is None:
            continue
        if share >= THROTTLED and used >= TIER_FULL * allotted:
            yield Sign(
                Cause.QUOTA,
                Place(tier.name, tier.host, part=f"control group {tier.group}"),
                0.95,
                (
                    f"{tier.name} uses {used:.2f} of the {allotted:g} CPUs that its control group allows",
                    f"the limit delayed it for {100 * share:.0f} % of the time",
                ),
                f"raise the limit (cpu.max of {tier.group}) and repeat: throughput rises if this is the cause",
            )


def _errors(seen: Seen) -> Iterator[Sign]:
    if seen.errors <= ERRORS_SHARE:
        return
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(seen.kinds.items(), key=lambda item: -item[1]))
    text = f"{100 * seen.errors:.3g} % of the requests fail ({kinds})"
    is_full = _is_full(seen) or any(_is_saturated(tier) for tier in seen.tiers)
    if is_full and seen.errors_answered < _MOSTLY_ERRORS:
        return  # a saturated resource explains failures; they are its consequence
    against = ("CPUs are used up, too: by the failing requests, or before them",) if is_full else ()
    settle = "look at the log of the server for the first failure, and find the load at which failures begin"
    yield Sign(Cause.ERRORS, Place(), 0.7 if is_full else 0.9, (text,), settle, against)


def _one_process(seen: Seen) -> Iterator[Sign]:
    for tier in seen.tiers:
        found = _full_process(tier) or _full_thread(tier, by_others=_foreign(seen))
        if found is not None and (tier.cpus_allotted or 2.0) > 1.0:
            part, text, sure = found
            if not _is_full(seen):
                text += f", while this machine uses {seen.machine_used or 0.0:.2f} of {seen.machine_cpus:g} CPUs"
            settle = "add a process or a worker, or profile this one: throughput rises if one CPU is the limit"
            yield Sign(Cause.CPU, Place(tier.name, tier.host, part=part), sure, (text,), settle)


def _full_process(tier: Tier) -> tuple[str, str, float] | None:
    process = tier.process
    if process is None or process.cpus < ONE_CPU or process.full_share < 0.8 or (process.most or 0.0) > _MOST_OF_ONE:
        return None
    if (tier.cpus_used or 0.0) - process.cpus > _REST_OF_TIER:
        return None
    return _part("process", process), f"process {process.name} uses {process.cpus:.2f} CPUs at every moment", 0.9


def _full_thread(tier: Tier, *, by_others: bool) -> tuple[str, str, float] | None:
    thread = tier.thread
    if thread is None or thread.cpus + thread.waits < ONE_CPU or thread.cpus < 0.6:
        return None
    if by_others and thread.cpus < ONE_CPU:
        return None  # it waits for other programs
    if (tier.cpus_used or 0.0) - thread.cpus > _REST_OF_TIER:
        return None
    waits = f" and waits for one {100 * thread.waits:.0f} % of the time" if thread.waits >= 0.05 else ""
    text = f"thread {thread.name} uses {thread.cpus:.2f} CPUs{waits}"
    return _part("thread", thread), text, 0.9 if thread.cpus >= ONE_CPU else 0.7


def _part(kind: str, busiest: Busiest) -> str:
    return f"{kind} {busiest.name}" + ("" if busiest.pid is None else f" ({busiest.pid})")


def _cpus(seen: Seen) -> Iterator[Sign]:
    full = [tier for tier in seen.tiers if _is_saturated(tier) and tier.group is None]
    for tier in sorted(full, key=lambda tier: -(tier.cpus_used or 0.0)):
        text = f"{tier.name} uses {tier.cpus_used:.2f} of its {tier.cpus_allotted:g} CPUs"
        settle = f"repeat with more CPUs for {tier.name}, or with fewer: throughput changes in proportion"
        yield Sign(Cause.CPU, Place(tier.name, tier.host), 0.9, (text,), settle)
    local = [tier for tier in seen.tiers if tier.host is None and tier.cpus_used]
    if full or not _is_full(seen) or not local:
        return
    most = max(local, key=lambda tier: tier.cpus_used or 0.0)
    generator = seen.generator_used or 0.0
    if sum(tier.cpus_used or 0.0 for tier in local) < _MOSTLY_OWN * ((seen.machine_used or 0.0) - generator):
        return
    text = f"this machine uses {seen.machine_used:.2f} of {seen.machine_cpus:g} CPUs, {most.name} {most.cpus_used:.2f}"
    against: tuple[str, ...] = ()
    if generator >= 0.1 * (seen.machine_cpus or 1.0):
        against = (f"the generator itself uses {generator:.2f} CPUs of the same machine",)
    sure = 0.9 if generator < (most.cpus_used or 0.0) / 2 else 0.6
    settle = "run the load from another machine, or give the system more CPUs: throughput rises if this is the cause"
    yield Sign(Cause.CPU, Place(most.name), sure, (text,), settle, against)


def _locks(seen: Seen) -> Iterator[Sign]:
    for wait in waits.locks(list(seen.series)):
        settle = "split the lock, hold it for less time, or measure with half of the load: its time falls in proportion"
        yield _wait_sign(Cause.LOCK, wait, settle)


def _pools(seen: Seen) -> Iterator[Sign]:
    for wait in waits.pools(list(seen.series)):
        yield _wait_sign(Cause.POOL, wait, "enlarge the pool and repeat: throughput rises if this is the cause")


def _wait_sign(cause: Cause, wait: waits.Wait, settle: str) -> Sign:
    place = Place(wait.series.service, part=f"metric {wait.series.key}")
    if waits.is_waited_for(wait):
        return Sign(cause, place, 0.9, (wait.text, f"{wait.waiting:.3g} requests wait for it on average"), settle)
    return Sign(cause, place, 0.7, (wait.text,), settle)


def _is_full(seen: Seen) -> bool:
    used, cpus = seen.machine_used, seen.machine_cpus
    return used is not None and bool(cpus) and used >= MACHINE_FULL * (cpus or 0.0)


def _is_saturated(tier: Tier) -> bool:
    used, allotted = tier.cpus_used, tier.cpus_allotted
    return used is not None and bool(allotted) and used >= TIER_FULL * (allotted or 0.0)


_RULES: tuple[Callable[[Seen], Iterator[Sign]], ...] = (
    _generator,
    _quota,
    _one_process,
    _other_programs,
    _errors,
    _cpus,
    _locks,
    _pools,
)
