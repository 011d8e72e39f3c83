"""Builds tables of quantities that several methods estimate, with reasons for the differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from towtank.analysis import Configuration, LoadPoint, share_of_ideal
from towtank.model import BELOW_LINE, FittedConfiguration, FittedKnee
from towtank.report import format as people
from towtank.report.content import network_model
from towtank.report.document import Table, headings
from towtank.report.figures import panel
from towtank.report.format import Ends
from towtank.report.source import Results
from towtank.report.suspects import MARK, NOTE

KNEES = "Knees of the curve by several definitions"
VALUES = "Values from several methods"
DEMANDS = "demands at the lowest load"
"""Name of the method that computes a knee from the service demands at the lowest load."""
_KINDS = {
    "objective": (
        "objective",
        "it depends on the objective, which may be missed before or after requests begin to wait",
    ),
    "model": (
        "model, (D + Z) / D_max",
        "its demands are fitted to all levels, where the mix and the demand may differ",
    ),
    "peak": (
        "peak of the scalability law",
        "throughput falls above this load, but requests begin to wait at much lower loads",
    ),
    "efficiency": (
        "efficiency, largest X / R",
        "it weighs throughput against response time, which rises below the bend",
    ),
    "break": ("break between two lines", "two straight lines through the points replace the smooth bend of the curve"),
}

_BEYOND = "it is reached only with more load; the measured value is the largest at the levels of the study"
_BELOW = "it assumes the same demands at all levels; the measured value is larger where they fall as the load grows"


@dataclass(frozen=True)
class _Value:
    """Value of a quantity by one method, with the reason why it differs from the value of the first method."""

    method: str
    shown: str
    why: str = ""


def tables(results: Results, configurations: Sequence[FittedConfiguration]) -> Iterator[Table]:
    """Yield a table of knees (loads from which requests wait noticeably), and a table of other quantities."""
    by_label = {configuration.label: configuration for configuration in results.configurations}
    pairs = [(by_label.get(each.label or "all runs"), each) for each in configurations]
    title = panel.load_title(results.load_factor).capitalize()
    knees = [row for measured, model in pairs for row in _knees(measured, model)]
    if knees:
        columns = headings("Configuration", "Knee", f"#{title}, 95 % interval", "How", "Why it differs")
        notes = ("All sentences of the report use the knee by the demands at the lowest load.",)
        yield Table(KNEES, columns, tuple(knees), notes)
    rows = [row for measured, model in pairs if measured is not None for row in _values(results, measured, model)]
    if rows:
        columns = headings("Configuration", "Quantity", "#Value", "Method", "Why it differs")
        notes = ("All sentences of the report use the first value of each quantity.",)
        marked = (NOTE,) if any(cell.endswith(MARK) for row in rows for cell in row) else ()
        yield Table(VALUES, columns, tuple(rows), (*notes, *marked))


def _knees(measured: Configuration | None, model: FittedConfiguration) -> Iterator[tuple[str, ...]]:
    label = model.label
    limit = None if measured is None else measured.limit
    if limit is not None and limit.knee_users.value is not None:
        how = "(D + Z) / D_max with the demands measured at the lowest load"
        yield label, DEMANDS, people.plain_estimate(limit.knee_users), how, people.ABSENT
    for knee in model.knees:
        if knee.kind in _KINDS:
            name, why = _KINDS[knee.kind]
            yield label, name, _load(knee), knee.how, why


def _load(knee: FittedKnee) -> str:
    """Render the load of a knee with its interval; without an interval, as a whole number."""
    if knee.low is None or knee.high is None:
        return people.count(knee.load)
    return people.plain_estimate(Ends(knee.load, knee.low, knee.high))


def _values(results: Results, measured: Configuration, model: FittedConfiguration) -> Iterator[tuple[str, ...]]:
    """Yield a table row for each value of the quantities that several methods estimate."""
    mark = f" {MARK}" if measured.is_suspect else ""
    top = max(measured.usable, key=lambda point: point.level, default=None)
    if top is None:
        return
    unit = results.load_factor
    at = f"at {people.plain(top.level)} {unit}"
    found = {
        "highest throughput": list(_limits(measured, model)),
        f"throughput {at} relative to the throughput without waiting": list(_shares(measured, model, top)),
        **{
            f"CPU demand of {tier} {at}": list(_demands(top, model, tier))
            for tier in top.tiers
            if tier in model.demands
        },
    }
    for quantity, values in found.items():
        if len(values) > 1:
            for value in values:
                why = value.why or people.ABSENT
                yield model.label, quantity, value.shown + mark, value.method, why


def _limits(measured: Configuration, model: FittedConfiguration) -> Iterator[_Value]:
    peak = None if measured.limit is None else measured.limit.peak_throughput_per_s
    seen = None if peak is None else peak.value
    if seen is not None:
        yield _Value("measured", people.rate_estimate(peak))
    limit = model.limit_throughput
    if limit:
        ends = model.confidence_interval.get("limit_throughput") or (None, None)
        yield _Value(
            f"limit of the curve ({model.curve})",
            people.rate_estimate(Ends(limit, *ends)),
            _BEYOND if seen is None or seen <= limit else _BELOW,
        )
    for _, network in network_model.networks([model]):
        first = network.limits[0]
        yield _Value(
            f"limit of the network, at {first.station}",
            people.rate_estimate(first.limit_throughput),
            "its demands are fitted by transaction, for the mean mix of all levels",
        )


def _shares(measured: Configuration, model: FittedConfiguration, top: LoadPoint) -> Iterator[_Value]:
    """Yield the throughput relative to ideal scaling, for two definitions of ideal scaling."""
    if measured.ideal is None or top.throughput_per_s.value is None:
        return
    share = share_of_ideal(measured.ideal.slope, top.throughput_per_s, top.level)
    yield _Value("line of ideal scaling, N / (R + Z)", people.plain_estimate(share.scaled(100), "%"))
    seen = () if model.shape is None else model.shape.evidence
    below = next((row for row in seen if row.what == BELOW_LINE), None)
    if below is None or below.at_highest is None:
        return
    ends = (None if end is None else 100 * (1 - end) for end in reversed(below.at_highest_interval))
    yield _Value(
        "line through the lowest level",
        people.plain_estimate(Ends(100 * (1 - below.at_highest), *ends), "%"),
        "its slope is the throughput of one level, with the error of this level; ideal scaling uses the think times "
        "of all levels",
    )


def _demands(top: LoadPoint, model: FittedConfiguration, tier: str) -> Iterator[_Value]:
    there = top.tiers[tier].cpu_demand_s
    if there.value is not None:
        yield _Value("CPU time divided by transactions at this load", people.seconds_estimate(there))
    slope = model.demands[tier].demand_s
    if slope.value is not None:
        yield _Value(
            "slope of utilization against throughput over all levels",
            people.seconds_estimate(slope),
            "CPU time that does not grow with throughput counts as background, not as demand",
        )
