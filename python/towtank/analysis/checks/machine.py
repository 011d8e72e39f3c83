"""Checks the CPUs and clocks of the machines that run the load generator and the system."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text, seconds
from towtank.analysis.system.entries import HostUse, MachineUse
from towtank.analysis.system.pace import RESTED_PAGE_S
from towtank.analysis.system.rates import CLOCK_JUMP_S
from towtank.results import GENERATOR_GROUP, THIS_MACHINE, WATCHED_KIND

STEAL_SHARE = 0.02  # Largest share of steal time without a doubt, in [0, 1].
STEAL_INVALID = 0.10  # A larger share of steal time makes a run invalid, in [0, 1].
# Largest share of the system's CPUs that other programs may use without a doubt, in [0, 1].
FOREIGN_SHARE = 0.10
# Largest share of a machine's CPUs that processes outside all tiers may use without a doubt, in [0, 1]. Kernel threads,
# together with the error of tick-based CPU accounting, stay below this share.
NOT_ATTRIBUTED_SHARE = 0.05
# A tier that uses fewer CPUs than this serves no load. It may be a launcher that only waits for the real server. [1]
_NEXT_TO_NOTHING = 0.005
# A run is invalid if other programs used more than this share of the CPUs. At this share, a queue with a utilization of
# 60 % becomes a queue with 80 %, and response times double: 1 / (1 - U) rises from 2.5 to 5 in M/M/1. [1]
FOREIGN_INVALID = 0.25
# The machine was suspended if the difference between its boot clock and its monotonic clock grew by more than this.
# Smaller differences arise because the two clocks are read one after the other. [s]
SLEPT_S = 0.1
PACE_SPREAD = 0.10
"""Limit for the speed of a machine: a fixed amount of work may take longer in slow seconds than in fast seconds by at
most this share. [1]
"""
THROTTLED_SHARE = 0.01  # Largest throttled share of the window without a doubt, in [0, 1].
_THROTTLED_INVALID = 0.10  # A run is invalid if the generator was throttled for a larger share of the window.


def _machines(evidence: Evidence) -> Iterator[tuple[str, MachineUse | HostUse]]:
    """Yield two values for each machine with a probe: the text ` of NAME` (empty for this machine), and its entry in
    the run summary.
    """
    yield "", evidence.summary.host
    for name, host in evidence.summary.hosts.items():
        if name in evidence.observed.remote:
            yield f" of {name}", host


def steal(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the hypervisor gave no CPU time of the machines to other guests."""
    for of_machine, seen in _machines(evidence):
        share = seen.steal
        if share is not None and share > STEAL_SHARE:
            level = DoubtLevel.INVALID if share > STEAL_INVALID else DoubtLevel.SUSPECT
            taken = f"{percent_text(share)} of CPU time{of_machine}"
            text = f"{taken} was stolen by the hypervisor, limit {percent_text(STEAL_SHARE)}"
            yield Doubt(DoubtKind.STEAL_TIME, level, text, share, STEAL_SHARE)


def interference(evidence: Evidence) -> Iterator[Doubt]:
    """Check that other programs used only a small share of the CPUs of the system."""
    foreign = evidence.summary.host.foreign_share
    limit = evidence.limit("interference", FOREIGN_SHARE)
    if foreign is not None and foreign > limit:
        text = f"other programs used {percent_text(foreign)} of the system's CPUs, limit {percent_text(limit)}"
        yield Doubt(DoubtKind.INTERFERENCE, _foreign_level(foreign, limit), text, foreign, limit)
    else:
        yield from _beside_targets(evidence, limit)


def _foreign_level(share: float, limit: float) -> DoubtLevel:
    """Return the level of a doubt about the CPU use of other programs. It is invalid if the share exceeds
    `FOREIGN_INVALID` and the limit of the study; otherwise it is suspect.
    """
    return DoubtLevel.INVALID if share > max(FOREIGN_INVALID, limit) else DoubtLevel.SUSPECT


def _beside_targets(evidence: Evidence, limit: float) -> Iterator[Doubt]:
    """Check the CPU use of other programs, if the target runs on this machine but was not started by Towtank."""
    others = evidence.summary.other_programs
    if others is None or others.cpus_used.value is None or not others.cpus:
        return
    used, cpus = others.cpus_used.value, others.cpus
    share = used / cpus
    if share <= limit:
        return
    seen = f"{used:.2f} of {cpus} CPUs ({percent_text(share)}), limit {percent_text(limit)}"
    if not others.not_found:
        text = f"programs other than generator and target used {seen}"
        yield Doubt(DoubtKind.INTERFERENCE, _foreign_level(share, limit), text, share, limit)
        return
    text = (
        f"programs other than the generator used {seen}; the share of the target is unknown, because its process "
        f"({', '.join(others.not_found)}) was not found on this machine, or is the one that called Towtank"
    )
    yield Doubt(DoubtKind.NOT_ATTRIBUTED, DoubtLevel.SUSPECT, text, share, limit)


def attributed(evidence: Evidence) -> Iterator[Doubt]:
    """Check that tiers, generator and observers account for the CPU use of every machine with a tier."""
    limit = evidence.limit("not_attributed", NOT_ATTRIBUTED_SHARE)
    for name, usage in evidence.summary.not_attributed.items():
        if name == THIS_MACHINE and evidence.summary.other_programs is not None:
            continue  # `_beside_targets` checks this machine.
        used, cpus = usage.cpus_used.value, usage.cpus
        if used is None or not cpus:
            continue
        # Some kernels count the CPU time of interrupts separately and assign it to no process. No program used this
        # time, so it is subtracted.
        rest = used - (usage.interrupts_cpus_used or 0.0)
        if rest > limit * cpus:
            where = "this machine" if name == THIS_MACHINE else name
            text = (
                f"{rest:.2f} CPUs of {where} were used by processes outside all tiers: {percent_text(rest / cpus)} of "
                f"its {cpus} CPUs, limit {percent_text(limit)}{_idle(evidence)}"
            )
            yield Doubt(DoubtKind.NOT_ATTRIBUTED, _foreign_level(rest / cpus, limit), text, rest / cpus, limit)


def _idle(evidence: Evidence) -> str:
    """Render the names of the tiers that used hardly any CPU time. Their processes may be launchers that only wait for
    the real server.
    """
    used = {name: tier.cpus_used.value for name, tier in evidence.summary.tiers.items()}
    idle = [name for name, cpus in used.items() if cpus is not None and cpus < _NEXT_TO_NOTHING]
    return (
        f"; {' and '.join(idle)} used hardly any CPU time and may be only the launcher of the real server"
        if idle
        else ""
    )


def clock(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the wall clock advanced as much as the monotonic clock."""
    jump = evidence.observed.samples.clock_jump()
    # The wall clock continues while the machine is suspended, but the monotonic clock stops. The time of the suspension
    # is therefore subtracted; the check `suspended` reports it.
    if abs(jump - slept_s(evidence)) > CLOCK_JUMP_S and jump > CLOCK_JUMP_S:
        text = f"the wall clock jumped by {seconds(jump)}, limit {seconds(CLOCK_JUMP_S)}"
        yield Doubt(DoubtKind.CLOCK_JUMP, DoubtLevel.NOTE, text, jump, CLOCK_JUMP_S, "s")


def suspended(evidence: Evidence) -> Iterator[Doubt]:
    """Check that this machine was not suspended during the run."""
    slept = slept_s(evidence)
    if slept > SLEPT_S:
        text = f"this machine was suspended for {seconds(slept)} during the run, limit {seconds(SLEPT_S)}"
        yield Doubt(DoubtKind.MACHINE_SUSPENDED, DoubtLevel.SUSPECT, text, slept, SLEPT_S, "s")


def slept_s(evidence: Evidence) -> float:
    """Return how long this machine was suspended during a run, according to the clocks in the events of the run. [s]"""
    ahead = [
        event["boot_ns"] - event["t_ns"]
        for event in evidence.events
        if isinstance(event.get("boot_ns"), int) and isinstance(event.get("t_ns"), int)
    ]
    return (max(ahead) - min(ahead)) / 1e9 if ahead else 0.0


def speed(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the CPUs of each machine had a constant speed over the window."""
    for of_machine, seen in _machines(evidence):
        pace = seen.pace
        if pace is None or pace.spread <= PACE_SPREAD:
            continue
        slower = 1 - pace.fast_s / pace.slow_s
        text = (
            f"the system's CPUs{of_machine} ran {percent_text(slower)} slower at times: the same piece of work took "
            f"{seconds(pace.fast_s)} or less in the fastest tenth of the seconds and {seconds(pace.slow_s)} or "
            f"more in the slowest tenth ({percent_text(pace.spread)} longer, limit {percent_text(PACE_SPREAD)})"
        )
        yield Doubt(DoubtKind.MACHINE_SPEED, DoubtLevel.NOTE, text, pace.spread, PACE_SPREAD)


def memory(evidence: Evidence) -> Iterator[Doubt]:
    """Check that each machine accessed memory fast that was not used for a second."""
    for of_machine, seen in _machines(evidence):
        took_s = seen.rested_page_s
        if took_s is not None and took_s > RESTED_PAGE_S:
            text = (
                f"memory{of_machine} was slow: an access to a page that was not used for a second took "
                f"{seconds(took_s)} of CPU time, limit {seconds(RESTED_PAGE_S)}, so CPU times and response times are "
                "too long"
            )
            yield Doubt(DoubtKind.SLOW_MEMORY, DoubtLevel.NOTE, text, took_s, RESTED_PAGE_S, "s")


def pinned(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the generator and the system were pinned to different CPUs, if Towtank started the system."""
    pinning = evidence.manifest.get("pinning") or {}
    system, generator = set(pinning.get("system") or []), set(pinning.get("generator") or [])
    started = [each for each in evidence.observed.tiers.values() if each.get("kind") != WATCHED_KIND]
    if started and (not system or not generator or system & generator):
        yield Doubt(DoubtKind.NOT_PINNED, DoubtLevel.NOTE, "generator and system were not pinned to different CPUs")


def throttled(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no CPU limit of a control group delayed a tier or the load generator."""
    for name, share in [pair for _, seen in _machines(evidence) for pair in seen.throttled.items()]:
        if share <= THROTTLED_SHARE:
            continue
        # A study may limit the CPUs of a tier on purpose, so throttling of a tier is only noted. A CPU limit that
        # delays the generator is always a fault.
        heavy = DoubtLevel.INVALID if share > _THROTTLED_INVALID else DoubtLevel.SUSPECT
        level = heavy if name == GENERATOR_GROUP else DoubtLevel.NOTE
        text = (
            f"the CPU limit of its control group delayed {name} for {percent_text(share)} of the window, "
            f"limit {percent_text(THROTTLED_SHARE)}"
        )
        yield Doubt(DoubtKind.THROTTLED, level, text, share, THROTTLED_SHARE)
