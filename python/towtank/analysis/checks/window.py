"""Checks that the window was steady, started without a backlog, and contained enough values for mean and
percentiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from towtank.analysis.backlog import BEYOND_NOISE
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import (
    NOTHING_RECORDED,
    Doubt,
    DoubtKind,
    DoubtLevel,
    percent_text,
    seconds,
    signed_percent,
)
from towtank.analysis.load import estimate_in
from towtank.analysis.pauses import TIMES_SLOWER
from towtank.analysis.system.entries import TierUse
from towtank.analysis.user_groups import UserGroup
from towtank.analysis.window_lengths import advised_length, none_is_long_enough
from towtank.analysis.windows.growth import TOLERANCE
from towtank.analysis.windows.rest import TESTED, Rest
from towtank.analysis.windows.tolerances import GROSS

EFFECTIVE_SAMPLES = 30  # Smallest number of independent response times for a reliable mean. [1]
NARROW = 0.10  # If the relative half-width of the mean is at most this, too few samples are only noted. [1]
TAIL_SAMPLES = 100  # Smallest number of transactions slower than p99. [1]
RELAXATIONS, FEW_RELAXATIONS = 40, 10
"""Two lengths of a window as multiples of the relaxation time of a queue. [1]

If the window is at least `RELAXATIONS` long, the interval of the mean response time is reliable. If it is shorter than
`FEW_RELAXATIONS`, the interval often does not contain the true mean.
"""
_TAIL = 0.01
PACE_KEPT = 0.02
"""Users keep their pace if their mean cycle time is longer than the pace by at most this share. [1]"""


def steady(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the analysed window is steady and as long as planned."""
    window = evidence.window
    if window is None:
        text = "nothing was recorded in a steady stage"
        yield Doubt(DoubtKind.NO_STEADY_STATE, DoubtLevel.INVALID, text, special=NOTHING_RECORDED)
        return
    for change in window.changes:
        level = DoubtLevel.INVALID if change.is_gross else DoubtLevel.SUSPECT
        over = f"over the window, limit {percent_text(change.tolerance)}"
        text = f"{change.text} changes by {signed_percent(change.share)} {over}"
        yield Doubt(DoubtKind.NO_STEADY_STATE, level, text, abs(change.share), change.tolerance)
    growth = window.growth
    if growth is not None and growth.is_significant:
        level = DoubtLevel.INVALID if growth.share > GROSS * TOLERANCE else DoubtLevel.SUSPECT
        shares = f"{percent_text(growth.share)}, limit {percent_text(TOLERANCE)}"
        text = f"{growth.text} ({shares}): more transactions arrive than end"
        yield Doubt(DoubtKind.NO_STEADY_STATE, level, text, growth.share, TOLERANCE)
    for step in window.steps:
        level = DoubtLevel.INVALID if step.is_gross else DoubtLevel.SUSPECT
        name, limit = step.metric.replace("_", " "), percent_text(step.tolerance)
        text = f"{name} changes abruptly by {signed_percent(step.share)} at {step.at_s:.0f} s, limit {limit}"
        yield Doubt(DoubtKind.NO_STEADY_STATE, level, text, abs(step.share), step.tolerance)
    planned = window.planned_end_s - window.asked_start_s
    recorded = window.asked_end_s - window.asked_start_s
    if recorded < 0.98 * planned:
        text = f"only {seconds(recorded)} of the steady stage of {seconds(planned)} were recorded"
        yield Doubt(DoubtKind.TOO_FEW_SAMPLES, DoubtLevel.SUSPECT, text, recorded, planned, "s")


def rest(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the tests for a steady window were sensitive enough to detect a relevant change.

    The tests do not detect a change that is smaller than the noise. The noise decreases with the length of the window.
    """
    window = evidence.window
    if window is None or not window.steady:
        return
    hidden = {name: found for name in TESTED if (found := window.rest.get(name)) is None or not found.is_shown}
    if not hidden:
        return
    parts = [_hidden(name, found) for name, found in hidden.items()]
    text = f"the window of {seconds(window.length_s)} does not exclude {' and '.join(parts)}"
    needed = [found.needed_s for found in hidden.values() if found is not None and found.needed_s is not None]
    if len(needed) == len(hidden):
        advised = advised_length(_round_up(max(needed)), window.length_s)
        unknown = any(found is not None and found.at_most is None for found in hidden.values())
        about = "at least" if unknown else "about"
        longer = none_is_long_enough(window.length_s) if advised is None else f"a window of {about} {advised}"
        text += f"; {longer} would"
    known = [found for found in hidden.values() if found is not None and found.at_most is not None]
    worst = max(known, key=lambda found: (found.at_most or 0.0) / found.allowed, default=None)
    seen, limit = (None, None) if worst is None else (worst.at_most, worst.allowed)
    yield Doubt(DoubtKind.REST_NOT_SHOWN, DoubtLevel.NOTE, text, seen, limit)


def _hidden(name: str, found: Rest | None) -> str:
    """Render, for one series of measured values, the largest change that the tests for a steady window may have
    missed.
    """
    text = name.replace("_", " ")
    if found is None:
        return f"any change of {text} (no transaction ended in some seconds)"
    if found.at_most is None:
        return f"any change of {text} (limit {percent_text(found.allowed)}; too few observations)"
    return f"a change of {text} by up to {percent_text(found.at_most)} (limit {percent_text(found.allowed)})"


def _round_up(length_s: float) -> float:
    return 10.0 * math.ceil(length_s / 10.0)


def settled(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the settle stage before the window ended because a steady state was detected."""
    if (stage := evidence.unsettled) is not None:
        length = stage.length_s
        text = f"{stage.name} ended after {seconds(length)} without evidence of a steady state: {stage.why}"
        yield Doubt(DoubtKind.NOT_SETTLED, DoubtLevel.SUSPECT, text, length, length, "s")


def memory(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the window of an open load is much longer than the relaxation time of the busiest queue.

    Notes
    -----
    A queue with utilization rho, m servers and service times S has a relaxation time of about (1 + rho) S / (m (1 -
    rho)^2). S is the CPU time per request, but at most the mean response time, because CPU time after the response
    delays no request. `docs/certification.md` lists how often intervals cover the true value, depending on the length
    of the window in relaxation times.

    A window that is not steady is not checked here; the check `steady` reports it.
    """
    window, rate = evidence.window, evidence.summary.request_throughput_per_s.value
    if window is None or not window.steady or not evidence.is_open or not rate:
        return
    response_s = estimate_in(evidence.summary.response_time_s, "mean").value
    most_s = math.inf if response_s is None else response_s
    tier, relaxation_s = max(
        ((name, _relaxation_s(tier, rate, most_s)) for name, tier in evidence.summary.tiers.items()),
        key=lambda found: found[1],
        default=("", 0.0),
    )
    worth = window.length_s / relaxation_s if relaxation_s > 0 else math.inf
    if worth < RELAXATIONS:
        busy = percent_text(evidence.summary.tiers[tier].utilization or 0.0)
        length = advised_length(RELAXATIONS * relaxation_s, window.length_s)
        hold = (
            f"intervals of response times are reliable from {RELAXATIONS} relaxation times on, about {length}"
            if length is not None
            else f"{tier} is so close to its limit that no window is long enough: lower the rate"
        )
        text = (
            f"the window of {seconds(window.length_s)} lasts {worth:.2g} relaxation times of the queue at {tier} "
            f"({busy} busy); {hold}"
        )
        level = DoubtLevel.SUSPECT if worth < FEW_RELAXATIONS else DoubtLevel.NOTE
        yield Doubt(DoubtKind.SHORT_WINDOW, level, text, worth, float(RELAXATIONS))


def fixed_pace(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no user group keeps a constant pace. With a constant pace, intervals that are computed within one run
    do not apply to other runs.

    Notes
    -----
    `docs/background/intervals.md` states how often the intervals of users with a constant pace cover the true value. If
    transactions take longer than the pace, users do not pause, and the intervals are reliable.
    """
    if estimate_in(evidence.summary.response_time_s, "mean").low is None:
        return
    paced = [group for group in evidence.summary.users.groups or () if _keeps_a_fixed_pace(group)]
    if paced:
        names = " and ".join(name for group in paced for name in group.names)
        text = f"{names} keep a constant pace: the intervals of response times describe only this run"
        yield Doubt(DoubtKind.FIXED_PACE, DoubtLevel.NOTE, text)


def _keeps_a_fixed_pace(group: UserGroup) -> bool:
    """Return True if the users of a group keep a constant pace, that is, if most transactions end within the pace."""
    cycle_s = group.users / group.throughput_per_s if group.throughput_per_s else math.inf
    return group.pace_is_fixed and group.pace_s is not None and cycle_s <= (1 + PACE_KEPT) * group.pace_s


def _relaxation_s(tier: TierUse, rate: float, most_s: float) -> float:
    """Return the relaxation time of the queue for the CPUs of a tier at a given request rate; 0 if it is unknown or
    infinite. The service time is limited to `most_s`. [s]
    """
    busy, used, cpus = tier.utilization, tier.cpus_used.value, tier.cpus_allotted
    if busy is None or used is None or not cpus or not 0 < busy < 1:
        return 0.0
    return float((1 + busy) * min(used / rate, most_s) / (cpus * (1 - busy) ** 2))


def backlog(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no backlog existed at the start of the window: the system had no more requests than the load
    requires.
    """
    found, window = evidence.summary.backlog, evidence.window
    if found is None or window is None or not found.excess_at_start:
        return
    drained = found.drained_s
    end = "did not drain" if drained is None else f"drained after {seconds(drained)}"
    text = (
        f"the window began with {found.at_start:,} requests in flight and {found.waiting_at_start:,} arrivals "
        f"waiting, but the load of the window needs only {found.needs:.3g} in flight; the rest {end}"
    )
    limit = found.needs + BEYOND_NOISE * found.swing
    yield Doubt(DoubtKind.BACKLOG, DoubtLevel.SUSPECT, text, float(found.at_start + found.waiting_at_start), limit)


def pauses(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no single second is far slower than the seconds before and after. Such a second indicates that the
    system paused.
    """
    found = evidence.summary.pauses
    if found is None or found.slow < found.limit or found.slow_mean_s is None or found.apart_s is None:
        return
    text = (
        f"{found.slow} of {found.seconds} seconds are more than {TIMES_SLOWER:g} times slower than the seconds "
        f"before and after (mean {seconds(found.slow_mean_s)}, all others {seconds(found.other_mean_s)}), "
        f"{seconds(found.apart_s)} apart"
    )
    yield Doubt(DoubtKind.PAUSES, DoubtLevel.NOTE, text, float(found.slow), found.limit)


def samples(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the window has enough independent response times for a mean and for percentiles."""
    # A window without completed transactions is reported by the check `completed`.
    if evidence.window is None or not evidence.timed:
        return
    worth = evidence.effective_samples
    if worth < EFFECTIVE_SAMPLES:
        text = (
            f"the mean response time is based on {int(worth)} independent values, at least "
            f"{EFFECTIVE_SAMPLES} are needed"
        )
        # At saturation, all response times are nearly equal. The interval of their mean may then be narrow although few
        # response times are independent.
        narrow = evidence.relative_half_width is not None and evidence.relative_half_width <= NARROW
        level = DoubtLevel.NOTE if narrow else DoubtLevel.SUSPECT
        yield Doubt(DoubtKind.TOO_FEW_SAMPLES, level, text, worth, float(EFFECTIVE_SAMPLES))
    tail = _TAIL * evidence.timed
    if tail < TAIL_SAMPLES:
        text = f"transactions slower than p99: only {tail:.0f}, at least {TAIL_SAMPLES} are needed"
        yield Doubt(DoubtKind.TOO_FEW_SAMPLES, DoubtLevel.NOTE, text, tail, float(TAIL_SAMPLES))
