"""Checks that the recording is complete, and that observing the run used little CPU time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from towtank.analysis.checks import coverage
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text, seconds
from towtank.analysis.stored_summary import left_out
from towtank.analysis.system.entries import Gap
from towtank.analysis.system.gaps import failure, limit_s
from towtank.analysis.system.rates import GAP_S
from towtank.analysis.windows.window import Window
from towtank.results import THIS_MACHINE

OBSERVATION_CPUS = 0.01  # Largest CPU use of probes and scrapers without a doubt. [CPUs]
OBSERVATION_CPUS_SUSPECT = 0.05  # A larger CPU use makes a run suspect. [CPUs]
_GAPS_SHOWN = 3


def sampled(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the probes took samples during the whole window on every machine with tiers."""
    window, observed = evidence.window, evidence.observed
    if window is None or not evidence.probe_expected:
        return
    why = failure(evidence.events)
    found = _gaps(evidence, THIS_MACHINE)
    missing = _missing(found, window, "", limit_s(observed), "" if why is None else f" ({why})")
    if missing is None and not observed.samples.samples:
        text = f"the window of {seconds(window.length_s)} has no sample{'' if why is None else f' ({why})'}"
        missing = Doubt(DoubtKind.OBSERVATION_GAP, DoubtLevel.SUSPECT, text, window.length_s, limit_s(observed), "s")
    if missing is not None:
        unobserved = coverage.unobserved(evidence)
        checks = [str(entry.check) for entry in unobserved if entry.why == coverage.NO_SAMPLES]
        text = f"; not checked for that reason: {', '.join(checks)}" if checks else ""
        yield replace(missing, message=missing.message + text)
    elif found or why is not None:
        yield _outside(found, why)
    yield from _other_machines(evidence, window)


def _gaps(evidence: Evidence, host: str) -> list[Gap]:
    return [gap for gap in evidence.summary.observation.gaps if gap.host == host]


def _missing(found: list[Gap], window: Window, of_host: str, limit: float, why: str = "") -> Doubt | None:
    """Return a doubt that lists the times without samples in the window; None if there is no such time."""
    inside = [gap for gap in found if gap.within_s(window.start_s, window.end_s) > 0]
    if not inside:
        return None
    total = sum(gap.within_s(window.start_s, window.end_s) for gap in inside)
    text = (
        f"{seconds(total)} of the window have no sample{of_host} ({_times(inside)} of the run), "
        f"limit {seconds(limit)}{why}"
    )
    return Doubt(DoubtKind.OBSERVATION_GAP, DoubtLevel.SUSPECT, text, total, limit, "s")


def _times(found: list[Gap]) -> str:
    """Render the times of the first gaps between samples, as in `from 2.1 s to 6.3 s`."""
    shown = [f"from {gap.start_s:.1f} s to {gap.end_s:.1f} s" for gap in found[:_GAPS_SHOWN]]
    more = len(found) - len(shown)
    return ", ".join(shown) + (f" and {more} more times" if more else "")


def _outside(found: list[Gap], why: str | None) -> Doubt:
    """Return a note that a probe took no samples for some time outside the analysed window."""
    reason = "" if why is None else f" ({why})"
    times = f"recorded nothing {_times(found)} of the run" if found else "ended too early"
    text = f"the probe {times}{reason}; the window itself was sampled"
    return Doubt(
        DoubtKind.OBSERVATION_GAP, DoubtLevel.NOTE, text, max((gap.end_s - gap.start_s for gap in found), default=0.0)
    )


def _other_machines(evidence: Evidence, window: Window) -> Iterator[Doubt]:
    observed = evidence.observed
    hosts = dict.fromkeys(str(tier.get("host")) for tier in observed.tiers.values())
    for name in [name for name in hosts if observed.hosts.get(name, {}).get("provider") == "ssh"]:
        remote = observed.remote.get(name)
        if remote is None or not remote.samples.samples:
            text = f"the window of {seconds(window.length_s)} has no sample of {name}"
            text += "" if remote is not None else ": the data of its probe, or the offset of its clock, are missing"
            yield Doubt(DoubtKind.OBSERVATION_GAP, DoubtLevel.SUSPECT, text, window.length_s, GAP_S, "s")
        elif (missing := _missing(_gaps(evidence, name), window, f" of {name}", limit_s(remote))) is not None:
            yield missing


def observation_cost(evidence: Evidence) -> Iterator[Doubt]:
    cost = evidence.summary.observation.cpus_used
    if cost is not None and cost > OBSERVATION_CPUS:
        level = DoubtLevel.SUSPECT if cost > OBSERVATION_CPUS_SUSPECT else DoubtLevel.NOTE
        text = f"observing took {percent_text(cost)} of one core, limit {percent_text(OBSERVATION_CPUS)}"
        yield Doubt(DoubtKind.OBSERVATION_COST, level, text, cost, OBSERVATION_CPUS)


def damage(evidence: Evidence) -> Iterator[Doubt]:
    """Check that all records of the run can be read and that none are missing."""
    if evidence.manifest_faults:
        yield left_out("run.json", evidence.manifest_faults, DoubtLevel.SUSPECT)
    elif not evidence.manifest:
        text = "run.json cannot be read, so the end of the run and its planned load are unknown"
        yield Doubt(DoubtKind.DATA_DAMAGED, DoubtLevel.SUSPECT, text)
    if evidence.engine is not None and evidence.engine.left_out:
        yield left_out("engine.json", evidence.engine.left_out, DoubtLevel.SUSPECT)
    bad = evidence.summary.damage.bad_lines + evidence.bad_histograms
    if bad:
        yield Doubt(DoubtKind.DATA_DAMAGED, DoubtLevel.SUSPECT, f"{bad} records cannot be read", float(bad), 0.0)
    elif evidence.summary.damage.torn_tail:
        yield Doubt(
            DoubtKind.DATA_DAMAGED, DoubtLevel.NOTE, "the last record of a stream is incomplete and was left out"
        )
    if evidence.workers_found < evidence.workers:
        missing = evidence.workers - evidence.workers_found
        text = f"the records of {missing} of {evidence.workers} load threads are missing"
        yield Doubt(DoubtKind.DATA_DAMAGED, DoubtLevel.INVALID, text, float(missing), 0.0)
