"""Checks of the recording: it is complete, and observing cost little."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.checks import coverage
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, Kind, Level, percent, seconds
from towtank.analysis.system.rates import GAP_S
from towtank.analysis.windows.window import Window

OBSERVATION_CPUS = 0.01
OBSERVATION_CPUS_SUSPECT = 0.05


def sampled(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the whole window was sampled, on every machine with tiers."""
    window, samples = evidence.window, evidence.observed.samples
    if window is None or not evidence.probe_expected:
        return
    gap = samples.longest_gap(window.start_s, window.end_s)
    # A window shorter than the limit may lie between two samples, but the run needs samples.
    if gap > GAP_S or not samples.samples:
        text = f"{seconds(gap)} of the window went by without a sample, limit {seconds(GAP_S)}{_why(evidence)}"
        unobserved = coverage.unobserved(evidence)
        checks = [str(missing.check) for missing in unobserved if missing.why == coverage.NO_SAMPLES]
        text += f"; not checked for that reason: {', '.join(checks)}" if checks else ""
        yield Doubt(Kind.OBSERVATION_GAP, Level.SUSPECT, text, gap, GAP_S, "s")
    yield from _other_machines(evidence, window)


def _other_machines(evidence: Evidence, window: Window) -> Iterator[Doubt]:
    observed = evidence.observed
    hosts = dict.fromkeys(str(tier.get("host")) for tier in observed.tiers.values())
    for name in [name for name in hosts if observed.hosts.get(name, {}).get("provider") == "ssh"]:
        remote = observed.remote.get(name)
        gap = window.length_s if remote is None else remote.samples.longest_gap(window.start_s, window.end_s)
        if gap > GAP_S or remote is None or not remote.samples.samples:
            text = f"{seconds(gap)} of the window went by without a sample of {name}, limit {seconds(GAP_S)}"
            text += "" if remote is not None else ": its probe, or the offset of its clock, is missing"
            yield Doubt(Kind.OBSERVATION_GAP, Level.SUSPECT, text, gap, GAP_S, "s")


def _why(evidence: Evidence) -> str:
    """Return why the probe failed, as the conductor recorded it; empty if it did not."""
    failures = [str(text) for event in evidence.events for text in event.get("failures") or ()]
    return next((f" ({text.splitlines()[0]})" for text in failures if text.startswith("probe:")), "")


def observation_cost(evidence: Evidence) -> Iterator[Doubt]:
    """Check that observing took little CPU time."""
    cost = evidence.summary["observation"]["cpus_used"]
    if cost is not None and cost > OBSERVATION_CPUS:
        level = Level.SUSPECT if cost > OBSERVATION_CPUS_SUSPECT else Level.NOTE
        text = f"observing took {percent(cost)} of one core, limit {percent(OBSERVATION_CPUS)}"
        yield Doubt(Kind.OBSERVATION_COST, level, text, cost, OBSERVATION_CPUS)


def damage(evidence: Evidence) -> Iterator[Doubt]:
    """Check that everything that was recorded can be read."""
    if not evidence.manifest:
        text = "run.json cannot be read, so how the run ended and which load it was meant to have are not known"
        yield Doubt(Kind.DATA_DAMAGED, Level.SUSPECT, text)
    bad = evidence.summary["damage"]["bad_lines"] + evidence.bad_histograms
    if bad:
        yield Doubt(Kind.DATA_DAMAGED, Level.SUSPECT, f"{bad} records cannot be read", float(bad), 0.0)
    elif evidence.summary["damage"]["torn_tail"]:
        yield Doubt(Kind.DATA_DAMAGED, Level.NOTE, "the last record of a stream is torn and was left out")
    if evidence.workers_found < evidence.workers:
        missing = evidence.workers - evidence.workers_found
        text = f"the records of {missing} of {evidence.workers} load threads are missing"
        yield Doubt(Kind.DATA_DAMAGED, Level.INVALID, text, float(missing), 0.0)
