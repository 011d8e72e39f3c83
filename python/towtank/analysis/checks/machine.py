"""Checks of the machine under generator and system: its CPUs and its clock."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, Kind, Level, percent, seconds
from towtank.analysis.system.rates import CLOCK_JUMP_S
from towtank.results.observe import GENERATOR_GROUP, THIS_MACHINE

STEAL_SHARE = 0.02
STEAL_INVALID = 0.10
# The kernel books some of its own work on a CPU to nobody; a tenth of a CPU is more than that.
FOREIGN_SHARE = 0.10
# The kernel's own threads and the tick accounting of the host stay below a few per cent.
NOT_ATTRIBUTED_SHARE = 0.05
# A tier that serves the load uses more than this; a launcher that waits does not. [1]
_NEXT_TO_NOTHING = 0.005
# So many times the limit, the system was measured as much as the others.
_FOREIGN_INVALID = 3.0
PACE_SPREAD = 0.10
"""Share by which the slow seconds of a machine may take longer for the same work than the fast ones. [1]"""
THROTTLED_SHARE = 0.01
_THROTTLED_INVALID = 0.10


def steal(evidence: Evidence) -> Iterator[Doubt]:
    """Whether the hypervisor gave CPU time to others."""
    share = evidence.summary["host"]["steal"]
    if share is not None and share > STEAL_SHARE:
        level = Level.INVALID if share > STEAL_INVALID else Level.SUSPECT
        text = f"{percent(share)} of CPU time was stolen by the hypervisor, limit {percent(STEAL_SHARE)}"
        yield Doubt(Kind.STEAL_TIME, level, text, share, STEAL_SHARE)


def interference(evidence: Evidence) -> Iterator[Doubt]:
    """Whether other programs used CPUs of the system."""
    foreign = evidence.summary["host"]["foreign_share"]
    limit = evidence.limit("interference", FOREIGN_SHARE)
    if foreign is not None and foreign > limit:
        level = Level.INVALID if foreign > _FOREIGN_INVALID * limit else Level.SUSPECT
        text = f"other programs used {percent(foreign)} of the system's CPUs, limit {percent(limit)}"
        yield Doubt(Kind.INTERFERENCE, level, text, foreign, limit)


def attributed(evidence: Evidence) -> Iterator[Doubt]:
    """Whether tiers, generator and observers explain what the machines of the tiers used."""
    limit = evidence.limit("not_attributed", NOT_ATTRIBUTED_SHARE)
    for name, one in evidence.summary["not_attributed"].items():
        used, cpus = one["cpus_used"]["value"], one["cpus"]
        if used is None or not cpus:
            continue
        # A kernel that accounts for interrupts apart from processes attributes them to nobody.
        rest = used - (one["interrupts_cpus_used"] or 0.0)
        if rest > limit * cpus:
            where = "this machine" if name == THIS_MACHINE else name
            text = (
                f"{rest:.2f} CPUs of {where} were used by processes of no tier: {percent(rest / cpus)} of its "
                f"{cpus} CPUs, limit {percent(limit)}{_idle(evidence)}"
            )
            yield Doubt(Kind.NOT_ATTRIBUTED, Level.SUSPECT, text, rest / cpus, limit)


def _idle(evidence: Evidence) -> str:
    """Names the tiers that used next to nothing: their processes may be launchers."""
    used = {name: tier["cpus_used"]["value"] for name, tier in evidence.summary["tiers"].items()}
    idle = [name for name, cpus in used.items() if cpus is not None and cpus < _NEXT_TO_NOTHING]
    return f"; next to nothing was used by {', '.join(idle)}" if idle else ""


def clock(evidence: Evidence) -> Iterator[Doubt]:
    """Whether the wall clock ran as the monotonic one does."""
    jump = evidence.observed.samples.clock_jump()
    if jump > CLOCK_JUMP_S:
        text = f"the wall clock jumped by {seconds(jump)}, limit {seconds(CLOCK_JUMP_S)}"
        yield Doubt(Kind.CLOCK_JUMP, Level.NOTE, text, jump, CLOCK_JUMP_S, "s")


def speed(evidence: Evidence) -> Iterator[Doubt]:
    """Whether the CPUs of the system did the same work at the same speed over the window."""
    pace = evidence.summary["host"]["pace"]
    if pace is None or pace["spread"] <= PACE_SPREAD:
        return
    text = (
        f"a fixed piece of work took {seconds(pace['fast_s'])} to {seconds(pace['slow_s'])} on the system's CPUs "
        f"(10th and 90th percentile of the seconds): the machine's speed changed by {percent(pace['spread'])}, "
        f"limit {percent(PACE_SPREAD)}"
    )
    yield Doubt(Kind.MACHINE_SPEED, Level.NOTE, text, pace["spread"], PACE_SPREAD)


def pinned(evidence: Evidence) -> Iterator[Doubt]:
    """Whether generator and system were kept on different CPUs."""
    pinning = evidence.manifest.get("pinning") or {}
    system, generator = set(pinning.get("system") or []), set(pinning.get("generator") or [])
    if evidence.observed.tiers and (not system or not generator or system & generator):
        yield Doubt(Kind.NOT_PINNED, Level.NOTE, "generator and system were not kept on different CPUs")


def throttled(evidence: Evidence) -> Iterator[Doubt]:
    """Whether the limit of a control group held a tier or the generator up."""
    for name, share in evidence.summary["host"]["throttled"].items():
        if share <= THROTTLED_SHARE:
            continue
        # A limit on a tier may be what the study asks about; on the generator it is never wanted.
        heavy = Level.INVALID if share > _THROTTLED_INVALID else Level.SUSPECT
        level = heavy if name == GENERATOR_GROUP else Level.NOTE
        text = (
            f"the CPU limit of its control group held {name} up for {percent(share)} of the window, "
            f"limit {percent(THROTTLED_SHARE)}"
        )
        yield Doubt(Kind.THROTTLED, level, text, share, THROTTLED_SHARE)
