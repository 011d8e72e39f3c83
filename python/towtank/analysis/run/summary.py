"""Computes the summary of a run from all records that can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

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
from towtank.analysis.run_summary import Phase, RunSummary, RunVerdict, TierEstimates, TierInPhase, Users
from towtank.analysis.stored import stored
from towtank.analysis.system import attribution, hosts, tiers
from towtank.analysis.system.balance import balance
from towtank.analysis.system.databases import databases
from towtank.analysis.system.entries import Observation
from towtank.analysis.system.gaps import gaps_of_run
from towtank.analysis.system.spread import spread
from towtank.analysis.system.storage import storage
from towtank.analysis.system.tiers import Observed
from towtank.analysis.unfinished import unfinished
from towtank.analysis.user_groups import user_groups
from towtank.containment import attempt
from towtank.results import Records, RunFolder, TotalsForm, keep_json, offer_json
from towtank.version import __version__

SCHEMA = "towtank/run-summary/1"
SUMMARY = "summary.json"


def summarize_run(run: RunFolder, limits: Mapping[str, float] | None = None, tables: bool = True) -> dict[str, object]:
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
    records, found = _analysed(run, study_limits(run) if limits is None else limits)
    summary = found.document()
    keep_json(run.path / SUMMARY, summary)
    if tables and not is_compacted(run):
        compact(run, records)
    return summary


def _analysed(run: RunFolder, limits: Mapping[str, float]) -> tuple[Records, RunSummary]:
    """Return the records of a run, without what was computed from them, and the summary of the run."""
    objectives = study_objectives(run)
    data = read_run(run, objectives)
    summary = describe(data, run.run_id, limits, objectives)
    return data.records, replace(summary, inputs=inputs(run, limits, objectives))


def kept_summary(run: RunFolder) -> dict[str, object]:
    """Analyse one run, and return its summary. The summary is written only if the folder is writable."""
    # In a renamed folder, the manifest contains the old name, but a study identifies a run by the name of its folder.
    records, found = _analysed(run, study_limits(run))
    summary = replace(found, run=run.run_id).document()
    if offer_json(run.path / SUMMARY, summary) and not is_compacted(run):
        with suppress(OSError):
            attempt(f"tables of {run.run_id}", compact, run, records)
    return summary


def describe(
    data: RunData, name: str, limits: Mapping[str, float], objectives: Sequence[Mapping[str, object]] = ()
) -> RunSummary:
    """Compute the run summary from the content of a run folder."""
    observed, measurement, chosen = data.observed, data.measurement, data.chosen
    law, counts, users = _laws(data), _accounting(data), _users(data)
    every, requests, errors_limit = measurement.transactions, measurement.requests, limits.get("errors", ERRORS_SHARE)
    response_s, exchange_s = _times(measurement, chosen)
    use = {tier: tiers.tier(observed, tier, measurement, chosen, data.targets) for tier in observed.tiers}
    host = tiers.host(observed, measurement, chosen)
    summary = RunSummary(
        towtank=__version__,
        run=str(data.manifest.get("run", name)),
        index=data.manifest.get("index"),
        repetition=data.manifest.get("repetition", 1),
        factors=data.manifest.get("factors") or {},
        status=data.manifest.get("status"),
        window=data.window.document() if data.window else None,
        users=users,
        rate=data.asked_load("rate"),
        response_time_s=response_s,
        exchange_time_s=exchange_s,
        throughput_per_s=load.throughput(every.ok, measurement, chosen),
        request_throughput_per_s=load.throughput(requests.ok, measurement, chosen),
        errors=load.errors(every, chosen),
        request_errors=load.errors(requests, chosen),
        status_codes=load.status_codes(requests, chosen),
        transactions=load.transactions(measurement, chosen, data.phases),
        steps=load.steps(measurement, chosen),
        tiers=use,
        not_attributed=attribution.not_attributed(observed, measurement, chosen),
        other_programs=attribution.other_programs(observed, measurement, chosen, data.manifest.get("targets_here")),
        host=host,
        hosts=hosts.hosts(observed, measurement, chosen),
        machine=hosts.machine(observed, measurement, chosen),
        services=tiers.services(observed, measurement, chosen),
        phases=_phases(data),
        observation=_observation(data),
        laws=law,
        accounting=counts,
        audit=audit.audit(data.plan, measurement, law.little, counts),
        objectives=objective_scopes.judge(objectives, measurement, data.asked, data.phases),
        backlog=backlog(measurement, chosen),
        unfinished=unfinished(measurement, data.window, chosen, data.plan),
        pauses=pauses(measurement, chosen),
        bounds=tuple(bounds(data, use, host, users)),
        limit=data.found.document() if data.found is not None else None,
        generator=generator(measurement, chosen, data.engine, data.manifest),
        connections=connections(measurement, chosen, data.engine, keep=True),
        failed_exchanges=failed_exchanges(data.engine),
        balance=balance(observed, measurement, chosen),
        spread=spread(data.plan, measurement, chosen),
        storage=storage(observed, measurement, chosen),
        databases=databases(observed),
        stored=stored(data.stored),
        logs=data.logs,
        events=_events(data, float(errors_limit)),
        timeline=_timeline(data),
        damage=data.damage,
    )
    return _judged(summary, data, limits)


def _judged(summary: RunSummary, data: RunData, limits: Mapping[str, float]) -> RunSummary:
    """Return the summary with the verdict on the run."""
    evidence = gather_evidence(data, summary, limits)
    doubts = verdict.doubts(evidence)
    found = RunVerdict(level_of(doubts), [doubt.document() for doubt in doubts], tuple(coverage.not_checked(evidence)))
    saturated = any(doubt.kind is DoubtKind.GENERATOR_SATURATED for doubt in doubts)
    return replace(summary, verdict=found, generator=replace(summary.generator, saturated=saturated))


def _users(data: RunData) -> Users:
    length = data.measurement.length_of(data.chosen)
    mean = float(data.measurement.user_s[data.chosen].sum()) / length if length else None
    return Users(data.asked_load("users"), mean, user_groups(data.plan, data.measurement, data.chosen))


def _times(measurement: Measurement, chosen: Mask) -> tuple[load.Distribution, load.Distribution]:
    """Return the response times of transactions and the exchange times of requests. [s]"""
    every, requests, bin_s = measurement.transactions, measurement.requests, measurement.bin_s
    alike = load.response_by_users(measurement, chosen)
    return (
        load.distribution(every.response, every.response_sum_s, chosen, bin_s=bin_s, alike=alike, keep=True),
        load.distribution(requests.exchange, requests.exchange_sum_s, chosen, bin_s=bin_s, keep=True),
    )


def _events(data: RunData, errors_limit: float) -> dict[str, recovery.EventResult]:
    return recovery.describe(
        data.study_events, data.around_events, data.steady_stage, errors_limit, _recorded_until(data)
    )


def _recorded_until(data: RunData) -> float:
    """Return the end of the last recorded interval; 0 if there is none. [s]"""
    return float(data.measurement.ends.max()) if data.measurement.bins else 0.0


def _timeline(data: RunData) -> dict[str, object]:
    unattributed = attribution.timeline(data.observed, data.measurement)
    return {
        **load.timeline(data.measurement),
        **tiers.timeline(data.observed, data.measurement),
        "not_attributed_cpus_used": {name: load.numbers(used) for name, used in unattributed.items()},
    }


def _observation(data: RunData) -> Observation:
    end = _recorded_until(data)
    gaps = gaps_of_run(data.observed, end, data.events)
    return tiers.observation(data.observed, end, _sending_cpus(data.events), gaps)


def _sending_cpus(events: Sequence[Mapping[str, object]]) -> float | None:
    """Return the number of CPUs that were used to send results to other systems during the run; None if nothing was
    sent. [1]
    """
    for event in events:
        cpu, length = event.get("cpu_s"), event.get("seconds")
        if event.get("k") == "sent" and isinstance(cpu, int | float) and isinstance(length, int | float) and length > 0:
            return cpu / length
    return None


def _phases(data: RunData) -> dict[str, Phase]:
    measurement, observed = data.measurement, data.observed
    found = {}
    for name, mask in data.phases.items():
        length = measurement.length_of(mask)
        if not length:
            continue
        timed = float(measurement.transactions.response.counts[mask].sum())
        found[name] = Phase(
            float(measurement.starts[mask].min()),
            float(measurement.ends[mask].max()),
            float(measurement.transactions.ok[mask].sum()) / length,
            float(measurement.transactions.response_sum_s[mask].sum()) / timed if timed else None,
            {tier: _phase_tier(observed, tier, measurement, name, mask) for tier in observed.tiers},
        )
    return found


def _phase_tier(observed: Observed, tier: str, measurement: Measurement, phase: str, mask: Mask) -> TierInPhase:
    seconds = {part.name: observed.part_cpu_s(tier, part, measurement) for part in observed.parts(tier)}
    used = tiers.in_phase(observed.cpu_s(tier, measurement), measurement, phase, mask)
    parts = {
        name: tiers.in_phase(cpu_s, measurement, phase, mask) for name, cpu_s in seconds.items() if cpu_s is not None
    }
    return TierInPhase(used.value, {name: part.value for name, part in parts.items()}, TierEstimates(used, parts))


def _laws(data: RunData) -> laws.Laws:
    measurement, chosen = data.measurement, data.chosen
    # Little's law is checked for closed loads only, because an open load has no fixed number of users and no think
    # time.
    closed = data.manifest.get("rate") is None
    checked = [
        laws.utilization(name, data.observed.cpu_s(name, measurement), measurement, chosen)
        for name in data.observed.tiers
    ]
    little = laws.little(measurement, chosen) if closed else None
    return laws.Laws(little, tuple(law for law in checked if law is not None))


def _accounting(data: RunData) -> laws.Accounting:
    totals = None if data.engine is None else data.engine.totals
    identity = None if data.engine is None else data.engine.identity
    found = laws.accounting(_totals_of_segments(data) if totals is None else totals)
    identity_holds = identity is None or (identity.offered_holds and identity.started_holds)
    return replace(found, holds=found.holds and identity_holds, recorded=_recorded(data, totals))


def _recorded(data: RunData, totals: TotalsForm | None) -> laws.RecordedCounts | None:
    """Return the number of ended requests from two sources: the sum over the intervals, and the total of the engine.
    Return None if either number is incomplete.
    """
    recording = data.recording
    broken = recording.damage.bad_lines or recording.damage.torn_tail or not recording.finished
    if broken or totals is None or not data.measurement.bins:
        return None
    counted = laws.accounting(totals)
    return laws.RecordedCounts(int(data.measurement.requests.ended.sum()), counted.ok + sum(counted.failed.values()))


def _totals_of_segments(data: RunData) -> TotalsForm:
    requests = data.measurement.requests
    last = {interval.worker: interval.in_flight for interval in data.recording.intervals}
    return TotalsForm(
        offered=int(requests.offered.sum()),
        started=int(requests.started.sum()),
        ok=int(requests.ok.sum()),
        failed={kind: int(counts.sum()) for kind, counts in requests.failed_by_kind.items()},
        not_started={kind: int(counts.sum()) for kind, counts in requests.not_started.items()},
        in_flight=sum(last.values()),
    )
