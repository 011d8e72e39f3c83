"""Checks of what was recorded: whether all of it is there, and what observing cost."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.checks import coverage
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, Kind, Level, percent, seconds
from towtank.analysis.system.rates import GAP_S

OBSERVATION_CPUS = 0.01
OBSERVATION_CPUS_SUSPECT = 0.05


def sampled(evidence: Evidence) -> Iterator[Doubt]:
    """Whether the whole window was sampled."""
    window, samples = evidence.window, evidence.observed.samples
    if window is not None and evidence.probe_expected:
        gap = samples.longest_gap(window.start_s, window.end_s)
        # A window shorter than the limit may lie between two samples, but the run needs samples.
        if gap > GAP_S or not samples.samples:
            text = f"{seconds(gap)} of the window went by without a sample, limit {seconds(GAP_S)}{_why(evidence)}"
            unobserved = coverage.unobserved(evidence)
            checks = [str(missing.check) for missing in unobserved if missing.why == coverage.NO_SAMPLES]
            text += f"; not checked for that reason: {', '.join(checks)}" if checks else ""
            yield Doubt(Kind.OBSERVATION_GAP, Level.SUSPECT, text, gap, GAP_S, "s")


def _why(evidence: Evidence) -> str:
    """Why the probe failed, as the conductor recorded it; empty if it did not."""
    failures = [str(text) for event in evidence.events for text in event.get("failures") or ()]
    return next((f" ({text.splitlines()[0]})" for text in failures if text.startswith("probe:")), "")


def observation_cost(evidence: Evidence) -> Iterator[Doubt]:
    """Whether observing took so much that it changes what is observed."""
    cost = evidence.summary["observation"]["cpus_used"]
    if cost is not None and cost > OBSERVATION_CPUS:
        level = Level.SUSPECT if cost > OBSERVATION_CPUS_SUSPECT else Level.NOTE
        text = f"observing took {percent(cost)} of one core, limit {percent(OBSERVATION_CPUS)}"
        yield Doubt(Kind.OBSERVATION_COST, level, text, cost, OBSERVATION_CPUS)


def damage(evidence: Evidence) -> Iterator[Doubt]:
    """Whether all that was recorded can be read."""
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
