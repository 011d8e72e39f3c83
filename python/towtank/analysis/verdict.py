"""Lists all checks of a run, and computes the doubts about the run. Each check is a function that reads the evidence
and yields doubts.
"""

from __future__ import annotations

from towtank.analysis.checks import (
    answers,
    consistency,
    course,
    generator,
    limits,
    machine,
    network,
    recording,
    storage,
    window,
)
from towtank.analysis.checks.evidence import Evidence, RunCheck
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel

_REPORTED_ONCE = (DoubtKind.SERVICE_DIED, DoubtKind.SERVICE_RESTARTED)

CHECKS: tuple[RunCheck, ...] = (
    course.ended_early,
    course.services_seen,
    course.services_reported,
    course.services_held,
    course.events,
    course.errors,
    course.completed,
    course.errors_by_part,
    answers.redirected,
    answers.not_modified,
    generator.saturated,
    generator.stalled,
    generator.overflow,
    generator.envelope,
    generator.connections,
    generator.pool,
    generator.framing,
    generator.reconnects,
    generator.start_lag,
    window.steady,
    window.rest,
    window.memory,
    window.fixed_pace,
    window.settled,
    window.backlog,
    window.samples,
    window.pauses,
    consistency.accounting,
    consistency.counted_twice,
    consistency.physics,
    consistency.little,
    consistency.utilization,
    consistency.audited,
    machine.steal,
    machine.speed,
    machine.memory,
    machine.interference,
    machine.attributed,
    machine.clock,
    machine.suspended,
    machine.pinned,
    network.listen_queues,
    limits.exhausted,
    network.retransmits,
    machine.throttled,
    storage.disks,
    storage.throttles,
    storage.stored,
    recording.sampled,
    recording.observation_cost,
    recording.damage,
)
"""All checks of a run. To add a check, define it in the module of its subject and add it to this list."""


def doubts(evidence: Evidence) -> list[Doubt]:
    """Return the doubts about a run that all checks raise, the most severe first."""
    found: list[Doubt] = []
    for doubt in (doubt for check in CHECKS for doubt in check(evidence)):
        # Manifest, events and probe may each report the death of the same process. Only the first report is kept.
        if doubt.kind not in _REPORTED_ONCE or doubt.kind not in {known.kind for known in found}:
            found.append(doubt)
    weight = {DoubtLevel.INVALID: 0, DoubtLevel.SUSPECT: 1, DoubtLevel.NOTE: 2}
    return sorted(found, key=lambda doubt: weight[doubt.level])
