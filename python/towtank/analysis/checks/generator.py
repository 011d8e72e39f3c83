"""Checks that the load generator offered the requested load on time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text, seconds
from towtank.analysis.generator import Stall

# Limit of the CPU utilization of the load threads, in [0, 1]. Up to this limit, requests start on time. At 85 %, an
# M/M/1 queue holds 5.7 requests on average.
GENERATOR_BUSY = 0.85
OVERFLOW_SHARE = 0.001  # A run is suspect if a larger share of the arrivals was not started, in [0, 1].
START_LAG_CLOSED_S = 0.010  # Default limit of p99 of the start lag under a closed load. [s]
START_LAG_OPEN_S = 0.001  # Default limit of p99 of the start lag under an open load. [s]
# The run is invalid if the start lag exceeds its limit by this factor. Such a load is not the requested load. [1]
_LAG_INVALID = 10.0
# Limits of the share of the response time that requests spend inside the generator, in [0, 1]. A run above
# `START_LAG_SHARE` is suspect. A run above `_LAG_SHARE_INVALID` is invalid, because the generator determines the
# response time more than the system does.
START_LAG_SHARE = 0.05
_LAG_SHARE_INVALID = 0.5
# Largest share of the calibrated request rate that raises no doubt, in [0, 1]. An M/M/1 queue holds 1.5 requests at 60
# % utilization, and 4 at 80 %.
ENVELOPE_SHARE = 0.80
# Failed connections are attributed to the generator if it used more than this share of its limit of open files or of
# local ports, in [0, 1].
_CONNECTIONS_SHARE = 0.95
# Limits of the share of the window in which the generator stalled, in [0, 1]. Requests during a stall wait for the
# generator, so stalls above 1 % determine p99. A run above `STALL_INVALID` is invalid.
STALL_SHARE = 0.01
STALL_INVALID = 0.10
_STALLS_SHOWN = 3
# A run is invalid if servers sent unrequested bytes more often than this, relative to the number of requests. [1]
FRAMING_SHARE = 0.01
# Largest number of opened connections per request that raises no doubt, if requests reuse connections. A server that
# closes a connection after 100 or 1,000 requests stays far below this limit. A server without keep-alive needs one
# connection per request. [1]
RECONNECTS_SHARE = 0.5
# Largest share of the response time that requests may wait for a pooled connection before a doubt is raised. [ratio]
CONNECTION_WAIT_SHARE = 0.05


def saturated(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the CPUs of the load generator had enough idle time."""
    used = evidence.generator_cpus
    share = used / max(1, evidence.generator_cores) if used is not None else None
    limit = evidence.limit("generator_busy", GENERATOR_BUSY)
    if share is not None and share > limit:
        text = (
            f"the generator's cores ({evidence.generator_cores}) were busy for {percent_text(share)} of the window, "
            f"limit {percent_text(limit)}"
        )
        yield Doubt(DoubtKind.GENERATOR_SATURATED, DoubtLevel.INVALID, text, share, limit)
    elif evidence.lag_grows and share is not None and share > 0.5 * limit:
        text = f"the generator's start lag grows while its cores are busy for {percent_text(share)} of the window"
        yield Doubt(DoubtKind.GENERATOR_SATURATED, DoubtLevel.INVALID, text, share, limit)


def stalled(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the event loops of the load threads had no long gaps."""
    generator, window = evidence.summary.generator, evidence.window
    if window is None:
        return
    if not generator.stalled_s:
        yield from _stalled_outside(generator.long_stalls)
        return
    share = generator.stalled_s / window.length_s
    level = (
        DoubtLevel.INVALID if share > STALL_INVALID else DoubtLevel.SUSPECT if share > STALL_SHARE else DoubtLevel.NOTE
    )
    when = _times(generator.long_stalls)
    text = (
        f"the load generator stalled for {seconds(generator.stalled_s)} of the window (longest "
        f"{seconds(generator.longest_gap_s or 0.0)}{when and f', {when}'}), {percent_text(share)} of it, limit "
        f"{percent_text(STALL_SHARE)}: response times of that time describe the generator, not the system"
    )
    yield Doubt(DoubtKind.GENERATOR_STALLED, level, text, generator.stalled_s, STALL_SHARE * window.length_s, "s")


def _stalled_outside(stalls: Sequence[Stall]) -> Iterator[Doubt]:
    """Yield a note on stalls of at least a second outside the analysed window. During a stall, the load differed from
    the plan.
    """
    if stalls:
        longest = max(stall.end_s - stall.start_s for stall in stalls)
        text = f"the load generator stalled {_times(stalls)}, outside the window"
        yield Doubt(DoubtKind.GENERATOR_STALLED, DoubtLevel.NOTE, text, longest, unit="s")


def _times(stalls: Sequence[Stall]) -> str:
    """Render the times of the first long stalls; empty if there was no long stall."""
    shown = [f"from {stall.start_s:.1f} s to {stall.end_s:.1f} s" for stall in stalls[:_STALLS_SHOWN]]
    more = f" and {len(stalls) - len(shown)} more times" if len(stalls) > len(shown) else ""
    return f"{', '.join(shown)} of the run{more}" if shown else ""


def framing(evidence: Evidence) -> Iterator[Doubt]:
    """Check that servers sent no bytes other than responses to requests."""
    connections, window = evidence.summary.connections, evidence.window
    found = {
        "bytes after a complete response": connections.surplus,
        "bytes without a request": connections.unasked,
    }
    texts = [f"{fault} {count:,} times" for fault, count in found.items() if count]
    if window is None or not texts:
        return
    requests = (evidence.summary.generator.requests_started_per_s or 0.0) * window.length_s
    share = sum(found.values()) / requests if requests else 1.0
    level = DoubtLevel.INVALID if connections.unasked > FRAMING_SHARE * requests else DoubtLevel.SUSPECT
    text = f"servers sent {' and '.join(texts)} within the window, {percent_text(share)} of the requests, limit 0"
    yield Doubt(DoubtKind.FRAMING, level, text, float(sum(found.values())), 0.0)


def reconnects(evidence: Evidence) -> Iterator[Doubt]:
    """Check that requests reused connections, if the plan requests it."""
    opened, window = evidence.summary.connections.opened, evidence.window
    rate = evidence.summary.generator.requests_started_per_s
    if window is None or not rate or not evidence.keeps_connections:
        return
    share = opened / (rate * window.length_s)
    users = evidence.summary.generator.connections_at_most
    if share > RECONNECTS_SHARE and opened > 2 * users:
        text = (
            f"{opened:,} connections were opened within the window for {rate * window.length_s:,.0f} requests "
            f"({percent_text(share)}, limit {percent_text(RECONNECTS_SHARE)}), although the plan keeps connections"
        )
        yield Doubt(DoubtKind.RECONNECTS, DoubtLevel.NOTE, text, share, RECONNECTS_SHARE)


def overflow(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the generator started all arrivals."""
    accounting = evidence.summary.accounting
    count = 0 if accounting is None else accounting.not_started.get("overflow", 0)
    if accounting is not None and count:
        offered = accounting.offered
        level = DoubtLevel.SUSPECT if count > OVERFLOW_SHARE * offered else DoubtLevel.NOTE
        text = (
            f"{count:,} arrivals ({percent_text(count / offered)} of all offered requests) were not "
            "started, because all users "
            "were busy and the backlog was full; limit 0"
        )
        yield Doubt(DoubtKind.OVERFLOW, level, text, float(count), 0.0)


def envelope(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the request rate stayed below the limit `ENVELOPE_SHARE` of the calibrated rate of the generator."""
    figures = evidence.summary.generator
    share = figures.envelope_share
    if share is not None and share > ENVELOPE_SHARE:
        text = (
            f"the generator started {figures.requests_started_per_s:,.0f} requests/s, {percent_text(share)} of the "
            f"{figures.envelope_per_s:,.0f} /s that its cores ({evidence.generator_cores}) reached in calibration, "
            f"limit {percent_text(ENVELOPE_SHARE)}"
        )
        yield Doubt(DoubtKind.GENERATOR_SATURATED, DoubtLevel.SUSPECT, text, share, ENVELOPE_SHARE)


def connections(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no connection failed because the generator ran out of open files or local ports."""
    figures = evidence.summary.generator
    ports, used = "local ports towards the targets", figures.connections_at_most
    resources = {"open files": figures.limits.open_files, ports: figures.limits.connections_by_ports}
    for words, limit in resources.items():
        if evidence.connect_failures and limit and used > _CONNECTIONS_SHARE * limit:
            text = (
                f"the generator had {used:,} connections at a limit of {limit:,.0f} {words}, and "
                f"{evidence.connect_failures:,} requests got no connection"
            )
            yield Doubt(DoubtKind.GENERATOR_SATURATED, DoubtLevel.INVALID, text, used / limit, _CONNECTIONS_SHARE)


def pool(evidence: Evidence) -> Iterator[Doubt]:
    """Check that requests waited only briefly for a pooled connection."""
    waits = evidence.summary.connections.wait_time_s
    share = None if waits is None else waits.share_of_response_time
    if waits is not None and share is not None and share > CONNECTION_WAIT_SHARE:
        text = (
            f"{percent_text(waits.share_waited)} of the requests waited for a connection of the pool, "
            f"{seconds(waits.mean or 0.0)} on average: {percent_text(share)} of response time, "
            f"limit {percent_text(CONNECTION_WAIT_SHARE)}"
        )
        yield Doubt(DoubtKind.CONNECTION_WAIT, DoubtLevel.NOTE, text, share, CONNECTION_WAIT_SHARE)


def start_lag(evidence: Evidence) -> Iterator[Doubt]:
    """Check that requests started on time, and that start lag is a small share of response times."""
    found = [*_lag_p99(evidence), *_lag_shares(evidence)]
    heavy = [doubt for doubt in found if doubt.level is not DoubtLevel.NOTE] or found
    if heavy:
        heaviest = min(heavy, key=lambda doubt: doubt.level is not DoubtLevel.INVALID)
        yield replace(heaviest, message="; ".join(doubt.message for doubt in heavy))


def _lag_p99(evidence: Evidence) -> Iterator[Doubt]:
    lag = evidence.summary.generator.start_lag_p99_s
    default = START_LAG_OPEN_S if evidence.is_open else START_LAG_CLOSED_S
    limit = evidence.limit("start_lag", default)
    if lag is not None and lag > limit:
        level = DoubtLevel.INVALID if lag > _LAG_INVALID * limit else DoubtLevel.SUSPECT
        text = f"start lag is {seconds(lag)} at p99, limit {seconds(limit)}"
        yield Doubt(DoubtKind.START_LAG, level, text, lag, limit, "s")


def _lag_shares(evidence: Evidence) -> Iterator[Doubt]:
    figures = evidence.summary.generator
    limit = evidence.limit("start_lag_share", START_LAG_SHARE)
    shares = {
        "the mean response time": figures.start_lag_share,
        "the p99 of response times": figures.start_lag_share_p99,
    }
    for of, share in shares.items():
        if share is not None and share > limit:
            level = DoubtLevel.INVALID if share > max(limit, _LAG_SHARE_INVALID) else DoubtLevel.SUSPECT
            text = f"start lag is {percent_text(share)} of {of}, limit {percent_text(limit)}"
            yield Doubt(DoubtKind.START_LAG, level, text, share, limit)
    most = figures.start_lag_most
    if most is not None and most.share > limit:
        text = (
            f"start lag is {percent_text(most.share)} of the mean response time of {most.step}, "
            f"limit {percent_text(limit)}"
        )
        yield Doubt(DoubtKind.START_LAG, DoubtLevel.NOTE, text, most.share, limit)
