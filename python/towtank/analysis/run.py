"""From the folder of one run to its summary, on whatever a run left behind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from towtank import __version__
from towtank.analysis import audit, estimates, hosts, laws, load, objective_scopes, recovery, tiers, verdict
from towtank.analysis import window as windows
from towtank.analysis.asked import moves
from towtank.analysis.backlog import backlog
from towtank.analysis.balance import balance
from towtank.analysis.compaction import compact, is_compacted
from towtank.analysis.connections import connections
from towtank.analysis.databases import databases
from towtank.analysis.doubts import Kind, level_of
from towtank.analysis.found_limit import Found, search_of, stage_of
from towtank.analysis.generator import cores_of, generator
from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.recovery import Happened
from towtank.analysis.spread import spread
from towtank.analysis.steady import SIGNIFICANCE, trend
from towtank.analysis.storage import storage
from towtank.analysis.stored import read_stored, stored
from towtank.analysis.tiers import Observed
from towtank.analysis.window import Window
from towtank.analysis.windows_by_stage import asked_stage
from towtank.results import observe, segments
from towtank.results.folder import STUDY_MANIFEST, RunFolder, write_json
from towtank.results.segments import Recording

SCHEMA = "towtank/run-summary/1"
SUMMARY = "summary.json"
# The start lag grows when it rises by half over the window, beyond noise.
_LAG_GROWTH = 0.5


@dataclass
class RunData:
    """Everything that is on disk of a run, read once.

    Attributes
    ----------
    manifest : dict
        `run.json`; empty where it cannot be read.
    engine : dict or None
        `engine.json`.
    plan : dict or None
        `plan.json`.
    stored : dict or None
        `stored.json`, or what is known without it.
    """

    manifest: dict[str, Any]
    engine: dict[str, Any] | None
    recording: Recording
    measurement: Measurement
    observed: Observed
    events: list[dict[str, Any]]
    plan: dict[str, Any] | None = None
    objectives: Sequence[dict[str, Any]] = ()
    stored: dict[str, Any] | None = None

    @cached_property
    def found(self) -> Found | None:
        """What the run's search for the limit found; None where it did not search, or recorded no stage."""
        search = self.manifest.get("search")
        if not isinstance(search, dict) or not self.measurement.bins:
            return None
        return search_of(self.measurement, search, self.objectives, self.events)

    @cached_property
    def stage(self) -> int | None:
        """Number of the stage that is analysed; None where it is all the steady stages in a row."""
        best = self.found.best if self.found is not None else None
        return None if best is None else stage_of(self.measurement, best)

    @cached_property
    def happened(self) -> list[Happened]:
        """Events that the study made happen."""
        return recovery.happened(self.events, self.observed.origin_ns)

    @cached_property
    def steady_stage(self) -> Window | None:
        """The steady stage as asked, events or not; None where nothing of it was recorded."""
        return windows.asked(self.measurement) if self.stage is None else asked_stage(self.measurement, self.stage)

    @cached_property
    def window(self) -> Window | None:
        """The window that is analysed: up to the first event; None where nothing steady was recorded."""
        window = self.steady_stage
        first = None if window is None else recovery.first_inside(self.happened, window)
        if window is None or first is None or first.begin_s is None:
            return None if window is None else self._judged(window)
        shortened = windows.shortened(self.measurement, window, first.begin_s)
        if shortened is None:
            return None
        judged = self._judged(shortened)
        judged.note = "; ".join(text for text in (f"it ends where event {first.name} begins", judged.note) if text)
        return judged

    def _judged(self, window: Window) -> Window:
        """A window tested for a steady state, where the load was to hold still over it."""
        if any(moves(self.plan, self.measurement.stages, number) for number in self._stages_of(window)):
            return windows.untested(window)
        cpu = {name: self.observed.cpu_s(name, self.measurement) for name in self.observed.tiers}
        return windows.tested(self.measurement, window, cpu)

    def _stages_of(self, window: Window) -> set[int]:
        """Numbers of the stages in a window as asked."""
        inside = self.measurement.inside(window.asked_start_s, window.asked_end_s)
        return {int(number) for number in self.measurement.stage[inside]}

    @cached_property
    def chosen(self) -> Mask:
        """Bins inside the window."""
        if self.window is None:
            return np.zeros(self.measurement.bins, dtype=bool)
        return self.measurement.inside(self.window.start_s, self.window.end_s)

    @cached_property
    def asked(self) -> Mask:
        """Bins of the steady stages as asked, before any test shortens them."""
        if self.window is None:
            return np.zeros(self.measurement.bins, dtype=bool)
        return self.measurement.inside(self.window.asked_start_s, self.window.asked_end_s)

    @property
    def phases(self) -> dict[str, Mask]:
        """Bins of each phase, in the order of the plan."""
        found: dict[str, Mask] = {}
        for number, stage in enumerate(self.measurement.stages):
            mask = self.measurement.stage == number
            name = str(stage.get("phase"))
            found[name] = found[name] | mask if name in found else mask
        return {name: mask for name, mask in found.items() if mask.any()}

    @property
    def damage(self) -> dict[str, Any]:
        """Damage of all streams together."""
        streams = [
            self.recording.damage,
            self.observed.probe.damage,
            *(one.probe.damage for one in self.observed.remote.values()),
            *(one.damage for one in self.observed.services.values()),
        ]
        return {
            "torn_tail": any(one.torn_tail for one in streams),
            "bad_lines": sum(one.bad_lines for one in streams),
        }


def read_run(run: RunFolder, objectives: Sequence[dict[str, Any]] = ()) -> RunData:
    """Read all of a run folder; what is missing or damaged is left out and told.

    Parameters
    ----------
    run : RunFolder
    objectives : sequence of dict
        Of the study; a search for the limit is judged by them.
    """
    try:
        manifest = run.manifest
    except (OSError, ValueError):
        manifest = {}
    recording = segments.read(run.engine)
    probe, services = observe.read_probe(run.observe), observe.read_services(run.observe)
    declared = manifest.get("tiers")
    groups = probe.header.get("groups", {})
    known = declared if isinstance(declared, dict) and declared else {name: {} for name in groups}
    origin = (recording.header or {}).get("monotonic_ns")
    if not isinstance(origin, int):
        # Without any segment there is no load to line up with; the first sample serves as the origin.
        origin = probe.samples[0]["t_ns"] if probe.samples else 0
    return RunData(
        manifest,
        segments.read_engine_document(run.engine),
        recording,
        Measurement(recording),
        Observed(probe, services, known, origin, _declared_hosts(manifest), _remote(run, manifest, origin)),
        list(run.events()),
        _plan(run),
        objectives,
        read_stored(run),
    )


def _remote(run: RunFolder, manifest: dict[str, Any], origin_ns: int) -> dict[str, Observed]:
    """What probes on other machines saw, on the clock of the run; a stream without a clock cannot be lined up."""
    streams = observe.read_remote_probes(run.observe)
    return {
        name: Observed(stream, {}, {}, origin_ns + offset)
        for name, stream in streams.items()
        if (offset := clock_offset(manifest, name)) is not None
    }


def clock_offset(manifest: dict[str, Any], host: str) -> int | None:
    """How far the clock of another machine was ahead, from the exchange that tells it best. [ns]"""
    clocks = manifest.get("clocks")
    measured = clocks.get(host) if isinstance(clocks, dict) else None
    usable = [
        (one["uncertainty_ns"], one["offset_ns"])
        for one in (measured if isinstance(measured, list) else [])
        if isinstance(one, dict) and all(isinstance(one.get(key), int) for key in ("uncertainty_ns", "offset_ns"))
    ]
    return min(usable)[1] if usable else None


def _declared_hosts(manifest: dict[str, Any]) -> dict[str, Any]:
    declared = manifest.get("hosts")
    return {name: one for name, one in declared.items() if isinstance(one, dict)} if isinstance(declared, dict) else {}


def _plan(run: RunFolder) -> dict[str, Any] | None:
    try:
        plan = json.loads(run.plan.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return plan if isinstance(plan, dict) else None


def summarize_run(run: RunFolder, limits: dict[str, Any] | None = None, tables: bool = True) -> dict[str, Any]:
    """Analyse one run and write its `summary.json`.

    Parameters
    ----------
    run : RunFolder
        In any state: whole, cut off at any byte, without any record.
    limits : dict, optional
        Limits of the study in SI units; by default those of the study the folder lies in, where there is one.
    tables : bool, default True
        Whether the streams are written as Parquet as well, where they are not yet.

    Returns
    -------
    dict
        As `docs/reference/summary.md` describes.
    """
    limits = study_limits(run) if limits is None else limits
    objectives = study_objectives(run)
    summary = describe(read_run(run, objectives), run.run_id, limits, objectives)
    write_json(run.path / SUMMARY, summary)
    if tables and not is_compacted(run):
        compact(run)
    return summary


def study_limits(run: RunFolder) -> dict[str, Any]:
    """`limits` of the study that a run folder lies in; empty where there is none."""
    limits = _of_study(run, "limits")
    return limits if isinstance(limits, dict) else {}


def study_objectives(run: RunFolder) -> list[dict[str, Any]]:
    """`objectives` of the study that a run folder lies in; empty where there is none."""
    found = _of_study(run, "objectives")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _of_study(run: RunFolder, key: str) -> Any:
    try:
        manifest = json.loads((run.path.parent.parent / STUDY_MANIFEST).read_text("utf-8"))
        return manifest["study"][key]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def describe(
    data: RunData, name: str, limits: dict[str, Any], objectives: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Run summary of what was read."""
    summary = {**_identity(data, name), **_load(data), **_system(data)}
    summary["laws"] = _laws(data)
    summary["accounting"] = _accounting(data)
    summary["audit"] = audit.audit(data.plan, data.measurement, summary["laws"]["little"], summary["accounting"])
    summary["objectives"] = objective_scopes.judge(objectives, data.measurement, data.asked, data.phases)
    summary["backlog"] = backlog(data.measurement, data.chosen)
    summary["limit"] = data.found.document() if data.found is not None else None
    summary["generator"] = generator(data.measurement, data.chosen, data.engine, data.manifest)
    summary["connections"] = connections(data.measurement, data.chosen, data.engine)
    summary["balance"] = balance(data.observed, data.measurement, data.chosen)
    summary["spread"] = spread(data.plan, data.measurement, data.chosen)
    summary["storage"] = storage(data.observed, data.measurement, data.chosen)
    summary["databases"] = databases(data.observed)
    summary["stored"] = stored(data.stored)
    errors_limit = float(limits.get("errors", verdict.ERRORS_SHARE))
    summary["events"] = recovery.describe(data.happened, data.measurement, data.steady_stage, errors_limit)
    summary["timeline"] = {
        **load.timeline(data.measurement),
        **tiers.timeline(data.observed, data.measurement),
    }
    summary["damage"] = data.damage
    doubts = verdict.doubts(_evidence(data, summary, limits))
    summary["generator"]["saturated"] = any(one.kind is Kind.GENERATOR_SATURATED for one in doubts)
    summary["verdict"] = {"level": level_of(doubts), "reasons": [one.document() for one in doubts]}
    return summary


def _identity(data: RunData, name: str) -> dict[str, Any]:
    manifest, measurement = data.manifest, data.measurement
    length = float(measurement.lengths[data.chosen].sum())
    mean = float(measurement.user_s[data.chosen].sum()) / length if length else None
    return {
        "schema": SCHEMA,
        "towtank": __version__,
        "run": str(manifest.get("run", name)),
        "index": manifest.get("index"),
        "repetition": manifest.get("repetition", 1),
        "factors": manifest.get("factors", {}),
        "status": manifest.get("status"),
        "verdict": {},
        "window": data.window.document() if data.window else None,
        "users": {"asked": _asked(data, "users"), "mean": mean},
        "rate": _asked(data, "rate"),
    }


def _asked(data: RunData, key: str) -> Any:
    """Load that was asked for; of a search the level of the plateau that is analysed."""
    asked = data.manifest.get(key)
    return asked if asked is None or data.stage is None else data.measurement.stages[data.stage].get(key, asked)


def _load(data: RunData) -> dict[str, Any]:
    measurement, chosen = data.measurement, data.chosen
    every, requests = measurement.transactions, measurement.requests
    return {
        "throughput_per_s": load.throughput(every.ok, measurement, chosen).document(),
        "request_throughput_per_s": load.throughput(requests.ok, measurement, chosen).document(),
        "response_time_s": load.distribution(every.response, every.response_sum_s, chosen),
        "exchange_time_s": load.distribution(requests.exchange, requests.exchange_sum_s, chosen),
        "errors": load.errors(every, chosen),
        "request_errors": load.errors(requests, chosen),
        "transactions": load.transactions(measurement, chosen, data.phases),
        "steps": load.steps(measurement, chosen),
    }


def _system(data: RunData) -> dict[str, Any]:
    observed, measurement, chosen = data.observed, data.measurement, data.chosen
    end = float(measurement.ends.max()) if measurement.bins else 0.0
    return {
        "tiers": {name: tiers.tier(observed, name, measurement, chosen) for name in observed.tiers},
        "host": tiers.host(observed, measurement, chosen),
        "hosts": hosts.hosts(observed, measurement, chosen),
        "machine": hosts.machine(observed, measurement, chosen),
        "services": tiers.services(observed, measurement, chosen),
        "phases": _phases(data),
        "observation": tiers.observation(observed, 0.0, end, _sending_cpus(data.events)),
    }


def _sending_cpus(events: list[dict[str, Any]]) -> float | None:
    """CPUs that sending results took while the run went on; None where nothing was sent."""
    for event in events:
        cpu, length = event.get("cpu_s"), event.get("seconds")
        if event.get("k") == "sent" and isinstance(cpu, int | float) and isinstance(length, int | float) and length > 0:
            return cpu / length
    return None


def _phases(data: RunData) -> dict[str, Any]:
    measurement, observed = data.measurement, data.observed
    found = {}
    for name, mask in data.phases.items():
        length = float(measurement.lengths[mask].sum())
        timed = float(measurement.transactions.response.counts[mask].sum())
        found[name] = {
            "start_s": float(measurement.starts[mask].min()),
            "end_s": float(measurement.ends[mask].max()),
            "throughput_per_s": float(measurement.transactions.ok[mask].sum()) / length,
            "response_mean_s": (float(measurement.transactions.response_sum_s[mask].sum()) / timed if timed else None),
            "tiers": {tier: _phase_tier(observed, tier, measurement, mask) for tier in observed.tiers},
        }
    return found


def _phase_tier(observed: Observed, name: str, measurement: Measurement, mask: Mask) -> dict[str, Any]:
    lengths = measurement.lengths
    parts = {}
    for part in observed.parts(name):
        seconds = observed.part_cpu_s(name, part, measurement)
        if seconds is not None:
            parts[part.name] = tiers.ratio(seconds, lengths, mask).value
    used = tiers.ratio(observed.cpu_s(name, measurement), lengths, mask).value
    return {"cpus_used": used, "parts": parts}


def _laws(data: RunData) -> dict[str, Any]:
    measurement, chosen = data.measurement, data.chosen
    # An open load has no population and no think time; its users are servers that wait for arrivals.
    closed = data.manifest.get("rate") is None
    checked = [
        laws.utilization(name, data.observed.cpu_s(name, measurement), measurement, chosen)
        for name in data.observed.tiers
    ]
    return {
        "little": laws.little(measurement, chosen) if closed else None,
        "utilization": [one for one in checked if one is not None],
    }


def _accounting(data: RunData) -> dict[str, Any]:
    engine = data.engine or {}
    identity = engine.get("identity") or {}
    totals = engine.get("totals")
    found = laws.accounting(totals if isinstance(totals, dict) else _totals_of_segments(data))
    told = all(identity.get(name, True) for name in ("offered_holds", "started_holds"))
    return {**found, "holds": found["holds"] and told}


def _totals_of_segments(data: RunData) -> dict[str, Any]:
    requests = data.measurement.requests
    last: dict[int, int] = {}
    for one in data.recording.intervals:
        last[one.worker] = one.in_flight
    return {
        "offered": requests.offered.sum(),
        "started": requests.started.sum(),
        "ok": requests.ok.sum(),
        "failed": {kind: counts.sum() for kind, counts in requests.failed_by_kind.items()},
        "not_started": {kind: counts.sum() for kind, counts in requests.not_started.items()},
        "in_flight": sum(last.values()),
    }


def _evidence(data: RunData, summary: dict[str, Any], limits: dict[str, Any]) -> verdict.Evidence:
    measurement = data.measurement
    every = measurement.transactions
    return verdict.Evidence(
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
        effective_samples=load.effective_samples(every, data.chosen),
        timed=int(every.response.counts[data.chosen].sum()),
        relative_half_width=_relative_half_width(summary),
        limits=limits,
        events=data.events,
        events_of_load=list(_lasting(data)),
        last_words=next((str(end["message"]) for end in data.recording.ends.values() if end.get("message")), ""),
        generator_cpus=summary["generator"]["cpus_used"],
        connect_failures=int(sum(measurement.requests.failed_by_kind.get("connect", ()))),
        generator_cores=cores_of(data.engine, data.recording.workers),
        settle=_settle(data),
        lag_grows=_lag_grows(data),
        happened=data.happened,
    )


def _settle(data: RunData) -> dict[str, Any] | None:
    """How the settle stage before the window ended, where that was to be on evidence and there was none."""
    if data.window is None:
        return None
    start = data.window.asked_start_s
    before = [number for number, stage in enumerate(data.measurement.stages) if stage["end_s"] <= start + 1e-6]
    for event in data.events:
        if event.get("k") == "not_settled" and before and event.get("stage_index") == before[-1]:
            return {**event, "length_s": data.measurement.lengths[data.measurement.stage == before[-1]].sum()}
    return None


def _relative_half_width(summary: dict[str, Any]) -> float | None:
    mean = estimate_of(summary, "response_time_s", "mean")
    return mean.half_width / mean.value if mean.half_width is not None and mean.value else None


def _planned_end(data: RunData) -> float:
    """Until when services must be alive: the end of the last steady stage. [s]"""
    ends = [one["end_s"] for one in data.measurement.stages if one.get("phase") == windows.STEADY_PHASE]
    return float(max(ends, default=0.0))


def _lasting(data: RunData) -> Iterator[dict[str, Any]]:
    """Events of the time of the load; a service may end once the load is over."""
    origin = data.observed.origin_ns
    end = origin + round(1e9 * _planned_end(data))
    for event in data.events:
        at = event.get("t_ns")
        if isinstance(at, int) and origin <= at <= end:
            yield event


def _lag_grows(data: RunData) -> bool:
    """Whether the median start lag rises over the window by more than noise and by half of itself."""
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


def estimate_of(summary: dict[str, Any], *path: str) -> estimates.Estimate:
    """Estimate at a path of keys of a summary; `NOTHING` where it is missing."""
    found: Any = summary
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return estimates.NOTHING
        found = found[key]
    return estimates.from_document(found) if isinstance(found, dict) else estimates.NOTHING
