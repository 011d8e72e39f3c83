"""The verdict on a run: every check, in one place, each a function from the evidence to doubts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from towtank.analysis import audit_check
from towtank.analysis.backlog import BEYOND_NOISE, SHORT
from towtank.analysis.doubts import Doubt, Kind, Level, percent, seconds
from towtank.analysis.network_doubts import counted, listen_overflows, loses_packets, retransmits
from towtank.analysis.rates import CLOCK_JUMP_S, GAP_S
from towtank.analysis.recovery import Happened
from towtank.analysis.storage_doubts import full_storage
from towtank.analysis.stored import doubts as stored_doubts
from towtank.analysis.tiers import Observed
from towtank.analysis.window import GROSS, Window
from towtank.results.observe import GENERATOR_GROUP

# A load thread that is busy for more of its time than this starts requests late by chance alone: at 85 % an
# M/M/1 queue holds 5.7 requests.
GENERATOR_BUSY = 0.85
OVERFLOW_SHARE = 0.001
START_LAG_CLOSED_S = 0.010
START_LAG_OPEN_S = 0.001
ERRORS_SHARE = 0.01
# Above it start lag grows steeply: at 80 % an M/M/1 queue holds 4 requests, at 60 % 1.5.
ENVELOPE_SHARE = 0.80
# A process that has so much of its open files or ports in use fails to connect by chance alone.
_CONNECTIONS_SHARE = 0.95
THROTTLED_SHARE = 0.01
# Of the response time that requests spent waiting for a connection of the pool: what is less than the interval of most
# means changes no conclusion.
CONNECTION_WAIT_SHARE = 0.05
_THROTTLED_INVALID = 0.10
STEAL_SHARE = 0.02
STEAL_INVALID = 0.10
# The kernel books some of its own work on a CPU to nobody; a tenth of a CPU is more than that.
FOREIGN_SHARE = 0.10
# So many times the limit, the system was measured as much as the others.
_FOREIGN_INVALID = 3.0
EFFECTIVE_SAMPLES = 30
NARROW = 0.10
TAIL_SAMPLES = 100
OBSERVATION_CPUS = 0.01
OBSERVATION_CPUS_SUSPECT = 0.05
_TAIL = 0.01
# A lag many times the limit is a load that was not offered.
_LAG_INVALID = 10.0

_DISK_FULL = re.compile(r"no space left|disk.{0,12}full|ENOSPC", re.IGNORECASE)

_SERVICE = re.compile(r"^service\b", re.IGNORECASE)
_TOLD_ONCE = (Kind.SERVICE_DIED, Kind.SERVICE_RESTARTED)

_AUDITED = {
    Kind.MIX_OFF: (audit_check.MIX, audit_check.SHARES),
    Kind.THINK_TIME_OFF: (audit_check.THINK,),
    Kind.ARRIVALS_OFF: (audit_check.NUMBER, audit_check.GAPS, audit_check.SECONDS),
}
_PLURAL = (audit_check.SHARES, audit_check.GAPS, audit_check.SECONDS)

_LIMIT_NAMES = {
    "start_lag": ("start_lag_p99", "start_lag_p99_s", "start_lag", "start_lag_s"),
    "interference": ("interference",),
    "errors": ("errors", "errors_share", "error_share", "error_rate"),
}


@dataclass
class Evidence:
    """All that the checks look at.

    Attributes
    ----------
    manifest : dict
        `run.json`.
    engine : dict or None
        `engine.json`; None where the engine did not write it.
    summary : dict
        The run summary as far as it is made.
    limits : dict
        `limits` of the study, SI units.
    effective_samples : float
        Independent values that the mean response time is worth. [1]
    timed : int
        Response times in the window. [1]
    events, events_of_load : list of dict
        Events of the run; those between its start and the end of its steady stages.
    last_words : str
        Message of the last record of a load thread.
    generator_cpus : float or None
        CPUs that the load threads used in the window. [1]
    generator_cores : int
        CPUs that they could work on at once. [1]
    connect_failures : int
        Requests of the whole run that got no connection. [1]
    settle : dict or None
        The event of the settle stage before the window, where it ended without the evidence asked for.
    relative_half_width : float or None
        Half width of the interval of the mean response time, relative to it.
    happened : sequence of Happened
        Events that the study made happen.
    """

    manifest: dict[str, Any]
    engine: dict[str, Any] | None
    summary: dict[str, Any]
    window: Window | None
    observed: Observed
    run_end_s: float
    finished: bool
    bad_histograms: int = 0
    workers: int = 0
    workers_found: int = 0
    effective_samples: float = 0.0
    timed: int = 0
    relative_half_width: float | None = None
    limits: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    events_of_load: list[dict[str, Any]] = field(default_factory=list)
    last_words: str = ""
    generator_cpus: float | None = None
    connect_failures: int = 0
    generator_cores: int = 1
    settle: dict[str, Any] | None = None
    lag_grows: bool = False
    happened: Sequence[Happened] = ()

    @property
    def is_open(self) -> bool:
        """Whether arrivals do not wait for answers."""
        return self.manifest.get("users") is None and self.manifest.get("rate") is not None

    def limit(self, name: str, default: float) -> float:
        """A limit of the study, or the default."""
        for key in _LIMIT_NAMES[name]:
            value = self.limits.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
        return default


def doubts(evidence: Evidence) -> list[Doubt]:
    """All doubts about a run, the heaviest first."""
    found: list[Doubt] = []
    for doubt in (doubt for check in CHECKS for doubt in check(evidence)):
        # Manifest, events and probe tell the same death; once is enough.
        if doubt.kind not in _TOLD_ONCE or doubt.kind not in {one.kind for one in found}:
            found.append(doubt)
    weight = {Level.INVALID: 0, Level.SUSPECT: 1, Level.NOTE: 2}
    return sorted(found, key=lambda doubt: weight[doubt.level])


def _ended_early(evidence: Evidence) -> Iterator[Doubt]:
    status, reason = evidence.manifest.get("status"), str(evidence.manifest.get("reason") or "")
    engine = evidence.engine or {}
    message = str(engine.get("message") or evidence.last_words or "")
    if _DISK_FULL.search(f"{reason} {message}"):
        yield Doubt(Kind.DISK_FULL, Level.INVALID, reason or message)
    if status == "failed":
        # Services first: an engine is stopped because a service died, never the other way round.
        kind = Kind.SERVICE_DIED if _SERVICE.search(reason) or _has(evidence, "system_failed") else Kind.ENGINE_FAILED
        yield Doubt(kind, Level.INVALID, reason or message or "the run failed")
    elif status == "stopped" or engine.get("reason") == "stopped":
        yield Doubt(Kind.INTERRUPTED, Level.INVALID, reason or "the run was stopped before its end")
    elif status in ("running", "planned"):
        yield Doubt(Kind.INTERRUPTED, Level.INVALID, "the run was cut off before its end")
    elif not evidence.finished or engine.get("reason") == "failed":
        text = message or reason or "the engine ended without its last record"
        yield Doubt(Kind.ENGINE_FAILED, Level.INVALID, text)


def _has(evidence: Evidence, kind: str) -> bool:
    return any(event.get("k") == kind for event in evidence.events)


def _services(evidence: Evidence) -> Iterator[Doubt]:
    end = evidence.run_end_s
    for name in evidence.observed.tiers:
        alive = [
            (at, group["alive"], group.get("root_start_ticks"))
            for at, one in zip(evidence.observed.samples.times_s, evidence.observed.probe.samples, strict=True)
            if 0 <= at <= min(end, _taken_down_at(evidence, name))
            and "alive" in (group := one.get("groups", {}).get(name, {}))
        ]
        dead = [at for at, is_alive, _ in alive if not is_alive]
        ticks = {tick for _, is_alive, tick in alive if is_alive and tick is not None}
        if dead:
            yield Doubt(
                Kind.SERVICE_DIED,
                Level.INVALID,
                f"{name} was gone at {dead[0]:.0f} s of the run",
                dead[0],
                unit="s",
            )
        if len(ticks) > 1:
            yield Doubt(
                Kind.SERVICE_RESTARTED,
                Level.INVALID,
                f"{name} was started {len(ticks)} times within the run",
                float(len(ticks)),
                1.0,
            )
    for event in evidence.events_of_load:
        kind = {"service_died": Kind.SERVICE_DIED, "service_restarted": Kind.SERVICE_RESTARTED}.get(str(event.get("k")))
        if kind is not None:
            name = event.get("service", "a service")
            yield Doubt(kind, Level.INVALID, str(event.get("message") or f"{name}: {str(kind).replace('_', ' ')}"))


def _taken_down_at(evidence: Evidence, process: str) -> float:
    """When an event first ended a process: what becomes of it from there on was asked for. [s]"""
    begins = [one.begin_s for one in evidence.happened if process in one.processes and one.begin_s is not None]
    return min(begins, default=float("inf"))


def _events(evidence: Evidence) -> Iterator[Doubt]:
    for one in evidence.happened:
        if one.failed is not None:
            text = f"event {one.name} ({one.do} {one.on}) did not happen as asked: {one.failed}"
            yield Doubt(Kind.EVENT_FAILED, Level.INVALID, text)


def _stored(evidence: Evidence) -> Iterator[Doubt]:
    yield from stored_doubts(evidence.summary["stored"])


def _errors(evidence: Evidence) -> Iterator[Doubt]:
    share = evidence.summary["errors"]["share"]
    limit = evidence.limit("errors", ERRORS_SHARE)
    if share > limit:
        kinds = evidence.summary["errors"]["by_kind"]
        worst = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda one: -one[1])[:3])
        text = f"{percent(share)} of transactions failed, limit {percent(limit)} ({worst})"
        yield Doubt(Kind.ERRORS_ABOVE_LIMIT, Level.INVALID, text, share, limit)


def _generator(evidence: Evidence) -> Iterator[Doubt]:
    used = evidence.generator_cpus
    share = used / max(1, evidence.generator_cores) if used is not None else None
    if share is not None and share > GENERATOR_BUSY:
        text = (
            f"the generator's cores ({evidence.generator_cores}) were busy for {percent(share)} of the window, "
            f"limit {percent(GENERATOR_BUSY)}"
        )
        yield Doubt(Kind.GENERATOR_SATURATED, Level.INVALID, text, share, GENERATOR_BUSY)
    elif evidence.lag_grows and share is not None and share > 0.5 * GENERATOR_BUSY:
        text = f"the generator's start lag grows, with its cores busy for {percent(share)} of the window"
        yield Doubt(Kind.GENERATOR_SATURATED, Level.INVALID, text, share, GENERATOR_BUSY)


def _overflow(evidence: Evidence) -> Iterator[Doubt]:
    accounting = evidence.summary["accounting"]
    count, offered = accounting["not_started"].get("overflow", 0), accounting["offered"]
    if count:
        level = Level.SUSPECT if count > OVERFLOW_SHARE * offered else Level.NOTE
        text = f"{count:,} arrivals, {percent(count / offered)} of all requests offered, were turned away, limit 0"
        yield Doubt(Kind.OVERFLOW, level, text, float(count), 0.0)


def _envelope(evidence: Evidence) -> Iterator[Doubt]:
    told = evidence.summary["generator"]
    share = told["envelope_share"]
    if share is not None and share > ENVELOPE_SHARE:
        text = (
            f"the generator started {told['requests_started_per_s']:,.0f} requests/s, {percent(share)} of the "
            f"{told['envelope_per_s']:,.0f} /s that its cores ({evidence.generator_cores}) can do by calibration, "
            f"limit {percent(ENVELOPE_SHARE)}"
        )
        yield Doubt(Kind.GENERATOR_SATURATED, Level.SUSPECT, text, share, ENVELOPE_SHARE)


def _connections(evidence: Evidence) -> Iterator[Doubt]:
    """Connections that failed while the generator had nearly all open that it can: its limit, not the system's."""
    told = evidence.summary["generator"]
    resources = {"open_files": "files it may open", "connections_by_ports": "ports it has to these addresses"}
    for name, words in resources.items():
        limit, used = told["limits"][name], told["connections_at_most"]
        if evidence.connect_failures and limit and used > _CONNECTIONS_SHARE * limit:
            text = (
                f"the generator had {used:,} connections with {limit:,.0f} {words}, and {evidence.connect_failures:,} "
                f"requests got no connection"
            )
            yield Doubt(Kind.GENERATOR_SATURATED, Level.INVALID, text, used / limit, _CONNECTIONS_SHARE)


def _pool(evidence: Evidence) -> Iterator[Doubt]:
    waits = evidence.summary["connections"]["wait_time_s"] or {}
    share = waits.get("share_of_response_time", 0.0)
    if share > CONNECTION_WAIT_SHARE:
        text = (
            f"{percent(waits['share_waited'])} of the requests waited for a connection of the pool, "
            f"{seconds(waits['mean'])} on average: {percent(share)} of response time, "
            f"limit {percent(CONNECTION_WAIT_SHARE)}"
        )
        yield Doubt(Kind.CONNECTION_WAIT, Level.NOTE, text, share, CONNECTION_WAIT_SHARE)


def _network(evidence: Evidence) -> Iterator[Doubt]:
    networks, window = counted(evidence.summary), evidence.window
    yield from listen_overflows(networks)
    started = evidence.summary["generator"]["requests_started_per_s"]
    if window is not None and started:
        asked = loses_packets(evidence.observed.hosts)
        yield from retransmits(networks, started * (window.end_s - window.start_s), asked=asked)


def _throttled(evidence: Evidence) -> Iterator[Doubt]:
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


def _storage(evidence: Evidence) -> Iterator[Doubt]:
    window = evidence.window
    if window is not None:
        yield from full_storage(evidence.summary["hosts"], window.end_s - window.start_s)


def _start_lag(evidence: Evidence) -> Iterator[Doubt]:
    lag = evidence.summary["generator"]["start_lag_p99_s"]
    default = START_LAG_OPEN_S if evidence.is_open else START_LAG_CLOSED_S
    limit = evidence.limit("start_lag", default)
    if lag is not None and lag > limit:
        level = Level.INVALID if lag > _LAG_INVALID * limit else Level.SUSPECT
        text = f"start lag is {seconds(lag)} at p99, limit {seconds(limit)}"
        yield Doubt(Kind.START_LAG, level, text, lag, limit, "s")


def _steady(evidence: Evidence) -> Iterator[Doubt]:
    window = evidence.window
    if window is None:
        yield Doubt(Kind.NO_STEADY_STATE, Level.INVALID, "nothing was recorded in a steady stage")
        return
    for name, change, tolerance in window.changes:
        level = Level.INVALID if abs(change) > GROSS * tolerance else Level.SUSPECT
        text = f"{name.replace('_', ' ')} changes by {100 * change:+.3g} % over the window, limit {percent(tolerance)}"
        yield Doubt(Kind.NO_STEADY_STATE, level, text, abs(change), tolerance)
    for name, at_s, change, tolerance in window.steps:
        level = Level.INVALID if abs(change) > GROSS * tolerance else Level.SUSPECT
        text = f"{name.replace('_', ' ')} steps by {100 * change:+.3g} % at {at_s:.0f} s, limit {percent(tolerance)}"
        yield Doubt(Kind.NO_STEADY_STATE, level, text, abs(change), tolerance)
    planned = window.planned_end_s - window.asked_start_s
    recorded = window.asked_end_s - window.asked_start_s
    if recorded < 0.98 * planned:
        text = f"only {seconds(recorded)} of the {seconds(planned)} of the steady stage were recorded"
        yield Doubt(Kind.TOO_FEW_SAMPLES, Level.SUSPECT, text, recorded, planned, "s")


def _settled(evidence: Evidence) -> Iterator[Doubt]:
    event = evidence.settle
    if event is not None:
        why = (event.get("evidence") or {}).get("why") or "no evidence"
        length = float(event.get("length_s") or 0.0)
        text = f"{event.get('stage')} ended after {seconds(length)} without evidence of a steady state: {why}"
        yield Doubt(Kind.NOT_SETTLED, Level.SUSPECT, text, length, length, "s")


def _backlog(evidence: Evidence) -> Iterator[Doubt]:
    found, window = evidence.summary["backlog"], evidence.window
    if found is None or window is None or not found["excess_at_start"]:
        return
    drained, length = found["drained_s"], window.end_s - window.start_s
    end = "was not worked off" if drained is None else f"was worked off after {seconds(drained)}"
    text = (
        f"the window began with {found['at_start']:,} requests in flight and {found['waiting_at_start']:,} arrivals "
        f"waiting, where its load needs {found['needs']:.3g} in flight; the rest {end}"
    )
    level = Level.NOTE if drained is not None and drained <= SHORT * length else Level.SUSPECT
    limit = found["needs"] + BEYOND_NOISE * found["swing"]
    yield Doubt(Kind.BACKLOG, level, text, float(found["at_start"] + found["waiting_at_start"]), limit)


def _samples(evidence: Evidence) -> Iterator[Doubt]:
    if evidence.window is None:
        return
    worth = evidence.effective_samples
    if worth < EFFECTIVE_SAMPLES:
        text = (
            f"the mean response time rests on {worth:.0f} independent values, at least {EFFECTIVE_SAMPLES} are needed"
        )
        # Few slow swings with a narrow interval all the same: at saturation all response times are nearly
        # equal.
        narrow = evidence.relative_half_width is not None and evidence.relative_half_width <= NARROW
        level = Level.NOTE if narrow else Level.SUSPECT
        yield Doubt(Kind.TOO_FEW_SAMPLES, level, text, worth, float(EFFECTIVE_SAMPLES))
    tail = _TAIL * evidence.timed
    if tail < TAIL_SAMPLES:
        text = f"p99 rests on {tail:.0f} transactions slower than it, at least {TAIL_SAMPLES} are wanted"
        yield Doubt(Kind.TOO_FEW_SAMPLES, Level.NOTE, text, tail, float(TAIL_SAMPLES))


def _laws(evidence: Evidence) -> Iterator[Doubt]:
    accounting = evidence.summary["accounting"]
    if not accounting["holds"]:
        yield Doubt(Kind.ACCOUNTING, Level.INVALID, "requests offered, started and ended do not add up")
    little = evidence.summary["laws"]["little"]
    if little is not None and not little["holds"]:
        text = (
            f"N = {little['n']:.4g} but X (R + Z) = "
            f"{little['x_per_s'] * (little['r_s'] + little['z_s']):.4g}: "
            f"residual {percent(little['residual'])}, limit {percent(little['limit'])}"
        )
        yield Doubt(Kind.LITTLE_LAW, Level.SUSPECT, text, little["residual"], little["limit"])
    for law in evidence.summary["laws"]["utilization"]:
        if not law["holds"]:
            text = (
                f"{law['tier']} used {law['u']:.3g} CPUs where throughput × demand gives "
                f"{law['x_per_s'] * law['d_s']:.3g}: residual {percent(law['residual'])}, limit "
                f"{percent(law['limit'])}"
            )
            yield Doubt(Kind.UTILIZATION_LAW, Level.SUSPECT, text, law["residual"], law["limit"])


def _audit(evidence: Evidence) -> Iterator[Doubt]:
    found = evidence.summary["audit"]
    for kind, names in _AUDITED.items():
        bad = [one for one in found["tests"] if one["verdict"] == "suspect" and one["test"] in names]
        if bad:
            worst = min(bad, key=_p_value)
            others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
            text = f"{_about(worst)} not as asked{others}: p = {worst['p_value']:.2g}"
            text += f" by {worst['method']}, n = {worst['n']}"
            yield Doubt(kind, Level.SUSPECT, text, worst["p_value"], found["level"])


def _p_value(one: dict[str, Any]) -> float:
    return float(one["p_value"])


def _about(one: dict[str, Any]) -> str:
    where = "".join(f" of {one[key]}" for key in ("group", "stage") if one[key])
    return f"{one['test']}{where} {'are' if one['test'] in _PLURAL else 'is'}"


def _host(evidence: Evidence) -> Iterator[Doubt]:
    steal = evidence.summary["host"]["steal"]
    if steal is not None and steal > STEAL_SHARE:
        level = Level.INVALID if steal > STEAL_INVALID else Level.SUSPECT
        text = f"{percent(steal)} of CPU time was stolen by the hypervisor, limit {percent(STEAL_SHARE)}"
        yield Doubt(Kind.STEAL_TIME, level, text, steal, STEAL_SHARE)
    foreign = evidence.summary["host"]["foreign_share"]
    limit = evidence.limit("interference", FOREIGN_SHARE)
    if foreign is not None and foreign > limit:
        level = Level.INVALID if foreign > _FOREIGN_INVALID * limit else Level.SUSPECT
        text = f"other programs used {percent(foreign)} of the system's CPUs, limit {percent(limit)}"
        yield Doubt(Kind.INTERFERENCE, level, text, foreign, limit)
    jump = evidence.observed.samples.clock_jump()
    if jump > CLOCK_JUMP_S:
        text = f"the wall clock jumped by {seconds(jump)}, limit {seconds(CLOCK_JUMP_S)}"
        yield Doubt(Kind.CLOCK_JUMP, Level.NOTE, text, jump, CLOCK_JUMP_S, "s")
    pinning = evidence.manifest.get("pinning") or {}
    system, generator = set(pinning.get("system") or []), set(pinning.get("generator") or [])
    if evidence.observed.tiers and (not system or not generator or system & generator):
        yield Doubt(Kind.NOT_PINNED, Level.NOTE, "generator and system were not kept on different CPUs")


def _observation(evidence: Evidence) -> Iterator[Doubt]:
    window, samples = evidence.window, evidence.observed.samples
    if window is not None and evidence.observed.tiers:
        gap = samples.longest_gap(window.start_s, window.end_s)
        if gap > GAP_S:
            text = f"{seconds(gap)} of the window went by without a sample, limit {seconds(GAP_S)}"
            yield Doubt(Kind.OBSERVATION_GAP, Level.SUSPECT, text, gap, GAP_S, "s")
    cost = evidence.summary["observation"]["cpus_used"]
    if cost is not None and cost > OBSERVATION_CPUS:
        level = Level.SUSPECT if cost > OBSERVATION_CPUS_SUSPECT else Level.NOTE
        text = f"observing took {percent(cost)} of one core, limit {percent(OBSERVATION_CPUS)}"
        yield Doubt(Kind.OBSERVATION_COST, level, text, cost, OBSERVATION_CPUS)


def _damage(evidence: Evidence) -> Iterator[Doubt]:
    bad = evidence.summary["damage"]["bad_lines"] + evidence.bad_histograms
    if bad:
        yield Doubt(Kind.DATA_DAMAGED, Level.SUSPECT, f"{bad} records cannot be read", float(bad), 0.0)
    elif evidence.summary["damage"]["torn_tail"]:
        yield Doubt(Kind.DATA_DAMAGED, Level.NOTE, "the last record of a stream is torn and was left out")
    if evidence.workers_found < evidence.workers:
        missing = evidence.workers - evidence.workers_found
        text = f"the records of {missing} of {evidence.workers} load threads are missing"
        yield Doubt(Kind.DATA_DAMAGED, Level.INVALID, text, float(missing), 0.0)


CHECKS: tuple[Callable[[Evidence], Iterator[Doubt]], ...] = (
    _ended_early,
    _services,
    _events,
    _errors,
    _generator,
    _overflow,
    _envelope,
    _connections,
    _pool,
    _start_lag,
    _steady,
    _settled,
    _backlog,
    _samples,
    _laws,
    _audit,
    _host,
    _network,
    _throttled,
    _storage,
    _stored,
    _observation,
    _damage,
)
"""Every check; to add one, write it above and name it here."""
