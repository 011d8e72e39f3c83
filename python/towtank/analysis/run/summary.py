"""Computes the summary of a run from all records that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from towtank.analysis import audit, laws, load, objective_scopes, recovery, verdict
from towtank.analysis.backlog import backlog
from towtank.analysis.bounds import bounds
from towtank.analysis.checks import coverage
from towtank.analysis.checks.course import ERRORS_SHARE
from towtank.analysis.compaction import compact, is_compacted
from towtank.analysis.connections import connections
from towtank.analysis.doubts import DoubtKind, level_of
from towtank.analysis.failed_exchanges import failed_exchanges
from towtank.analysis.generator import generator
from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.pauses import pauses
from towtank.analysis.run.data import RunData
from towtank.analysis.run.evidence import gather_evidence
from towtank.analysis.run.inputs import inputs
from towtank.analysis.run.reading import read_run, study_limits, study_objectives
from towtank.analysis.stored import stored
from towtank.analysis.system import attribution, hosts, tiers
from towtank.analysis.system.balance import balance
from towtank.analysis.system.databases import databases
from towtank.analysis.system.gaps import gaps_of_run
from towtank.analysis.system.limits import tier_limits
from towtank.analysis.system.spread import spread
from towtank.analysis.system.storage import storage
from towtank.analysis.system.tiers import Observed
from towtank.analysis.unfinished import unfinished
from towtank.analysis.user_groups import user_groups
from towtank.containment import attempt
from towtank.results import RunFolder, keep_json, offer_json
from towtank.version import __version__

SCHEMA = "towtank/run-summary/1"
SUMMARY = "summary.json"


def summarize_run(run: RunFolder, limits: dict[str, Any] | None = None, tables: bool = True) -> dict[str, Any]:
    """Analyse one run and write its `summary.json`.

    Parameters
    ----------
    run : RunFolder
        Run folder in any state: complete, incomplete, or without records.
    limits : dict, optional
        Limits of the study, in SI units. By default, the limits of the study to which the folder belongs, if any.
    tables : bool, default True
        True to write the records as Parquet tables as well, unless these tables exist.

    Returns
    -------
    dict
        The run summary, as `docs/reference/summary.md` describes.
    """
    summary = _analysed(run, study_limits(run) if limits is None else limits)
    keep_json(run.path / SUMMARY, summary)
    if tables and not is_compacted(run):
        compact(run)
    return summary


def _analysed(run: RunFolder, limits: dict[str, Any]) -> dict[str, Any]:
    objectives = study_objectives(run)
    summary = describe(read_run(run, objectives), run.run_id, limits, objectives)
    summary["inputs"] = inputs(run, limits, objectives)
    return summary


def kept_summary(run: RunFolder) -> dict[str, Any]:
    """Analyse one run, and return its summary. The summary is written only if the folder is writable."""
    summary = _analysed(run, study_limits(run))
    # In a renamed folder, the manifest contains the old name, but a study identifies a run by the name of its folder.
    summary["run"] = run.run_id
    if offer_json(run.path / SUMMARY, summary) and not is_compacted(run):
        with suppress(OSError):
            attempt(f"tables of {run.run_id}", compact, run)
    return summary


def describe(
    data: RunData, name: str, limits: dict[str, Any], objectives: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Compute the run summary from the content of a run folder."""
    summary = {**_identity(data, name), **_load(data), **_system(data)}
    summary["laws"] = _laws(data)
    summary["accounting"] = _accounting(data)
    summary["audit"] = audit.audit(data.plan, data.measurement, summary["laws"]["little"], summary["accounting"])
    summary["objectives"] = objective_scopes.judge(objectives, data.measurement, data.asked, data.phases)
    summary["backlog"] = backlog(data.measurement, data.chosen)
    summary["unfinished"] = unfinished(data.measurement, data.window, data.chosen, data.plan)
    summary["pauses"] = pauses(data.measurement, data.chosen)
    summary["bounds"] = bounds(data, summary)
    summary["limit"] = data.found.document() if data.found is not None else None
    summary["generator"] = generator(data.measurement, data.chosen, data.engine, data.manifest)
    summary["connections"] = connections(data.measurement, data.chosen, data.engine, keep=True)
    summary.update(failed_exchanges=failed_exchanges(data.engine))
    summary["balance"] = balance(data.observed, data.measurement, data.chosen)
    summary["spread"] = spread(data.plan, data.measurement, data.chosen)
    summary["storage"] = storage(data.observed, data.measurement, data.chosen)
    summary["databases"] = databases(data.observed)
    summary["stored"] = stored(data.stored)
    summary["logs"] = data.logs
    errors_limit = float(limits.get("errors", ERRORS_SHARE))
    summary["events"] = recovery.describe(data.study_events, data.measurement, data.steady_stage, errors_limit)
    summary["timeline"] = {
        **load.timeline(data.measurement),
        **tiers.timeline(data.observed, data.measurement),
        "not_attributed_cpus_used": {
            name: load.numbers(used) for name, used in attribution.timeline(data.observed, data.measurement).items()
        },
    }
    summary["damage"] = data.damage
    evidence = gather_evidence(data, summary, limits)
    doubts = verdict.doubts(evidence)
    summary["generator"]["saturated"] = any(doubt.kind is DoubtKind.GENERATOR_SATURATED for doubt in doubts)
    summary["verdict"] = {
        "level": level_of(doubts),
        "reasons": [doubt.document() for doubt in doubts],
        "not_checked": [missing.document() for missing in coverage.not_checked(evidence)],
    }
    return summary


def _identity(data: RunData, name: str) -> dict[str, Any]:
    manifest, measurement = data.manifest, data.measurement
    length = measurement.length_of(data.chosen)
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
        "users": {
            "asked": data.asked_load("users"),
            "mean": mean,
            "groups": user_groups(data.plan, measurement, data.chosen),
        },
        "rate": data.asked_load("rate"),
    }


def _load(data: RunData) -> dict[str, Any]:
    measurement, chosen = data.measurement, data.chosen
    every, requests = measurement.transactions, measurement.requests
    return {
        "throughput_per_s": load.throughput(every.ok, measurement, chosen).document(),
        "request_throughput_per_s": load.throughput(requests.ok, measurement, chosen).document(),
        "response_time_s": load.distribution(
            every.response,
            every.response_sum_s,
            chosen,
            bin_s=measurement.bin_s,
            alike=load.response_by_users(measurement, chosen),
            keep=True,
        ),
        "exchange_time_s": load.distribution(
            requests.exchange, requests.exchange_sum_s, chosen, bin_s=measurement.bin_s, keep=True
        ),
        "errors": load.errors(every, chosen),
        "request_errors": load.errors(requests, chosen),
        "status_codes": load.status_codes(requests, chosen),
        "transactions": load.transactions(measurement, chosen, data.phases),
        "steps": load.steps(measurement, chosen),
    }


def _system(data: RunData) -> dict[str, Any]:
    observed, measurement, chosen = data.observed, data.measurement, data.chosen
    end = float(measurement.ends.max()) if measurement.bins else 0.0
    window = tiers.span(measurement, chosen)
    targets = {
        address
        for target in (data.plan or {}).get("targets") or ()
        for way in (target.get("addresses") or (), *(target.get("fallbacks") or ()))
        for address in way
    }
    return {
        "tiers": {
            name: {
                **tiers.tier(observed, name, measurement, chosen),
                "limits": tier_limits(observed, name, *window, targets),
            }
            for name in observed.tiers
        },
        "not_attributed": attribution.not_attributed(observed, measurement, chosen),
        "other_programs": attribution.other_programs(observed, measurement, chosen, data.manifest.get("targets_here")),
        "host": tiers.host(observed, measurement, chosen),
        "hosts": hosts.hosts(observed, measurement, chosen),
        "machine": hosts.machine(observed, measurement, chosen),
        "services": tiers.services(observed, measurement, chosen),
        "phases": _phases(data),
        "observation": {
            **tiers.observation(observed, 0.0, end, _sending_cpus(data.events)),
            "gaps": [gap.document() for gap in gaps_of_run(observed, end, data.events)],
        },
    }


def _sending_cpus(events: list[dict[str, Any]]) -> float | None:
    """Return the number of CPUs that were used to send results to other systems during the run; None if nothing was
    sent. [1]
    """
    for event in events:
        cpu, length = event.get("cpu_s"), event.get("seconds")
        if event.get("k") == "sent" and isinstance(cpu, int | float) and isinstance(length, int | float) and length > 0:
            return cpu / length
    return None


def _phases(data: RunData) -> dict[str, Any]:
    measurement, observed = data.measurement, data.observed
    found = {}
    for name, mask in data.phases.items():
        length = measurement.length_of(mask)
        if not length:
            continue
        timed = float(measurement.transactions.response.counts[mask].sum())
        found[name] = {
            "start_s": float(measurement.starts[mask].min()),
            "end_s": float(measurement.ends[mask].max()),
            "throughput_per_s": float(measurement.transactions.ok[mask].sum()) / length,
            "response_mean_s": (float(measurement.transactions.response_sum_s[mask].sum()) / timed if timed else None),
            "tiers": {tier: _phase_tier(observed, tier, measurement, name, mask) for tier in observed.tiers},
        }
    return found


def _phase_tier(observed: Observed, tier: str, measurement: Measurement, phase: str, mask: Mask) -> dict[str, Any]:
    """Return the number of CPUs that a tier and each of its parts (embedded components) used in a phase of the load.
    Each number is given as a value and as an estimate with its interval. [1]
    """
    seconds = {part.name: observed.part_cpu_s(tier, part, measurement) for part in observed.parts(tier)}
    used = tiers.in_phase(observed.cpu_s(tier, measurement), measurement, phase, mask)
    parts = {
        name: tiers.in_phase(cpu_s, measurement, phase, mask) for name, cpu_s in seconds.items() if cpu_s is not None
    }
    return {
        "cpus_used": used.value,
        "parts": {name: part.value for name, part in parts.items()},
        "estimates": {"cpus_used": used.document(), "parts": {name: part.document() for name, part in parts.items()}},
    }


def _laws(data: RunData) -> dict[str, Any]:
    measurement, chosen = data.measurement, data.chosen
    # Little's law is checked for closed loads only, because an open load has no fixed number of users and no think
    # time.
    closed = data.manifest.get("rate") is None
    checked = [
        laws.utilization(name, data.observed.cpu_s(name, measurement), measurement, chosen)
        for name in data.observed.tiers
    ]
    return {
        "little": laws.little(measurement, chosen) if closed else None,
        "utilization": [law for law in checked if law is not None],
    }


def _accounting(data: RunData) -> dict[str, Any]:
    engine = data.engine or {}
    identity = engine.get("identity") or {}
    totals = engine.get("totals")
    found = laws.accounting(totals if isinstance(totals, dict) else _totals_of_segments(data))
    identity_holds = all(identity.get(name, True) for name in ("offered_holds", "started_holds"))
    return {**found, "holds": found["holds"] and identity_holds, "recorded": _recorded(data, totals)}


def _recorded(data: RunData, totals: Any) -> dict[str, int] | None:
    """Return the number of ended requests from two sources: the sum over the intervals, and the total of the engine.
    Return None if either number is incomplete.
    """
    recording = data.recording
    broken = recording.damage.bad_lines or recording.damage.torn_tail or not recording.finished
    if broken or not isinstance(totals, dict) or not data.measurement.bins:
        return None
    counted = laws.accounting(totals)
    return {
        "intervals": int(data.measurement.requests.ended.sum()),
        "engine": counted["ok"] + sum(counted["failed"].values()),
    }


def _totals_of_segments(data: RunData) -> dict[str, Any]:
    requests = data.measurement.requests
    last: dict[int, int] = {}
    for interval in data.recording.intervals:
        last[interval.worker] = interval.in_flight
    return {
        "offered": requests.offered.sum(),
        "started": requests.started.sum(),
        "ok": requests.ok.sum(),
        "failed": {kind: counts.sum() for kind, counts in requests.failed_by_kind.items()},
        "not_started": {kind: counts.sum() for kind, counts in requests.not_started.items()},
        "in_flight": sum(last.values()),
    }
