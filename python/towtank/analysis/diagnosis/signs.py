"""Finds signs of a limit in one run. Each sign states a possible cause, its location and the measured values that
indicate it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from towtank.analysis.checks.course import ERRORS_SHARE
from towtank.analysis.diagnosis import connection_signs, waits
from towtank.analysis.diagnosis.answer import Cause, Place
from towtank.analysis.diagnosis.seen import Busiest, Seen, Tier
from towtank.analysis.diagnosis.sign import WEAK, Sign
from towtank.analysis.doubts import DoubtKind, DoubtLevel
from towtank.analysis.system.limited_disks import AT_LIMIT
from towtank.estimates import few_digits
from towtank.system import host_of_group

LINK_FULL = 0.90
"""A network link with a rate limit counts as saturated if its data rate is at least this share of the limit, in (0,
1].
"""
MACHINE_FULL = 0.95
"""A machine counts as full if all programs together use at least this share of its CPUs, in (0, 1]."""
TIER_FULL = 0.90
"""A tier counts as saturated if it uses at least this share of the CPUs allotted to it, in (0, 1]."""
_NEARLY_FULL = 0.85
"""Share of its CPUs from which a tier may be the limit without using them fully, in (0, 1]. In addition, throughput
must not follow the load, threads of the tier must wait for CPUs, and nothing else may explain the limit.

If the threads of an interpreter share a lock, a part of the CPUs is idle at any load while the lock passes from thread
to thread.
"""
THROTTLED = 0.05
"""The CPU limit of a control group counts as reached if the group is throttled for at least this share of the time, in
(0, 1).
"""
DISK_FULL = AT_LIMIT
"""A disk with a speed limit counts as saturated from this share of the limit on, in (0, 1]."""
ONE_CPU = 0.95
"""A process or thread uses one CPU fully if its CPU use is at least this. [CPUs]"""
MOST_OF_ONE = 1.03
"""Largest CPU use that a sample shows for a process on one CPU; it exceeds 1 because of measurement errors. [CPUs]

A larger value shows that the process runs on several CPUs.
"""
_REST_OF_TIER = 0.30
"""A single process or thread explains the CPU use of its tier if all others in the tier together use at most this.
[CPUs]
"""
_FOREIGN = 0.25
"""Other programs may limit the system if they use at least this share of the CPUs of the machine, in (0, 1)."""
_MOSTLY_ERRORS = 0.5  # Most requests fail if their share is at least this, in (0, 1).
_MOSTLY_OWN = 0.5
"""The system is the cause of full CPUs if its share of the CPU use of all programs except the generator is at least
this, in (0, 1).
"""
_LEAST_DEMAND = 0.9
"""Other programs count as the cause only if, on average, at least this many threads of the system use a CPU or wait for
a CPU. [1]

With fewer, there are times at which no thread of the system needs a CPU, so requests queue for something else.
"""
_WAITS_OF_USE = 0.25
"""Other programs count as the cause only if many threads of the system wait for a CPU: their mean number, divided by
the number of CPUs that the tiers use, is at least this. [1]

The sum of both numbers must also be at least `_LEAST_DEMAND`.
"""
_WAITS_AT_MOST = 20.0
"""Other programs count as the cause only if the number of threads of the system that wait for a CPU, divided by the
number of CPUs that the system uses, is at most this. [1]

Threads that compute receive their share of the CPUs. Threads that wait far longer than they run wake up often and need
hardly any CPU time, so something else limits them.
"""
MANY_ERRORS = 0.1
"""Failures may limit throughput if at least this share of the requests fails, in (0, 1)."""
_MOST_OF_TIME = 0.5
_OTHER_LOAD = "repeat with more load threads, or from another machine: throughput rises if this is the cause"


def signs(seen: Seen) -> list[Sign]:
    """Return the signs of a limit in a run, the most important sign first.

    Notes
    -----
    A limit that hides other limits comes before them:

    - A generator at its limit is first, because it offers less load than requested.
    - Control groups and processes that use all of their CPU time come next, because other programs do not change their
      limit.
    - Other programs follow. They come late if a lock, a pool or refused requests explain the throughput, and if threads
      of the system hardly wait for a CPU in comparison.
    - If most requests fail, the failures may use up the CPUs, so they come before the CPUs. Fewer failures come late,
      because they often result from another limit.
    - A generator that is busy but below its limit is last.
    """
    return [found for rule in _RULES for found in rule(seen)]


def _generator(seen: Seen) -> Iterator[Sign]:
    for kind in (DoubtKind.GENERATOR_SATURATED, DoubtKind.GENERATOR_STALLED):
        if message := seen.has(kind, DoubtLevel.INVALID):
            yield Sign(
                Cause.GENERATOR, Place(), 0.9 if kind is DoubtKind.GENERATOR_SATURATED else 0.7, (message,), _OTHER_LOAD
            )


def _busy_generator(seen: Seen) -> Iterator[Sign]:
    if seen.pool_share >= _MOST_OF_TIME:
        text = (
            f"requests wait for a connection of the generator's pool for {100 * seen.pool_share:.0f} % of response time"
        )
        yield Sign(
            Cause.GENERATOR, Place(part="pool of connections"), 0.9, (text,), "allow more connections and repeat"
        )
    for kind in (DoubtKind.GENERATOR_SATURATED, DoubtKind.GENERATOR_STALLED):
        if message := seen.has(kind, DoubtLevel.SUSPECT):
            yield Sign(Cause.GENERATOR, Place(), WEAK, (message,), _OTHER_LOAD)


def _other_programs(seen: Seen) -> Iterator[Sign]:
    if not _is_limited_besides(seen):
        yield from _machine(seen)


def _besides_other_programs(seen: Seen) -> Iterator[Sign]:
    if _is_limited_besides(seen):
        yield from _machine(seen)


def _is_limited_besides(seen: Seen) -> bool:
    """Return True if a lock, a pool or refused requests explain the throughput, even if other programs use the CPUs. Of
    the requests that hold a lock or a connection, only a small share may then wait for a CPU.
    """
    if seen.errors_answered >= _MOSTLY_ERRORS:
        return True
    rules = (connection_signs.database_locks, _locks, _pools, connection_signs.full_connections)
    found = [sign for rule in rules for sign in rule(seen) if sign.sure > WEAK]
    held = sum(each.busy for each in seen.connections if each.all_are_busy) or 1.0
    return bool(found) and _waiting(seen) < _WAITS_OF_USE * held


def _waiting(seen: Seen) -> float:
    return sum(tier.waits or 0.0 for tier in seen.tiers)


def _machine(seen: Seen) -> Iterator[Sign]:
    message = seen.has(DoubtKind.INTERFERENCE, DoubtLevel.INVALID) or seen.has(
        DoubtKind.NOT_ATTRIBUTED, DoubtLevel.INVALID
    )
    if not _foreign(seen) and (message is None or seen.others_used is not None):
        return
    own = sum(tier.cpus_used or 0.0 for tier in seen.tiers)
    waiting = _waiting(seen)
    if own + waiting < _LEAST_DEMAND or not _WAITS_OF_USE * own <= waiting <= _WAITS_AT_MOST * own:
        # The samples show that the threads of the system hardly wait for CPUs, or hardly need them. Other programs
        # therefore do not limit the system.
        return
    if seen.others_used is not None:
        used = f"{seen.others_used:.2f} of {seen.machine_cpus:g} CPUs"
        message = f"programs outside system and generator use {used}, and no CPU is idle"
    settle = "stop the other programs and repeat"
    yield Sign(Cause.MACHINE, Place(part="CPUs of this machine"), 0.9, (str(message),), settle)


def disturbance(seen: Seen) -> tuple[str, ...]:
    """Return a sentence if other programs fill the machine. It states how many threads of the system wait for a CPU
    because of this. Empty otherwise.
    """
    if not _foreign(seen):
        return ()
    waiting = few_digits(_waiting(seen))
    return (
        f"other programs leave no CPU idle and delay the system: {waiting} of its threads wait for a CPU on average",
    )


def _foreign(seen: Seen) -> bool:
    """Return True if the CPUs of the machine are full and other programs use a large share of them."""
    used, cpus = seen.others_used, seen.machine_cpus
    return used is not None and bool(cpus) and not seen.not_found and _is_full(seen) and used >= _FOREIGN * (cpus or 0)


def _quota(seen: Seen) -> Iterator[Sign]:
    groups: dict[tuple[str | None, str], list[Tier]] = {}
    for tier in seen.tiers:
        if tier.group is not None:
            groups.setdefault((tier.host, tier.group), []).append(tier)
    for (host, group), tiers in groups.items():
        used, allotted = sum(tier.cpus_used or 0.0 for tier in tiers), tiers[0].cpus_allotted
        if not allotted or used < TIER_FULL * allotted:
            continue
        share = max(tier.throttled or 0.0 for tier in tiers)
        names = " and ".join(tier.name for tier in tiers)
        use = "uses" if len(tiers) == 1 else "together use"
        text = f"{names} {use} {used:.2f} of the {allotted:g} CPUs that the control group allows"
        most = max(tiers, key=lambda tier: tier.cpus_used or 0.0)
        own = host_of_group(group)
        place = Place(most.name, host, part=None if own else f"control group {group}")
        limit = f"`cpus` of the host {own} in the system file" if own else f"the limit (cpu.max of {group})"
        settle = f"raise {limit} and repeat: throughput rises if this is the cause"
        if share >= THROTTLED:
            delay = f"this limit delayed processes for {100 * share:.0f} % of the time"
            yield Sign(Cause.QUOTA, place, 0.95, (text, delay), settle)
        else:
            yield Sign(Cause.CPU, place, 0.7, (text,), settle, busy=_of_one_cpu(used, allotted))


def _errors(seen: Seen) -> Iterator[Sign]:
    """Yield a sign for failed requests if many requests fail. A few failures are usually the consequence of another
    limit.
    """
    if seen.errors <= ERRORS_SHARE or seen.errors < MANY_ERRORS:
        return
    is_full = _is_full(seen) or any(_is_saturated(tier) for tier in seen.tiers)
    if is_full and seen.errors_answered < _MOSTLY_ERRORS:
        return  # Most failures are missing responses, which result from the saturated resource.
    against = (
        ("the CPUs are fully used as well: failing requests may use them, or full CPUs may make requests fail",)
        if is_full
        else ()
    )
    settle = "look at the log of the server for the first failure, and find the load at which failures begin"
    sure = 0.9 if seen.errors >= _MOSTLY_ERRORS and not is_full else 0.6
    yield Sign(Cause.ERRORS, Place(transaction=seen.failing), sure, (failures(seen),), settle, against)


def _most_fail(seen: Seen) -> Iterator[Sign]:
    if seen.errors >= _MOSTLY_ERRORS:
        yield from _errors(seen)


def _some_fail(seen: Seen) -> Iterator[Sign]:
    if seen.errors < _MOSTLY_ERRORS:
        yield from _errors(seen)


def failures(seen: Seen) -> str:
    """Render the share of failed requests and the number of failures by kind."""
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(seen.kinds.items(), key=lambda item: -item[1]))
    return f"{few_digits(100 * seen.errors)} % of the requests fail ({kinds})"


def _one_process(seen: Seen) -> Iterator[Sign]:
    for tier in seen.tiers:
        found = _full_process(tier) or _full_thread(tier, by_others=_foreign(seen))
        if found is not None and (tier.cpus_allotted or 2.0) > 1.0:
            part, text, sure, busy = found
            if tier.host is None and seen.machine_used is not None and seen.machine_cpus and not _is_full(seen):
                text += f", while this machine uses {seen.machine_used:.2f} of {seen.machine_cpus:g} CPUs"
            settle = "add a process or a worker, or profile this one: throughput rises if one CPU is the limit"
            yield Sign(Cause.CPU, Place(tier.name, tier.host, part=part), sure, (text,), settle, busy=busy)


def _full_process(tier: Tier) -> tuple[str, str, float, float] | None:
    """Return four values if a process uses one CPU fully: the process as text, its use as text, the degree of belief,
    and the CPU use. Return None otherwise.
    """
    process = tier.process
    if process is None or process.cpus < ONE_CPU or process.full_share < 0.8 or (process.most or 0.0) > MOST_OF_ONE:
        return None
    if (tier.cpus_used or 0.0) - process.cpus > _REST_OF_TIER:
        return None
    # Threads that share the lock of an interpreter run one at a time, so together they use one CPU. If no thread
    # dominates, the use of one CPU may be a coincidence, so the degree of belief is lower.
    is_one_thread = tier.thread is not None and tier.thread.cpus + tier.thread.waits >= _MOST_OF_TIME
    text = f"process {process.name} uses {process.cpus:.2f} CPUs nearly all the time"
    return _part("process", process), text, 0.9 if is_one_thread else 0.6, process.cpus


def _full_thread(tier: Tier, *, by_others: bool) -> tuple[str, str, float, float] | None:
    thread = tier.thread
    if thread is None or thread.cpus + thread.waits < ONE_CPU or thread.cpus < 0.6:
        return None
    if by_others and thread.cpus < ONE_CPU:
        # Other programs slow the thread down, so they are the cause.
        return None
    if (tier.cpus_used or 0.0) - thread.cpus > _REST_OF_TIER:
        return None
    waits = f" and waits for a CPU {100 * thread.waits:.0f} % of the time" if thread.waits >= 0.05 else ""
    text = f"thread {thread.name} uses {thread.cpus:.2f} CPUs{waits}"
    return _part("thread", thread), text, 0.9 if thread.cpus >= ONE_CPU else 0.7, thread.cpus


def _part(kind: str, busiest: Busiest) -> str:
    return f"{kind} {busiest.name}" + ("" if busiest.pid is None else f" ({busiest.pid})")


def _cpus(seen: Seen) -> Iterator[Sign]:
    full = [tier for tier in seen.tiers if _is_saturated(tier)]
    for tier in sorted(full, key=lambda tier: -(tier.cpus_used or 0.0)):
        text = f"{tier.name} uses {tier.cpus_used:.2f} of its {tier.cpus_allotted:g} CPUs"
        settle = (
            f"repeat with more or fewer CPUs for {tier.name}: throughput changes in proportion if this is the cause"
        )
        busy = _of_one_cpu(tier.cpus_used, tier.cpus_allotted)
        yield Sign(Cause.CPU, Place(tier.name, tier.host), 0.9, (text,), settle, busy=busy)
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


def _nearly_full_cpus(seen: Seen) -> Iterator[Sign]:
    if shape := seen.unexplained:
        yield from nearly_full_cpus(seen, shape[-1])


def nearly_full_cpus(seen: Seen, shape: str) -> Iterator[Sign]:
    """Yield a sign for each tier that uses nearly all of its CPUs while many of its threads wait for a CPU.

    Parameters
    ----------
    seen : Seen
        Data of the run.
    shape : str
        Evidence that throughput does not follow the load.
    """
    for tier in seen.tiers:
        used, cpus, waits = tier.cpus_used or 0.0, tier.cpus_allotted, tier.waits or 0.0
        if tier.group is not None or not cpus or used < _NEARLY_FULL * cpus or waits < _WAITS_OF_USE * used:
            continue
        text = f"{tier.name} uses {used:.2f} of its {cpus:g} CPUs, and {few_digits(waits)} of its threads wait for one"
        idle = f"the CPUs of {tier.name} are idle for {100 * (1 - used / cpus):.0f} % of the time"
        settle = f"repeat with more CPUs or workers for {tier.name}: throughput rises if this is the cause"
        yield Sign(Cause.CPU, Place(tier.name, tier.host), 0.6, (text, shape), settle, (idle,))


def _disks(seen: Seen) -> Iterator[Sign]:
    for disk in sorted(seen.disks, key=lambda disk: -disk.utilization):
        if disk.utilization >= DISK_FULL:
            settle = f"raise {disk.of} of the disk and repeat: throughput rises in proportion if this is the cause"
            yield Sign(Cause.DISK, Place(host=disk.host, part=f"disk {disk.name}"), 0.95, (disk.text,), settle)


def _shared_cpus(seen: Seen) -> Iterator[Sign]:
    """Yield a sign if tiers on several hosts share CPUs and together use them fully. No single tier needs to do so."""
    shared = seen.shared
    if shared is None or shared.utilization < TIER_FULL:
        return
    settle = "repeat with one of the hosts idle: throughput of the other hosts rises if this is the cause"
    place, busy = Place(part=f"{shared.names} together"), _of_one_cpu(shared.used, shared.cpus)
    yield Sign(Cause.CPU, place, 0.9, (shared.text,), settle, busy=busy)


def _links(seen: Seen) -> Iterator[Sign]:
    for link in sorted(seen.links, key=lambda link: -link.utilization):
        if link.utilization >= LINK_FULL:
            settle = f"raise the rate of the link of {link.host} and repeat: throughput rises if this is the cause"
            yield Sign(Cause.LINK, Place(host=link.host, part="network link"), 0.95, (link.text,), settle)


def _locks(seen: Seen) -> Iterator[Sign]:
    for wait in waits.locks(list(seen.series)):
        settle = "split the lock, hold it for less time, or halve the load: the time held falls in proportion"
        yield _wait_sign(Cause.LOCK, wait, settle)


def _pools(seen: Seen) -> Iterator[Sign]:
    for wait in waits.pools(list(seen.series)):
        yield _wait_sign(Cause.POOL, wait, "enlarge the pool and repeat: throughput rises if this is the cause")


def _wait_sign(cause: Cause, wait: waits.Wait, settle: str) -> Sign:
    place = Place(wait.series.service, part=f"metric {wait.series.key}")
    if waits.is_waited_for(wait) and wait.waiting is not None:
        waiting = f"{few_digits(wait.waiting)} requests wait for it on average"
        return Sign(cause, place, 0.9, (wait.text, waiting), settle)
    return Sign(cause, place, WEAK, (wait.text,), settle)


def _of_one_cpu(used: float | None, cpus: float | None) -> float | None:
    """Return the CPU use if exactly one CPU is available; otherwise None. [1]"""
    return used if cpus == 1 else None


def _is_full(seen: Seen) -> bool:
    used, cpus = seen.machine_used, seen.machine_cpus
    return used is not None and bool(cpus) and used >= MACHINE_FULL * (cpus or 0.0)


def _is_saturated(tier: Tier) -> bool:
    """Return True if a tier uses nearly all of its CPUs and no control group limits them. `_quota` handles tiers with
    such a limit.
    """
    used, allotted = tier.cpus_used, tier.cpus_allotted
    return tier.group is None and used is not None and bool(allotted) and used >= TIER_FULL * (allotted or 0.0)


_RULES: tuple[Callable[[Seen], Iterator[Sign]], ...] = (
    _generator,
    _quota,
    _one_process,
    _other_programs,
    _most_fail,
    _shared_cpus,
    _cpus,
    _disks,
    _links,
    connection_signs.database_locks,
    _locks,
    _pools,
    connection_signs.full_connections,
    connection_signs.long_accept_queues,
    _besides_other_programs,
    _some_fail,
    _nearly_full_cpus,
    _busy_generator,
)
