"""Checks that a run went as planned: the load did not end early, services stayed alive, and events took place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text, seconds
from towtank.distributions import binomial_tail

ERRORS_SHARE = 0.01  # Default limit of the share of failed transactions and requests, in [0, 1].
# Significance level of the test whether the share of failures exceeds its limit. At this level, chance hardly ever
# raises a doubt in a study of ten runs.
BY_CHANCE = 0.001
_DISK_FULL = re.compile(r"no space left|disk.{0,12}full|ENOSPC", re.IGNORECASE)
# Reason and next step for a run that an objective of `--abort-on` ended.
_ABORTED = (
    "A load that clearly misses an objective was ended, so that its steady stage is not complete.",
    "lower the load, or repeat the run without --abort-on",
)
_SERVICE = re.compile(r"^service\b", re.IGNORECASE)


def ended_early(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the run reached its planned end. Otherwise, the doubt gives the reason of the early end."""
    status, reason = evidence.manifest.get("status"), str(evidence.manifest.get("reason") or "")
    ended = evidence.engine and evidence.engine.reason
    message = (evidence.engine and evidence.engine.message) or evidence.last_words
    if _DISK_FULL.search(f"{reason} {message}"):
        yield Doubt(DoubtKind.DISK_FULL, DoubtLevel.INVALID, reason or message)
    if status == "failed":
        # Towtank stops the engine when a service dies, but does not stop a service when the engine dies. The death of a
        # service is therefore the cause, and is reported instead of the failure of the engine.
        kind = (
            DoubtKind.SERVICE_DIED
            if _SERVICE.search(reason) or _has(evidence, "system_failed")
            else DoubtKind.ENGINE_FAILED
        )
        yield Doubt(kind, DoubtLevel.INVALID, reason or message or "the run failed")
    elif status == "stopped" or ended == "stopped":
        special = _ABORTED if _has(evidence, "aborted") else None
        text = reason or "the run was stopped before its end"
        yield Doubt(DoubtKind.INTERRUPTED, DoubtLevel.INVALID, text, special=special)
    elif status in ("running", "planned"):
        yield Doubt(DoubtKind.INTERRUPTED, DoubtLevel.INVALID, "the run was cut off before its end")
    elif not evidence.finished or ended == "failed":
        text = message or reason or "the engine ended without its last record"
        yield Doubt(DoubtKind.ENGINE_FAILED, DoubtLevel.INVALID, text)


def completed(evidence: Evidence) -> Iterator[Doubt]:
    """Check that at least one transaction completed in the window."""
    found = evidence.summary.unfinished
    if found is None or evidence.completed:
        return
    text = "no transaction completed within the window"
    if found.in_flight:
        text += f"; requests in flight at its end: {found.in_flight:,}"
    if found.failed_later:
        text += "; failed after it: " + _kinds(found.failed_later)
    if found.silent_targets:
        text += f"; every request to {' and '.join(found.silent_targets)} failed"
    yield Doubt(DoubtKind.NOTHING_COMPLETED, DoubtLevel.INVALID, text, 0.0, 1.0)


def _kinds(counts: dict[str, int]) -> str:
    """Render the three most frequent kinds of failure, each with its number."""
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items(), key=lambda pair: -pair[1])[:3])


def _has(evidence: Evidence, kind: str) -> bool:
    return any(event.get("k") == kind for event in evidence.events)


def services_seen(evidence: Evidence) -> Iterator[Doubt]:
    """Check that every process of every tier was alive in all samples of the probe, and that no process was replaced by
    another.
    """
    end = evidence.run_end_s
    for name in evidence.observed.tiers:
        where = evidence.observed.where(name)
        alive = [
            (at, group["alive"], group.get("root_start_ticks"), group.get("processes_alive") or 0)
            for at, sample in zip(where.samples.times_s, where.probe.samples, strict=True)
            if 0 <= at <= min(end, _taken_down_at(evidence, name))
            and "alive" in (group := sample.get("groups", {}).get(name, {}))
        ]
        dead = [at for at, is_alive, _, left in alive if not is_alive and not left]
        left = [(at, processes) for at, is_alive, _, processes in alive if not is_alive and processes]
        ticks = {tick for _, is_alive, tick, _ in alive if is_alive and tick is not None}
        if dead:
            text = f"{name} no longer ran at {dead[0]:.0f} s of the run"
            yield Doubt(DoubtKind.SERVICE_DIED, DoubtLevel.INVALID, text, dead[0], unit="s")
        elif left:
            at, processes = left[0]
            text = (
                f"the process given for {name} had ended at {at:.0f} s of the run, but {processes} processes that it "
                "started still ran"
            )
            yield Doubt(DoubtKind.ROOT_LEFT, DoubtLevel.SUSPECT, text, at, unit="s")
        if len(ticks) > 1:
            text = f"{name} was started {len(ticks)} times within the run"
            yield Doubt(DoubtKind.SERVICE_RESTARTED, DoubtLevel.INVALID, text, float(len(ticks)), 1.0)


def services_reported(evidence: Evidence) -> Iterator[Doubt]:
    """Check that Towtank recorded no event about a service that died or restarted under load."""
    for event in evidence.events_of_load:
        kind = {"service_died": DoubtKind.SERVICE_DIED, "service_restarted": DoubtKind.SERVICE_RESTARTED}.get(
            str(event.get("k"))
        )
        if kind is not None:
            name = event.get("service", "a service")
            yield Doubt(kind, DoubtLevel.INVALID, str(event.get("message") or f"{name}: {str(kind).replace('_', ' ')}"))


def services_held(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no service was stopped under load by a signal (SIGSTOP) from outside the study."""
    held = [str(event.get("service")) for event in evidence.events_of_load if event.get("k") == "service_held"]
    for name in dict.fromkeys(held):
        held_s = _held_s(evidence, name)
        text = f"a signal that no event of the study sent stopped {name} for about {seconds(held_s)}"
        yield Doubt(DoubtKind.SERVICE_HELD, DoubtLevel.INVALID, text, held_s, unit="s")


def _held_s(evidence: Evidence, name: str) -> float:
    """Return how long a service was stopped by a signal under load, according to the recorded events. [s]"""
    since: int | None = None
    total_ns = 0
    for event in evidence.events:
        kind, at = event.get("k"), event.get("t_ns")
        is_its_own = event.get("service") == name
        if kind == "service_held" and is_its_own:
            since = at
        elif since is not None and at is not None and (kind == "engine_ended" or is_its_own):
            total_ns, since = total_ns + at - since, None
    return total_ns / 1e9


def _taken_down_at(evidence: Evidence, process: str) -> float:
    """Return the time at which an event of the study first ended a process; infinite if no event did. [s]

    After that time, the death of the process is expected.
    """
    begins = [
        event.begin_s for event in evidence.study_events if process in event.processes and event.begin_s is not None
    ]
    return min(begins, default=float("inf"))


def events(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the events of the study took place as requested."""
    for event in evidence.study_events:
        if event.failed is not None:
            text = f"event {event.name} ({event.do} {event.on}) was not carried out as planned: {event.failed}"
            yield Doubt(DoubtKind.EVENT_FAILED, DoubtLevel.INVALID, text)


def errors(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the share of failed transactions does not exceed its limit."""
    share = evidence.summary.errors.share
    limit = evidence.limit("errors", ERRORS_SHARE)
    if share > limit:
        worst = _kinds(evidence.summary.errors.by_kind)
        text = f"{percent_text(share)} of transactions failed, limit {percent_text(limit)} ({worst})"
        yield Doubt(DoubtKind.ERRORS_ABOVE_LIMIT, DoubtLevel.INVALID, text, share, limit)


def errors_by_part(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no single transaction and no single request failed too often.

    Notes
    -----
    A rare transaction that always fails hardly changes the share of failures over all transactions. Each transaction
    and each request is therefore checked separately. A few failures may exceed the limit by chance, so a doubt requires
    a significant binomial test at the level `BY_CHANCE`.
    """
    summary, limit = evidence.summary, evidence.limit("errors", ERRORS_SHARE)
    above_in_all = summary.errors.share > limit
    later = (summary.unfinished and summary.unfinished.transactions_failed_later) or {}
    doubted = set()
    for name, transaction in summary.transactions.items():
        failed = transaction.errors + later.get(name, 0)
        ended = transaction.count + failed
        if _beyond_chance(failed, ended, limit):
            doubted.add(name)
            if not (above_in_all and len(summary.transactions) == 1):
                yield _of_part(f"transaction {name}", failed, ended, limit, DoubtLevel.INVALID)
    for name, step in summary.steps.items():
        ended = step.count + step.errors
        # Requests of a transaction that raised a doubt raise no further doubt. A failing request of any other
        # transaction makes the run suspect.
        if name.split(" / ")[0] not in doubted and _beyond_chance(step.errors, ended, limit):
            yield _of_part(f"request {name}", step.errors, ended, limit, DoubtLevel.SUSPECT)


def _of_part(part: str, failed: int, ended: int, limit: float, level: DoubtLevel) -> Doubt:
    text = f"{part} failed {failed:,} of {ended:,} times ({percent_text(failed / ended)}), limit {percent_text(limit)}"
    return Doubt(DoubtKind.ERRORS_ABOVE_LIMIT, level, text, failed / ended, limit)


def _beyond_chance(failed: int, ended: int, limit: float) -> bool:
    """Return True if the share of failures exceeds its limit significantly, at the level `BY_CHANCE`."""
    if not failed or failed <= limit * ended or limit >= 1:
        return False
    return binomial_tail(failed - 1, ended, limit) < BY_CHANCE
