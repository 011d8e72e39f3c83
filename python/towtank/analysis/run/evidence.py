"""Collects the evidence for the verdict on a run, from the data of the run and from its summary without the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from towtank.analysis import load
from towtank.analysis.checks.evidence import Evidence, UnsettledStage
from towtank.analysis.generator import cores_of
from towtank.analysis.run.data import RunData
from towtank.analysis.run.expected import expecting_not_modified, expecting_redirects
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.user_groups import paces_are_fixed
from towtank.analysis.windows.steady import SIGNIFICANCE, trend
from towtank.analysis.windows.stretch import STEADY_PHASE
from towtank.digging import dig
from towtank.results import names_of

# The start lag grows if it rises significantly over the window, by more than this share of its value. [1]
_LAG_GROWTH = 0.5


def gather_evidence(data: RunData, summary: RunSummary, limits: Mapping[str, float]) -> Evidence:
    """Return the evidence that the checks of a run read.

    Parameters
    ----------
    data : RunData
    summary : RunSummary
        Run summary without the verdict.
    limits : dict
        Limits of the study, in SI units.
    """
    measurement = data.measurement
    every = measurement.transactions
    return Evidence(
        manifest=data.manifest,
        engine=data.engine,
        summary=summary,
        window=data.window,
        observed=data.observed,
        run_end_s=_planned_end(data),
        finished=data.recording.finished,
        bad_histograms=every.response.bad + measurement.requests.exchange.bad,
        workers=data.recording.workers,
        workers_found=len(data.recording.workers_found),
        effective_samples=load.effective_samples(measurement, data.chosen),
        timed=int(every.response.counts[data.chosen].sum()),
        relative_half_width=_relative_half_width(summary),
        limits=limits,
        events=data.events,
        events_of_load=list(_lasting(data)),
        last_words=next(filter(None, data.recording.ends.values()), ""),
        generator_cpus=summary.generator.cpus_used,
        connect_failures=int(sum(measurement.requests.failed_by_kind.get("connect", ()))),
        generator_cores=cores_of(data.engine, data.recording.workers),
        unsettled=_unsettled(data),
        lag_grows=_lag_grows(data),
        study_events=data.study_events,
        completed=int(every.ok[data.chosen].sum()),
        keeps_connections=_connections_mode(data) != "new_each_time",
        gaps_recorded=summary.generator.longest_gap_s is not None,
        arrivals_waited=bool(measurement.waiting[data.chosen].any()),
        paces_are_fixed=paces_are_fixed(data.plan),
        probe_expected=_probe_expected(data),
        steps_by_transaction=_steps_by_transaction(data),
        redirects_expected=expecting_redirects(data.plan, list(names_of(data.recording, "step"))),
        not_modified_expected=expecting_not_modified(data.plan, list(names_of(data.recording, "step"))),
        seconds_merged=measurement.is_merged,
        manifest_faults=data.manifest_faults,
    )


def _steps_by_transaction(data: RunData) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    steps = data.recording.header.steps if data.recording.header else []
    for step, name in zip(steps, names_of(data.recording, "step"), strict=True):
        found.setdefault(step.transaction, []).append(name)
    return found


def _connections_mode(data: RunData) -> str | None:
    """Return the planned connection mode: `per_user`, `new_each_time` or `pool`; None if it is unknown."""
    connections = (data.plan or {}).get("connections")
    return connections.get("mode") if isinstance(connections, dict) else None


def _probe_expected(data: RunData) -> bool:
    """Return True if a probe was started in the run: the run has tiers, records of a probe, or an event about its
    start.
    """
    started = any(event.get("k") == "observation_started" for event in data.events)
    return bool(data.observed.tiers or data.observed.probe.header or data.observed.probe.samples or started)


def _unsettled(data: RunData) -> UnsettledStage | None:
    """Return the settle stage before the window, if this stage ended without a steady state;
    otherwise None.
    """
    if data.window is None:
        return None
    start = data.window.asked_start_s
    before = [number for number, stage in enumerate(data.measurement.stages) if stage.end_s <= start + 1e-6]
    for event in data.events:
        if event.get("k") == "not_settled" and before and event.get("stage_index") == before[-1]:
            length_s = float(data.measurement.lengths[data.measurement.stage == before[-1]].sum())
            why = str(dig(event, "evidence", "why") or "no evidence")
            return UnsettledStage(str(event.get("stage")), length_s, why)
    return None


def _relative_half_width(summary: RunSummary) -> float | None:
    mean = load.estimate_in(summary.response_time_s, "mean")
    return mean.half_width / mean.value if mean.half_width is not None and mean.value else None


def _planned_end(data: RunData) -> float:
    """Return the planned end of the last steady stage. Until then, services must be alive. [s]"""
    ends = [stage.end_s for stage in data.measurement.stages if stage.phase == STEADY_PHASE]
    return float(max(ends, default=0.0))


def _lasting(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield the events between the start of the run and the end of its last steady stage. Services may end later, so
    later events are not included.
    """
    origin = data.observed.origin_ns
    end = origin + round(1e9 * _planned_end(data))
    for event in data.events:
        at = event.get("t_ns")
        if isinstance(at, int) and origin <= at <= end:
            yield event


def _lag_grows(data: RunData) -> bool:
    """Return True if the median start lag grows significantly over the window, and by more than half of its value."""
    medians = data.measurement.lag.quantile_by_bin(0.5)
    pairs = [
        (at, value)
        for at, value, inside in zip(data.measurement.middles, medians, data.chosen, strict=True)
        if inside and value is not None
    ]
    if len(pairs) < 5:
        return False
    line = trend(np.array([at for at, _ in pairs]), np.array([value for _, value in pairs]))
    return line.p_value < SIGNIFICANCE and line.relative_change > _LAG_GROWTH
