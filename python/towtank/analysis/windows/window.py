"""Chooses the analysed window, which is the planned steady stage without a transient at its start."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from towtank.analysis.backlog import backlog
from towtank.analysis.doubts import percent_text, signed_percent
from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics.change_points import lasting_steps
from towtank.analysis.windows import changes, steady
from towtank.analysis.windows.changes import Change, Step
from towtank.analysis.windows.growth import Growth, growth_of
from towtank.analysis.windows.relaxation import Memory, memory_of
from towtank.analysis.windows.rest import TESTED, Rest, rest_of, unknown
from towtank.analysis.windows.steady import Trend
from towtank.analysis.windows.stretch import Stretch, stretches
from towtank.analysis.windows.tolerances import tolerance
from towtank.analysis.windows.transient import transient_of

# Smallest mean number of transactions in an observation. At low loads, an observation is therefore several seconds
# long. [1]
_TRANSACTIONS_PER_OBSERVATION = 5
# Smallest number of observations in a window that is tested. Fewer observations show neither a trend nor a transient.
# [1]
_TESTED_AT_LEAST = 4
_KEEP_AT_LEAST = 0.5  # Share of the window that remains at least after its start was excluded, in (0, 1).
_WHOLE = 0.5  # Bins shorter than this share of the median length are not used, in (0, 1).
# Significance level of a step (lasting change of level). Levels are fitted to the series and follow correlated noise,
# so a step needs a much lower level than a t-test. Chance causes a step in 0.7 % of series of 20 observations with a
# lag-1 correlation of 0.6, and in at most 0.3 % of longer or less correlated series (1,000 series for each of 18 kinds
# of noise).
_STEP_SIGNIFICANCE = 1e-6
_ROUNDING_S = 1e-6  # Tolerance for rounding errors of times. [s]
# Tiers with a smaller mean CPU use are not tested, because their measured CPU time consists of a few clock ticks of the
# kernel. [CPUs]
_CPUS_WORTH_A_TEST = 0.05
_CPU_OF = "cpu of "


@dataclass
class Window:
    """Planned window, analysed window within it, and the reasons why they differ.

    Attributes
    ----------
    start_s, end_s : float
        Start and end of the analysed window, in run time. [s]
    asked_start_s, asked_end_s : float
        Start and end of the recording of the planned steady stages. [s]
    planned_end_s : float
        Planned end of the steady stages. [s]
    steady : bool
    cuts_s : dict
        Cuts that MSER proposes, by metric, as time since the planned start. [s]
    trends : dict
        Trends within the analysed window, by metric.
    changes : list of Change
        Changes of the metrics that are not steady.
    left_out : list of Change
        Changes from the start that was excluded as a transient to the analysed window.
    steps : list of Step
        Sudden changes of level of metrics that are otherwise steady.
    rest : dict
        Results of the test for a steady state by metric, with the largest change that is not excluded.
    growth : Growth or None
        Growth of the number of transactions under an open load; None under a closed load.
    stretch : Stretch or None
        Stages of the window, with their load.
    """

    start_s: float
    end_s: float
    asked_start_s: float
    asked_end_s: float
    planned_end_s: float
    steady: bool = True
    cuts_s: dict[str, float] = field(default_factory=dict)
    trends: dict[str, Trend] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    left_out: list[Change] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    rest: dict[str, Rest] = field(default_factory=dict)
    growth: Growth | None = None
    note: str = ""
    stretch: Stretch | None = None

    @property
    def length_s(self) -> float:
        """Length of the analysed window. [s]"""
        return self.end_s - self.start_s

    @property
    def outcome(self) -> str:
        """Result of the tests for a steady state: `fails` if a change was found, `holds` if changes larger than allowed
        are excluded, otherwise `undecided`.

        A test that finds no change proves little if the noise is large. For example, with 20 % noise of response time
        and a lag-1 correlation of 0.7, a drift of 60 % in 60 s is found in only 4 of 10 windows.
        """
        if not self.steady:
            return "fails"
        rests = [self.rest.get(name) for name in TESTED]
        return "holds" if all(rest is not None and rest.is_shown for rest in rests) else "undecided"

    def document(self) -> dict[str, object]:
        """Return the window as JSON for a run summary: edges, tests for a steady state, and load."""
        return {
            "start_s": self.start_s,
            "end_s": self.end_s,
            "asked_start_s": self.asked_start_s,
            "asked_end_s": self.asked_end_s,
            "steady": self.steady,
            "outcome": self.outcome,
            "mser": self.cuts_s,
            "trend": {
                name: {
                    "slope_per_s": trend.slope_per_s,
                    "relative_change": trend.relative_change,
                    "p_value": trend.p_value,
                }
                for name, trend in self.trends.items()
            },
            "rest": {name: rest.document() for name, rest in self.rest.items()},
            "growth": self.growth.document() if self.growth else None,
            "note": self.note,
            "load": None if self.stretch is None else self.stretch.document(),
        }


def asked(measurement: Measurement) -> Window | None:
    """Return the recorded time of the planned steady stages as a window; None if nothing was recorded.

    If the run has several stretches (consecutive steady stages with the same load), the longest is chosen.
    """
    longest = max(stretches(measurement.stages), key=lambda each: each.end_s - each.start_s, default=None)
    if longest is None:
        return None
    start, planned = longest.start_s, longest.end_s
    chosen = measurement.inside(start, min(planned, measurement.recorded_until))
    if not chosen.any():
        return None
    end = float(measurement.ends[chosen].max())
    return Window(start, end, start, end, planned, stretch=longest)


def untested(window: Window) -> Window:
    """Mark a window as not steady and not tested, because the planned load changes within it."""
    window.steady = False
    window.note = "the planned load changes within the window, so the window was not tested for a steady state"
    return window


def shortened(measurement: Measurement, window: Window, end_s: float) -> Window | None:
    """Return a copy of a window that ends at an earlier time; None if nothing was recorded before that time."""
    chosen = measurement.inside(window.asked_start_s, end_s)
    if not chosen.any():
        return None
    end = float(measurement.ends[chosen].max())
    return Window(window.start_s, end, window.asked_start_s, end, end, stretch=window.stretch)


def tested(
    measurement: Measurement, window: Window, tiers_cpu_s: dict[str, Floats], *, settled: bool = False
) -> Window:
    """Test a window for a steady state, and set the analysed window within it.

    Parameters
    ----------
    measurement : Measurement
    window : Window
        Planned window; it is changed in place and returned.
    tiers_cpu_s : dict of ndarray of shape (n_bins,)
        CPU time of each tier in each bin. [s]
    settled : bool, default False
        True if the window follows a settle stage with the same load that ended because the system was steady. The start
        of the window is then not excluded as a transient.
    """
    chosen = measurement.inside(window.asked_start_s, window.asked_end_s)
    window.growth = growth_of(measurement, chosen)
    series, edges, observation_s = _series(measurement, chosen, tiers_cpu_s)
    if len(edges) < _TESTED_AT_LEAST + 1:
        window.note = "too short to be tested"
        window.rest = {name: unknown(name, observation_s) for name in TESTED}
        return window
    column, lengths_s = measurement.transactions, measurement.lengths[chosen]
    memory = memory_of(column.response_sum_s[chosen], column.response.counts[chosen], lengths_s)
    memory = replace(memory, growth=window.growth.deviations if window.growth else None)
    transient = transient_of(series, memory)
    window.cuts_s = {name: float(edges[cut.observations] - edges[0]) for name, cut in transient.cuts.items()}
    latest = _leave_out(measurement, window, edges, 0 if settled else transient.observations)
    window.left_out = [] if settled else list(transient.removed)
    kept = _without_throughput({name: values[latest:] for name, values in series.items()})
    if not settled:
        found = transient.unsettled(kept, edges[latest:])
        window.changes += [change for change in found if _counts(change, memory, is_chosen=True)]
    return _judged(window, kept, edges[latest:], memory, strict=memory.is_short)


def of_series(window: Window, series: dict[str, Floats], edges: Floats) -> Window:
    """Test a window for a steady state with the given series, and set the analysed window within it.

    Parameters
    ----------
    window : Window
        Whole window; it is changed in place and returned.
    series : dict of ndarray of shape (n_observations,)
        `throughput`, and `response_time` as logarithms of means.
    edges : ndarray of shape (n_observations + 1,)
        Edges of the observations. [s]
    """
    if len(edges) < _TESTED_AT_LEAST + 1:
        window.note = "too short to be tested"
        window.rest = {name: unknown(name, window.length_s) for name in TESTED}
        return window
    # The relaxation time is unknown, because the number of requests in progress is unknown. The window is therefore
    # treated as short in comparison with the relaxation time.
    transient = transient_of(series, Memory(relaxations=0.0, least_relaxations=0.0))
    window.cuts_s = {name: float(edges[cut.observations] - edges[0]) for name, cut in transient.cuts.items()}
    latest = transient.observations
    if latest and edges[latest] - edges[0] <= (1 - _KEEP_AT_LEAST) * (edges[-1] - edges[0]) + _ROUNDING_S:
        window.start_s, window.left_out = float(edges[latest]), list(transient.removed)
    kept = {name: values[latest:] for name, values in series.items()}
    window.changes += transient.unsettled(kept, edges[latest:])
    return _judged(window, kept, edges[latest:], strict=True)


def _judged(
    window: Window, kept: dict[str, Floats], edges: Floats, memory: Memory | None = None, *, strict: bool
) -> Window:
    """Test the analysed window for trends and steps, and set the verdict.

    `memory` is None if the number of transactions in the system is unknown.
    """
    _test_trends(window, kept, edges, memory, strict=strict)
    _test_steps(window, kept, edges, memory)
    window.steady = not (window.changes or window.steps or (window.growth and window.growth.is_significant))
    window.note = _note(window)
    return window


def _counts(change: Change, memory: Memory | None, *, is_chosen: bool = False) -> bool:
    """Return True unless the queue of a steady system explains a change; see `Memory.explains`."""
    if change.metric != "response_time" or memory is None:
        return True
    return not memory.explains(change.share, change.p_value, is_chosen=is_chosen)


def _leave_out(measurement: Measurement, window: Window, edges: Floats, latest: int) -> int:
    """Move the start of the window to the end of the transient, or to the end of the initial backlog if that is later.
    Return the number of excluded observations.
    """
    # At most half of the window may be excluded. The tolerance allows for rounding errors of the times.
    longest_cut_s = (1 - _KEEP_AT_LEAST) * (edges[-1] - edges[0]) + _ROUNDING_S
    if latest and edges[latest] - edges[0] <= longest_cut_s:
        window.start_s = float(edges[latest])
    worked_off_s = _worked_off_s(measurement, window)
    if worked_off_s > window.start_s and worked_off_s - edges[0] <= longest_cut_s:
        latest = int(np.searchsorted(edges, worked_off_s - _ROUNDING_S))
        window.start_s = float(edges[latest])
    return latest


def _worked_off_s(measurement: Measurement, window: Window) -> float:
    """Return the time at which the backlog from before the window has drained; the start of the window if it never
    drains. [s]
    """
    start_s = window.start_s
    # The rest of the window may also begin with a backlog, if its load requires fewer requests in flight. The search is
    # therefore repeated.
    while (found := backlog(measurement, measurement.inside(start_s, window.asked_end_s))) and found.excess_at_start:
        if found.drained_s is None:
            return window.start_s
        start_s += found.drained_s
    return start_s


def _test_trends(
    window: Window, series: dict[str, Floats], edges: Floats, memory: Memory | None = None, *, strict: bool = False
) -> None:
    middles = (edges[:-1] + edges[1:]) / 2
    span = float(np.ptp(middles)) if len(middles) else 0.0
    known = {change.metric for change in window.changes}
    for name, values in series.items():
        line = steady.trend(middles, values)
        mean = float(values.mean()) if len(values) else 0.0
        share = changes.relative(name, line.slope_per_s * span, mean)
        window.trends[name] = replace(line, relative_change=share)
        window.rest[name] = rest_of(name, values, edges)
        cautious = steady.trend(middles, values, cautious=True)
        change = changes.of_trend(name, line, cautious, span, mean, strict=strict and name == "response_time")
        if name not in known and change is not None and _counts(change, memory):
            window.changes.append(change)


def _test_steps(window: Window, series: dict[str, Floats], edges: Floats, memory: Memory | None) -> None:
    """Add the largest sudden change of level (step) of each series to the window, unless the series has another change.

    A change of level in the middle of the window may be neither a trend nor a transient.
    """
    known = {change.metric for change in window.changes}
    for name, values in series.items():
        if name in known:
            continue
        steps = lasting_steps(values, _STEP_SIGNIFICANCE)
        levels = [0, *(place for place, _, _ in steps), len(values)]
        found = [
            step
            for (before, place), (_, after), (_, start, end) in zip(
                pairwise(levels), pairwise(levels[1:]), steps, strict=False
            )
            if abs(changes.relative(name, end - start, start)) > tolerance(name)
            and (step := _step(name, values[before:after], place - before, edges[place], start, memory=memory))
            is not None
        ]
        if found:
            window.steps.append(max(found, key=lambda step: abs(step.share)))


def _step(name: str, values: Floats, place: int, at_s: float, mean: float, *, memory: Memory | None) -> Step | None:
    """Return the change between two levels of a series; None if it is not significant, or if the queue of a steady
    system explains it. The cautious test determines the severity.
    """
    difference, error, freedom = steady.difference_at(values, place, cautious=True)
    change = changes.of_difference(name, -difference, error, freedom, mean)
    if change.p_value >= steady.SIGNIFICANCE or not _counts(change, memory, is_chosen=True):
        return None
    return Step(name, float(at_s), change.share, change.is_gross)


def _series(
    measurement: Measurement, chosen: Mask, tiers_cpu_s: dict[str, Floats]
) -> tuple[dict[str, Floats], Floats, float]:
    """Return the tested series, the edges of their observations [s], and the length of an observation [s], which is the
    same for all observations.
    """
    lengths = measurement.lengths
    # A stage that ends within a second leaves a short bin, which is not used.
    whole = chosen & (lengths >= _WHOLE * float(np.median(lengths[chosen]))) if chosen.any() else chosen
    numbers = np.flatnonzero(whole)
    column = measurement.transactions
    ended = column.ended[numbers]
    rate = float(ended.mean()) if len(ended) else 0.0
    size = max(1, math.ceil(_TRANSACTIONS_PER_OBSERVATION / rate)) if rate > 0 else max(1, len(numbers))
    count = len(numbers) // size
    # If the seconds do not fill all observations, the last seconds of the window are not used. The first seconds are
    # needed, because they may contain a transient.
    groups = numbers[: count * size].reshape(count, size) if count else np.zeros((0, size), dtype=np.int64)

    # The length of an observation follows from the rate of transactions, so it is known even if the window is shorter.
    observation_s = size * float(lengths[numbers].mean()) if len(numbers) else 0.0

    def summed(values: Floats) -> Floats:
        return np.asarray(values[groups].sum(axis=1), dtype=float)

    lengths = summed(lengths)
    edges = np.concatenate([measurement.starts[groups[:, 0]], measurement.ends[groups[-1:, -1]]])
    series = {"throughput": summed(column.ended) / lengths}
    counts, sums = summed(column.response.counts), summed(column.response_sum_s)
    if len(counts) and counts.min() > 0 and sums.min() > 0:
        series["response_time"] = np.log(sums / counts)
    for name, seconds in tiers_cpu_s.items():
        used = summed(seconds) / lengths
        if len(used) and np.isfinite(used).all() and used.mean() >= _CPUS_WORTH_A_TEST:
            series[f"{_CPU_OF}{name}"] = used
    return series, edges, observation_s


def _without_throughput(series: dict[str, Floats]) -> dict[str, Floats]:
    """Return the tested series. The CPU use of each tier is adjusted to the mean throughput.

    The adjusted CPU use is used only after the transient has been excluded. To find the transient, the original CPU use
    is needed: an adjusted series has so little noise that the start of a slow drift would be excluded as a transient.
    """
    return {
        name: at_mean_throughput(values, series["throughput"]) if name.startswith(_CPU_OF) else values
        for name, values in series.items()
    }


def at_mean_throughput(cpus_used: Floats, throughput: Floats) -> Floats:
    """Return CPU use without the variation that throughput explains. Throughput is the control variate.

    Parameters
    ----------
    cpus_used, throughput : ndarray of shape (n_observations,)
        CPU use [1] and throughput [1/s] of each observation.

    Returns
    -------
    ndarray of shape (n_observations,)
        CPU use, adjusted to the mean throughput of all observations. Its mean is the mean of `cpus_used`. [1]

    Notes
    -----
    A tier uses more CPU time in seconds with more transactions. Throughput is tested separately, so the adjusted CPU
    use shows whether the work per transaction changes. The coefficient of throughput is estimated by least squares, and
    limited to values from 0 to the mean CPU time per transaction [1]_. The CPU use of a saturated tier does not depend
    on throughput, so it is not adjusted.

    References
    ----------
    .. [1] S. Asmussen and P. W. Glynn, Stochastic Simulation, Springer 2007, section V.2 (control variates).
    """
    deviations = throughput - throughput.mean()
    squares = float(deviations @ deviations)
    if not squares or not throughput.mean() > 0:
        return cpus_used
    coefficient = float(deviations @ cpus_used) / squares
    demand_s = float(cpus_used.mean() / throughput.mean())
    return np.asarray(cpus_used - min(max(0.0, coefficient), demand_s) * deviations, dtype=float)


def _levels_after(window: Window) -> str:
    """Render how the analysed window differs from the start that was excluded as a transient; empty if only a backlog
    was excluded.
    """
    levels = [
        f"{change.text} is {percent_text(abs(round(change.share, 2)))} {'higher' if change.share > 0 else 'lower'}"
        for change in window.left_out
    ]
    return f", after which {' and '.join(levels)}" if levels else ""


def _note(window: Window) -> str:
    parts = []
    if window.start_s > window.asked_start_s:
        left_out = window.start_s - window.asked_start_s
        parts.append(
            f"the first {left_out:.0f} s of the steady stage were left out as transient{_levels_after(window)}"
        )
    if window.growth and window.growth.is_significant:
        parts.append(window.growth.text)
    parts += [
        f"{change.text} changes by {signed_percent(round(change.share, 2))} over the window"
        for change in window.changes
    ]
    parts += [
        f"{step.metric.replace('_', ' ')} changes abruptly by {signed_percent(round(step.share, 2))} "
        f"at {step.at_s:.0f} s"
        for step in window.steps
    ]
    return "; ".join(parts)
