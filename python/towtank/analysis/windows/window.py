"""The window that is analysed: the asked steady stage, tested, and shortened where it starts too early."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from towtank.analysis.backlog import backlog
from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics.change_points import lasting_steps
from towtank.analysis.windows import steady
from towtank.analysis.windows.growth import Growth, growth_of
from towtank.analysis.windows.steady import CUT_SIGNIFICANCE, SIGNIFICANCE, Trend
from towtank.analysis.windows.stretch import Stretch, stretches

# A change over the window that matters, besides being significant. Response time is taken by its logarithm,
# and near saturation wanders more than throughput does; what would change a capacity figure by a twentieth is
# no steady state.
TOLERANCE = {"throughput": 0.05, "response_time": 0.20}
CPU_TOLERANCE = 0.10
RULED_OUT = {"throughput": 0.10, "response_time": 0.25}
"""Changes over the window that a steady one must rule out, as large as at the end of a settle stage. [1]"""
# From this multiple of the tolerance on the run cannot carry an answer at all.
GROSS = 3.0
# Observations are made long enough to hold this many transactions, so that slow loads are not tested on zeros
# and ones.
_TRANSACTIONS_PER_OBSERVATION = 5
_KEEP_AT_LEAST = 0.5
_WHOLE = 0.5
# Fitted levels follow dependent noise, so that a step must be far beyond what a t-test asks: of 18 kinds of noise (5
# and 10 %, 20 to 300 observations, lag-1 autocorrelations up to 0.6; 1,000 series each) those with 0.6 and 20
# observations pass for a step in 0.7 % of series, the others in 0.3 % at most.
_STEP_SIGNIFICANCE = 1e-6
# What differs by less is left in: it changes no mean that matters, and data are dear.
_WORTH_A_CUT = 0.01
_ROUNDING_S = 1e-6  # [s]
# One-sided 90 % of a normal distribution, as at the end of a settle stage.
_ONE_SIDED = 1.28
_TOLD_AT_LEAST = 8
# A tier that hardly works shows the ticks of the kernel's clock, not its load.
_CPUS_WORTH_A_TEST = 0.05


@dataclass
class Window:
    """What was asked, what is analysed, and why.

    Attributes
    ----------
    start_s, end_s : float
        Of the part that is analysed, in run time. [s]
    asked_start_s, asked_end_s : float
        Of the steady stages in the plan, as far as they were recorded. [s]
    planned_end_s : float
        Of the steady stages in the plan. [s]
    steady : bool
    cuts_s : dict
        What MSER would leave out, by metric, counted from the asked start. [s]
    trends : dict
        By metric, within the analysed part.
    changes : list of (str, float, float)
        Metrics that are not steady, with the relative change and its tolerance.
    steps : list of (str, float, float, float)
        Metrics that are steady but for a change of level: when, the relative change and its tolerance. [s], [1], [1]
    at_most : dict of str to float
        Largest change over the analysed part that the noise leaves possible, by metric (90 %, one-sided). [1]
    growth : Growth or None
        What piles up under an open load; None under a closed one.
    stretch : Stretch or None
        The stages that the window is of, with their load.
    """

    start_s: float
    end_s: float
    asked_start_s: float
    asked_end_s: float
    planned_end_s: float
    steady: bool = True
    cuts_s: dict[str, float] = field(default_factory=dict)
    trends: dict[str, Trend] = field(default_factory=dict)
    changes: list[tuple[str, float, float]] = field(default_factory=list)
    steps: list[tuple[str, float, float, float]] = field(default_factory=list)
    at_most: dict[str, float] = field(default_factory=dict)
    growth: Growth | None = None
    note: str = ""
    stretch: Stretch | None = None

    @property
    def length_s(self) -> float:
        """Length of the analysed part. [s]"""
        return self.end_s - self.start_s

    @property
    def outcome(self) -> str:
        """`fails` where a change was shown, `holds` where changes that matter are ruled out, else `cannot tell`.

        Not to have shown a change says little where the noise is large: with 60 s and a noise of 20 % of the logarithm
        of response time (lag-1 correlation 0.7) a drift of 60 % is found in 4 of 10 windows.
        """
        if not self.steady:
            return "fails"
        known = [self.at_most.get(name, math.inf) <= most for name, most in RULED_OUT.items()]
        return "holds" if all(known) else "cannot tell"

    def document(self) -> dict[str, Any]:
        """As it stands in a run summary."""
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
                    "slope_per_s": one.slope_per_s,
                    "relative_change": one.relative_change,
                    "p_value": one.p_value,
                    "change_at_most": self.at_most.get(name),
                }
                for name, one in self.trends.items()
            },
            "growth": self.growth.document() if self.growth else None,
            "note": self.note,
            "load": None if self.stretch is None else self.stretch.document(),
        }


def asked(measurement: Measurement) -> Window | None:
    """The steady stages of the plan, as far as recorded; None where nothing of them was.

    Of several stretches of steady stages the longest is taken: stages that follow each other with the same load are one
    stretch.
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
    """A window over which the load was asked to move: it cannot be steady, and that is no fault of it."""
    window.steady = False
    window.note = "the load moves over the window as it was asked to, so it was not tested for a steady state"
    return window


def shortened(measurement: Measurement, window: Window, end_s: float) -> Window | None:
    """A window that ends before something; None where nothing is left of it."""
    chosen = measurement.inside(window.asked_start_s, end_s)
    if not chosen.any():
        return None
    end = float(measurement.ends[chosen].max())
    return Window(window.start_s, end, window.asked_start_s, end, end, stretch=window.stretch)


def tested(measurement: Measurement, window: Window, tiers_cpu_s: dict[str, Floats]) -> Window:
    """Test a window and set what of it is analysed.

    Parameters
    ----------
    measurement : Measurement
    window : Window
        As asked; it is changed in place and returned.
    tiers_cpu_s : dict of ndarray of shape (n_bins,)
        CPU time of each tier in each bin. [s]
    """
    chosen = measurement.inside(window.asked_start_s, window.asked_end_s)
    window.growth = growth_of(measurement, chosen)
    series, edges = _series(measurement, chosen, tiers_cpu_s)
    if len(edges) < 5:
        window.note = "too short to be tested"
        return window
    latest = 0
    for name, values in series.items():
        cut = steady.mser(values, steady.batch_for(len(values)))
        window.cuts_s[name] = float(edges[cut.observations] - edges[0])
        probability, difference = steady.differs(values, cut.observations)
        relative = _relative(name, difference, float(values[cut.observations :].mean()))
        if cut.observations and probability < CUT_SIGNIFICANCE and abs(relative) > _WORTH_A_CUT:
            if cut.at_limit and abs(relative) > _tolerance(name):
                window.changes.append((name, relative, _tolerance(name)))
            latest = max(latest, cut.observations)
    latest = _leave_out(measurement, window, edges, latest)
    kept = {name: values[latest:] for name, values in series.items()}
    _test_trends(window, kept, edges[latest:])
    _test_steps(window, kept, edges[latest:])
    window.steady = not (window.changes or window.steps or (window.growth and window.growth.is_significant))
    window.note = _note(window)
    return window


def _leave_out(measurement: Measurement, window: Window, edges: Floats, latest: int) -> int:
    """Set the start of the window behind the transient and the backlog; return the observations that are left out."""
    # Exactly half may be left out: times of one bin, worked out in two ways, differ by rounding.
    longest_cut_s = (1 - _KEEP_AT_LEAST) * (edges[-1] - edges[0]) + _ROUNDING_S
    if latest and edges[latest] - edges[0] <= longest_cut_s:
        window.start_s = float(edges[latest])
    worked_off_s = _worked_off_s(measurement, window)
    if worked_off_s > window.start_s and worked_off_s - edges[0] <= longest_cut_s:
        latest = int(np.searchsorted(edges, worked_off_s - _ROUNDING_S))
        window.start_s = float(edges[latest])
    return latest


def _worked_off_s(measurement: Measurement, window: Window) -> float:
    """Run time from which the window has no more in hand than its own load needs; its start if that never comes. [s]"""
    start_s = window.start_s
    # What is left has a lower need, so that it may have a backlog of its own.
    while (found := backlog(measurement, measurement.inside(start_s, window.asked_end_s))) and found["excess_at_start"]:
        if found["drained_s"] is None:
            return window.start_s
        start_s += float(found["drained_s"])
    return start_s


def _test_trends(window: Window, series: dict[str, Floats], edges: Floats) -> None:
    middles = (edges[:-1] + edges[1:]) / 2
    for name, values in series.items():
        one = steady.trend(middles, values)
        if name == "response_time":
            span = float(np.ptp(middles)) if len(middles) else 0.0
            one = Trend(one.slope_per_s, _relative(name, one.slope_per_s * span, 1.0), one.p_value, one.error_per_s)
        window.trends[name] = one
        if len(values) >= _TOLD_AT_LEAST:
            most = (abs(one.slope_per_s) + _ONE_SIDED * one.error_per_s) * float(np.ptp(middles))
            window.at_most[name] = _relative(name, most, float(values.mean()))
        known = {metric for metric, _, _ in window.changes}
        significant = one.p_value < SIGNIFICANCE and abs(one.relative_change) > _tolerance(name)
        if significant and name not in known:
            window.changes.append((name, one.relative_change, _tolerance(name)))


def _test_steps(window: Window, series: dict[str, Floats], edges: Floats) -> None:
    """The largest change of level of each series of which nothing else is told yet.

    What goes away again, as a job in the background does, leaves no trend and nothing for MSER at the start.
    """
    known = {metric for metric, _, _ in window.changes}
    for name, values in series.items():
        if name in known:
            continue
        found = [
            (abs(change), place, change)
            for place, before, after in lasting_steps(values, _STEP_SIGNIFICANCE)
            if abs(change := _relative(name, after - before, before)) > _tolerance(name)
        ]
        if found:
            _, place, change = max(found)
            window.steps.append((name, float(edges[place]), change, _tolerance(name)))


def _series(measurement: Measurement, chosen: Mask, tiers_cpu_s: dict[str, Floats]) -> tuple[dict[str, Floats], Floats]:
    """What is tested: observations of equal length, and their edges in run time."""
    lengths = measurement.lengths
    # Stage edges cut seconds; what is left of one is too short to be an observation like the others.
    whole = chosen & (lengths >= _WHOLE * float(np.median(lengths[chosen]))) if chosen.any() else chosen
    numbers = np.flatnonzero(whole)
    column = measurement.transactions
    ended = column.ended[numbers]
    rate = float(ended.mean()) if len(ended) else 0.0
    size = max(1, math.ceil(_TRANSACTIONS_PER_OBSERVATION / rate)) if rate > 0 else max(1, len(numbers))
    count = len(numbers) // size
    # Seconds that do not fill an observation are left out at the end, so that a transient at the start stays
    # seen.
    groups = numbers[: count * size].reshape(count, size) if count else np.zeros((0, size), dtype=np.int64)

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
            series[f"cpu of {name}"] = used
    return series, edges


def _relative(name: str, difference: float, mean: float) -> float:
    """A difference relative to the mean; of logarithms it is one already."""
    if name == "response_time":
        return math.expm1(min(50.0, difference))
    return difference / abs(mean) if mean else 0.0


def _tolerance(name: str) -> float:
    return TOLERANCE.get(name, CPU_TOLERANCE)


def _note(window: Window) -> str:
    parts = []
    if window.start_s > window.asked_start_s:
        left_out = window.start_s - window.asked_start_s
        parts.append(f"the first {left_out:.0f} s of the steady stage were left out as transient")
    if window.growth and window.growth.is_significant:
        parts.append(window.growth.text)
    parts += [
        f"{name.replace('_', ' ')} changes by {100 * change:+.0f} % over the window"
        for name, change, _ in window.changes
    ]
    parts += [
        f"{name.replace('_', ' ')} steps by {100 * change:+.0f} % at {at_s:.0f} s"
        for name, at_s, change, _ in window.steps
    ]
    return "; ".join(parts)
