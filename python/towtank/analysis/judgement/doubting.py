"""Finds reasons to doubt the result of another load generator, based on the data in its result file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from towtank.analysis.checks.course import ERRORS_SHARE
from towtank.analysis.checks.window import EFFECTIVE_SAMPLES, NARROW
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text, seconds, signed_percent
from towtank.analysis.judgement.figures import Figures
from towtank.analysis.judgement.observations import Observations, resolution_of
from towtank.analysis.judgement.omission import omission_of
from towtank.analysis.judgement.pausing import Pauses, empty_stretches, pauses_of
from towtank.analysis.statistics.nominal import BATCHES
from towtank.analysis.windows.window import Window
from towtank.foreign import Foreign, Requests

_NOTABLE, _SERIOUS = 0.1, 0.5
"""Limits of the resolution of the response times, divided by their median. Above `_NOTABLE`, the resolution is noted;
above `_SERIOUS`, the file is suspect. [1]
"""
_OMITTED_AT_LEAST = 0.0005  # Smallest share of omitted requests that raises a doubt, in (0, 1).
_OMITTED_SERIOUS = 0.01  # From this share on, the file is invalid if the omission halves p99 or more.
_SKIPPED_SERIOUS = 0.01  # A single skipped row is only noted if its share of all rows is at most this.
_EMPTY_AT_MOST = 0.1  # Largest share of the window without starts that raises no doubt, in (0, 1).
_STRETCH_AT_LEAST = 1.5  # Length from which a time without starts counts, in observations. [1]
# Only windows of at least this length are checked for long times without a start. If times are recorded in whole
# seconds, shorter windows contain empty observations in any case. [s]
_EMPTY_WITHIN_S = 1.0
# If fewer requests than this lie before or after a gap, they are not a separate run; their time stamps are probably
# wrong. [1]
_STRAY_BELOW = 30
# Windows shorter than this cannot show slow changes of the system. [s]
_SHORT_S = 10.0


def of_file(found: Foreign) -> Iterator[Doubt]:
    """Yield doubts about a result file: it has rows that cannot be read, it is incomplete, or the tool omitted
    requests.
    """
    skipped, read = found.skipped, len(found.requests) if found.requests is not None else 0
    if skipped.rows:
        reasons = ", ".join(f"{count:,} × {reason}" for reason, count in skipped.by_reason.items())
        share = skipped.rows / (skipped.rows + read)
        level = DoubtLevel.NOTE if skipped.rows == 1 else DoubtLevel.SUSPECT
        line = f", first in line {skipped.first_line}" if skipped.first_line else ""
        text = f"{skipped.rows:,} rows of {skipped.rows + read:,} were left out: {reasons}{line}"
        yield Doubt(
            DoubtKind.DATA_DAMAGED, level if share <= _SKIPPED_SERIOUS else DoubtLevel.SUSPECT, text, share, 0.0
        )
    if found.cut:
        yield Doubt(DoubtKind.DATA_DAMAGED, DoubtLevel.SUSPECT, found.cut)
    if found.not_sent:
        sent = found.not_sent + read
        text = f"the load generator reports that it left out {found.not_sent:,} of {sent:,} planned iterations"
        yield Doubt(DoubtKind.COORDINATED_OMISSION, DoubtLevel.SUSPECT, text, found.not_sent / sent, 0.0)


def of_counts(requests: int | None, errors: int | None) -> Iterator[Doubt]:
    """Yield a doubt if no request in a result file succeeded, or if too many requests failed."""
    if requests is not None and requests - (errors or 0) <= 0:
        yield Doubt(DoubtKind.NOTHING_COMPLETED, DoubtLevel.INVALID, "no request of the file succeeded", 0.0, 1.0)
    elif requests and errors and errors / requests > ERRORS_SHARE:
        share = errors / requests
        text = f"{percent_text(share)} of requests failed, limit {percent_text(ERRORS_SHARE)}"
        yield Doubt(DoubtKind.ERRORS_ABOVE_LIMIT, DoubtLevel.INVALID, text, share, ERRORS_SHARE)


def of_summaries() -> Iterator[Doubt]:
    """Yield the doubt that a result file contains summaries instead of single requests."""
    text = "the file has summaries only: no steady window and no interval can be derived from it"
    yield Doubt(DoubtKind.SUMMARIES_ONLY, DoubtLevel.SUSPECT, text)


def of_window(window: Window) -> Iterator[Doubt]:
    """Yield doubts if the analysed window is not steady, or too short to show slow changes."""
    for change in window.changes:
        level = DoubtLevel.INVALID if change.is_gross else DoubtLevel.SUSPECT
        limit = percent_text(change.tolerance)
        text = f"{change.text} changes by {signed_percent(change.share)} over the window, limit {limit}"
        yield Doubt(DoubtKind.NO_STEADY_STATE, level, text, abs(change.share), change.tolerance)
    for step in window.steps:
        level = DoubtLevel.INVALID if step.is_gross else DoubtLevel.SUSPECT
        name, limit = step.metric.replace("_", " "), percent_text(step.tolerance)
        text = f"{name} changes abruptly by {signed_percent(step.share)} at {step.at_s:.0f} s, limit {limit}"
        yield Doubt(DoubtKind.NO_STEADY_STATE, level, text, abs(step.share), step.tolerance)
    yield from _of_rise(window)
    if window.length_s < _SHORT_S:
        text = f"the window of {seconds(window.length_s)} is too short to show a slow change, at least 10 s are needed"
        yield Doubt(DoubtKind.REST_NOT_SHOWN, DoubtLevel.NOTE, text, window.length_s, _SHORT_S, "s")


def _of_rise(window: Window) -> Iterator[Doubt]:
    """Yield a doubt if the start of the file was excluded as a transient although its response times are shorter than
    those of the window. A system that becomes slower and stays slow is not warming up.
    """
    known = {change.metric for change in window.changes}
    for change in window.left_out:
        if change.metric == "response_time" and change.metric not in known and change.share > change.tolerance:
            rise = f"response time rises by {percent_text(change.share)} at {window.start_s:.0f} s"
            limit = f"limit {percent_text(change.tolerance)}"
            text = f"{rise}, {limit}: the system became slower and stayed slow, so this is not a warm-up"
            yield Doubt(DoubtKind.NO_STEADY_STATE, DoubtLevel.SUSPECT, text, change.share, change.tolerance)


def of_pauses(requests: Requests, window: Window, observed: Observations) -> Iterator[Doubt]:
    """Yield a doubt about long times without a start of a request: gaps in the file, or sequences of empty observations
    in the window.
    """
    found = pauses_of(requests)
    if found is not None:
        idle = float(found.lengths_s.max())
        usual = float(requests.start_s[-1]) / len(requests)
        text = f"{_pause(found)}, although {idle / usual:,.0f} requests start in this time on average{_stray(found)}"
        level = _level_of(found) if found.ends_s[-1] > window.start_s else DoubtLevel.NOTE
        yield Doubt(DoubtKind.LOAD_GAP, level, text, idle, usual, "s")
        return
    empty = empty_stretches(requests, observed)
    # In a load of small bursts, a single observation may be empty by chance. Only longer sequences of empty
    # observations raise a doubt.
    least = _STRETCH_AT_LEAST * float(observed.lengths_s[0])
    is_long = len(observed.started) >= BATCHES and window.length_s >= _EMPTY_WITHIN_S
    share = empty.in_all_s(least) / window.length_s if is_long else 0.0
    if share > _EMPTY_AT_MOST:
        limit = percent_text(_EMPTY_AT_MOST)
        text = f"{_pause(empty)}: in {percent_text(share)} of the window no request starts, limit {limit}"
        yield Doubt(DoubtKind.LOAD_GAP, _level_of(empty), text, share, _EMPTY_AT_MOST)


def _pause(pauses: Pauses) -> str:
    start, end = (seconds(float(edges[pauses.longest])) for edges in (pauses.starts_s, pauses.ends_s))
    count, where = len(pauses.starts_s), f"from {start} to {end} after the first request"
    return f"no request started {where}" if count == 1 else f"no request started in {count:,} pauses, longest {where}"


def _stray(pauses: Pauses) -> str:
    """Render the number of requests before the first pause or after the last pause if it is small, because their time
    stamps may be wrong. Empty otherwise.
    """
    counts = (int(pauses.rows[0]), "before the first pause"), (int(pauses.rows[-1]), "after the last pause")
    few = [f"{count:,} {word}" for count, word in counts if count < _STRAY_BELOW]
    return f" (requests: {', '.join(few)}; check their time stamps)" if few else ""


def _level_of(pauses: Pauses) -> DoubtLevel:
    if pauses.are_bursts:
        return DoubtLevel.NOTE
    return DoubtLevel.SUSPECT if pauses.may_be_waves else DoubtLevel.INVALID


def of_samples(requests: Requests, figures: Figures) -> Iterator[Doubt]:
    """Yield doubts if there are too few independent response times for the mean or for percentiles."""
    mean = figures.mean_s
    if mean.low is None or mean.high is None:
        text = f"{len(requests):,} correlated response times are too few for a confidence interval of the mean"
        yield Doubt(DoubtKind.TOO_FEW_SAMPLES, DoubtLevel.SUSPECT, text, float(len(requests)))
        return
    width = (mean.half_width or 0.0) / mean.value if mean.value else 0.0
    worth = independent(requests, figures)
    if worth < EFFECTIVE_SAMPLES and width > NARROW:
        text = (
            f"the mean response time is based on {int(worth)} independent values, at least "
            f"{EFFECTIVE_SAMPLES} are needed"
        )
        yield Doubt(DoubtKind.TOO_FEW_SAMPLES, DoubtLevel.SUSPECT, text, worth, float(EFFECTIVE_SAMPLES))
    without = [name for name, found in figures.response_time_s.items() if found.low is None]
    if without:
        text = f"too few independent values lie beyond {' and '.join(without)} for a confidence interval"
        yield Doubt(DoubtKind.TOO_FEW_SAMPLES, DoubtLevel.NOTE, text)


def independent(requests: Requests, figures: Figures) -> float:
    """Return the effective sample size: a mean of this many independent response times would be as precise as the mean
    of the recorded times. [1]
    """
    mean = figures.mean_s
    half = mean.half_width
    if not half:
        return float(len(requests))
    return min(float(len(requests)), 4 * float(np.var(requests.elapsed_s)) / half**2)


def of_times(requests: Requests) -> Iterator[Doubt]:
    """Yield a doubt if the resolution of the response times is coarse, or if all response times are equal."""
    median = float(np.median(requests.elapsed_s)) if len(requests) else 0.0
    step = resolution_of(requests.elapsed_s)
    if len(requests) > 1 and float(np.ptp(requests.elapsed_s)) == 0:
        text = f"all response times are equal ({seconds(median)}): the file does not show how they vary"
        yield Doubt(DoubtKind.COARSE_TIMES, DoubtLevel.SUSPECT, text)
    elif median <= 0 < step or (median > 0 and step / median > _NOTABLE):
        level = DoubtLevel.SUSPECT if median <= 0 or step / median > _SERIOUS else DoubtLevel.NOTE
        text = f"response times are multiples of {seconds(step)}, and their median is {seconds(median)}"
        yield Doubt(DoubtKind.COARSE_TIMES, level, text, step, _NOTABLE * median, "s")


def of_omission(requests: Requests) -> Iterator[Doubt]:
    """Yield a doubt if a load generator with a constant rate omitted requests while it waited for responses."""
    found = omission_of(requests)
    if found is None or found.share < _OMITTED_AT_LEAST:
        return
    text = (
        f"the load with a constant rate stopped {found.stops:,} times, for up to {seconds(found.longest_s)}, to wait "
        f"for a response: about {found.missing:,} requests ({percent_text(found.share)}) were left out; with them p99 "
        f"would be about {seconds(found.corrected_p99_s)}, not {seconds(found.p99_s)}"
    )
    is_serious = found.share >= _OMITTED_SERIOUS and found.corrected_p99_s > 2 * found.p99_s
    level = DoubtLevel.INVALID if is_serious else DoubtLevel.SUSPECT
    yield Doubt(DoubtKind.COORDINATED_OMISSION, level, text, found.share, _OMITTED_AT_LEAST)
