"""Lists the checks that could not be made on a run, with reasons.

A check that could not be made does not show that the run is valid.
"""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.checks import limits
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.checks.network import counted
from towtank.analysis.doubts import DoubtKind, percent_text
from towtank.analysis.laws import UNTIMED_AT_MOST
from towtank.analysis.run_summary import NotChecked
from towtank.analysis.system.entries import OtherPrograms
from towtank.analysis.system.gaps import limit_s
from towtank.analysis.system.rates import EDGE_S
from towtank.results import GENERATOR_GROUP

_NO_PROBE = "no probe observed this machine"
NO_SAMPLES = "the probe recorded too little of the window"
"""Reason in a run summary for a check that was not made because samples of the probe are missing."""
_NO_TIER = "no tier of the system was observed"


def not_checked(evidence: Evidence) -> list[NotChecked]:
    """Return the checks that could not be made because data are missing, in the order of `DoubtKind`.

    Notes
    -----
    A check that does not apply to the run is not listed. An example is the read-back of a run that stored nothing.
    """
    order = list(map(str, DoubtKind))
    return sorted([*_of_load(evidence), *_of_observation(evidence)], key=lambda missing: order.index(missing.check))


def unobserved(evidence: Evidence) -> list[NotChecked]:
    """Return the checks that could not be made because probes and scrapers recorded too little."""
    return list(_of_observation(evidence))


def _of_load(evidence: Evidence) -> Iterator[NotChecked]:
    summary, window = evidence.summary, evidence.window
    if window is None:
        yield NotChecked(DoubtKind.NO_STEADY_STATE, "the run has no window")
        return
    if evidence.engine is None or evidence.engine.totals is None:
        yield NotChecked(DoubtKind.ACCOUNTING, "the engine's own counts, engine.json, are missing or damaged")
    if not evidence.gaps_recorded:
        yield NotChecked(DoubtKind.GENERATOR_STALLED, "the engine did not record the delays of its event loops")
    if evidence.generator_cpus is None:
        yield NotChecked(DoubtKind.GENERATOR_SATURATED, "the generator's CPU time was not recorded")
    if (why := _lag_unknown(evidence)) is not None:
        yield NotChecked(DoubtKind.START_LAG, why)
    if evidence.seconds_merged:
        yield NotChecked(DoubtKind.PAUSES, "the run is long, so it was analysed in intervals of several seconds")
    if not window.trends:
        yield NotChecked(DoubtKind.NO_STEADY_STATE, window.note or "the window was not tested")
    if not evidence.is_open and (why := _little_unknown(evidence)) is not None:
        yield NotChecked(DoubtKind.LITTLE_LAW, why)
    if not evidence.is_open and evidence.paces_are_fixed and summary.users.groups is None:
        yield NotChecked(
            DoubtKind.FIXED_PACE,
            "user groups with different pauses execute the same transactions, which are not counted by group",
        )


def _little_unknown(evidence: Evidence) -> str | None:
    """Return why Little's law could not be checked; None if it was checked."""
    law = evidence.summary.laws.little
    if law is None:
        return "no response was timed within the window"
    if (untimed := law.untimed_share) is not None and untimed > UNTIMED_AT_MOST:
        return (
            f"{percent_text(untimed)} of the transactions within the window have no response time, because their "
            "connections failed"
        )
    return None


def _lag_unknown(evidence: Evidence) -> str | None:
    """Return why the start lag, or its share in response times, could not be checked; None if both were checked."""
    generator, little = evidence.summary.generator, evidence.summary.laws.little
    if generator.start_lag_p99_s is None:
        return "no request started within the window"
    if evidence.arrivals_waited:
        return "arrivals waited for users, so only the share of the lag in the mean response time was checked"
    if not evidence.is_open and little is not None and little.z_s == 0:
        return "users do not pause, so response times include the delay with which the generator reads responses"
    return None


def _of_observation(evidence: Evidence) -> Iterator[NotChecked]:
    summary, window = evidence.summary, evidence.window
    if window is None:
        return
    why = _why(evidence)
    host = summary.host
    missing = {
        DoubtKind.STEAL_TIME: host.steal is None,
        DoubtKind.CLOCK_JUMP: not evidence.observed.samples.samples,
        DoubtKind.INTERFERENCE: host.foreign_share is None and not _others_known(summary.other_programs),
        DoubtKind.LISTEN_OVERFLOW: not _known(evidence, "listen_overflows"),
        DoubtKind.RETRANSMITS: not _known(evidence, "retransmits"),
        DoubtKind.THROTTLED: GENERATOR_GROUP not in host.throttled and why is not None,
    }
    for kind, is_missing in missing.items():
        if is_missing:
            yield NotChecked(kind, why or _not_offered(evidence, kind))
    if unknown := limits.unknown(evidence):
        yield NotChecked(DoubtKind.TIER_LIMIT, why or f"not observed: {unknown}")
    elif evidence.seconds_merged and evidence.observed.tiers:
        yield NotChecked(
            DoubtKind.TIER_LIMIT, "the run is long, so peaks between the samples that were read are unknown"
        )
    if not evidence.observed.tiers:
        for kind in (DoubtKind.SERVICE_RESTARTED, DoubtKind.SERVICE_DIED, DoubtKind.UTILIZATION_LAW):
            yield NotChecked(kind, _NO_TIER)


def _others_known(others: OtherPrograms | None) -> bool:
    """Return True if the CPU use of programs other than generator and target is known, for a target on this machine
    that Towtank did not start.
    """
    return others is not None and others.cpus_used.value is not None and not others.not_found


def _why(evidence: Evidence) -> str | None:
    """Return why the probe of this machine recorded too few samples in the window; None if it recorded enough."""
    if not evidence.probe_expected:
        return _NO_PROBE
    return NO_SAMPLES if _is_unobserved(evidence) else None


def _is_unobserved(evidence: Evidence) -> bool:
    """Return True if no rate can be computed: samples of the probe are missing for most of the window, or at its start
    or end.
    """
    times_s, window = evidence.observed.samples.times_s, evidence.window
    if window is None:
        return False
    ends_are_seen = bool(times_s) and times_s[0] <= window.start_s + EDGE_S and times_s[-1] >= window.end_s - EDGE_S
    gap = evidence.observed.samples.longest_gap(window.start_s, window.end_s)
    return not ends_are_seen or gap > max(limit_s(evidence.observed), 0.5 * window.length_s)


def _not_offered(evidence: Evidence, kind: DoubtKind) -> str:
    if kind is DoubtKind.INTERFERENCE:
        tiers, others = evidence.observed.tiers, evidence.summary.other_programs
        if others is not None and others.not_found:
            addresses = ", ".join(others.not_found)
            return f"the process of the target ({addresses}) was not found, or is the one that called Towtank"
        return "the tiers had no exclusive CPUs on this machine" if tiers else _NO_TIER
    return "the kernel does not report it"


def _known(evidence: Evidence, name: str) -> bool:
    return any(source.counts.get(name) is not None for source in counted(evidence.summary))
