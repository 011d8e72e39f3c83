"""Builds the figure of a search for the load limit: the value of an objective at each plateau (period of constant
load).
"""

from __future__ import annotations

from dataclasses import dataclass

from towtank.analysis import NO_ESTIMATE, Estimate, FoundLimit
from towtank.documents import record_of
from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import panel
from towtank.report.source import Results, RunResult
from towtank.report.vega import Channel, Encoding, Layer, Mark, Specification, nominal, quantitative

PASSED, FAILED, SILENT = "passed", "failed", "failed without a response"
_FAILED_COLOUR, _PASSED_COLOUR, _BAND = theme.COLOURS[1], theme.COLOURS[0], "#d8ecdf"


@dataclass(frozen=True)
class Plateau:
    """Plateau as it is drawn: load, value in the unit of the figure (None if no request ended within the limit),
    outcome, number in the search from 1, and reason of a failure.
    """

    load: float
    value: float | None
    outcome: str
    order: int
    why: str


@dataclass(frozen=True)
class _Objective:
    """Objective with the largest margin at a plateau: measured value and limit in the base unit of the metric."""

    text: str
    metric: str
    limit: float
    seen: float | None = None


@dataclass(frozen=True)
class _Failure:
    """Reason of a failure."""

    text: str = ""


@dataclass(frozen=True)
class _Summarized:
    """Plateau in the summary of a run."""

    level: float
    passed: bool
    objective: _Objective | None = None
    throughput_per_s: Estimate = NO_ESTIMATE
    failure: _Failure | None = None


@dataclass(frozen=True)
class Numbers:
    """Data of the figure: plateaus, title with unit, limit of the objective, load limit, and number of failed
    plateaus without a value, which are not drawn.

    The plateaus of an invalid run, which has no load limit, are drawn as crosses.
    """

    run: str
    rows: list[Plateau]
    title: str
    objective: str
    limit: float | None
    found: FoundLimit | None
    load_factor: str
    is_invalid: bool = False
    left_out: int = 0


def compute(results: Results, run: RunResult) -> Numbers | None:
    """Collect the plateaus of a run; None if the run has no plateau."""
    found, is_invalid = run.summary.get("limit") or {}, run.verdict not in ("valid", "suspect")
    plateaus = [record_of(_Summarized, plateau) for plateau in found.get("plateaus") or ()]
    if not plateaus:
        return None
    binding = record_of(_Objective, found["binding"]) if found.get("binding") else None
    title, seen, limit = _quantity(plateaus, binding)
    rows = [
        Plateau(
            plateau.level,
            value,
            PASSED if plateau.passed else FAILED if value is not None else SILENT,
            number,
            plateau.failure.text if plateau.failure else "",
        )
        for number, (plateau, value) in enumerate(zip(plateaus, seen, strict=True), start=1)
        if value is not None or _is_silent(plateau, binding)
    ]
    objective = binding.text if binding else ""
    shown = None if is_invalid else FoundLimit.model_validate(found)
    left_out = sum(not plateau.passed for plateau in plateaus) - sum(row.outcome != PASSED for row in rows)
    return Numbers(run.run_id, rows, title, objective, limit, shown, results.load_factor, is_invalid, left_out)


def _is_silent(plateau: _Summarized, binding: _Objective | None) -> bool:
    """Return True if a plateau failed the drawn objective without a measured value: requests were in flight for longer
    than its limit, and none ended.
    """
    own = plateau.objective
    if binding is None or own is None:
        return False
    return own.text == binding.text and own.seen is None and not plateau.passed


def _quantity(plateaus: list[_Summarized], binding: _Objective | None) -> tuple[str, list[float | None], float | None]:
    """Return title, value at each plateau, and limit of the objective that determined the load limit.

    Without such an objective, return title and values of the throughput, and None as limit.
    """
    if not binding:
        return "throughput [1/s]", [plateau.throughput_per_s.value for plateau in plateaus], None
    own = [plateau.objective for plateau in plateaus]
    values = [None if each is None or each.text != binding.text else each.seen for each in own]
    factor, unit = 1.0, "1/s"
    if binding.metric == "errors":
        factor, unit = 100.0, "%"
    elif binding.metric != "throughput":
        factor, unit = people.seconds_unit(max((value for value in values if value is not None), default=1.0))
    scaled = [None if value is None else factor * value for value in values]
    return f"{binding.text.partition('<')[0].partition('>')[0].strip()} [{unit}]", scaled, factor * binding.limit


def draw(numbers: Numbers) -> Specification:
    """Draw a mark for each plateau, the interval of the load limit as a band, and the limit of the objective as a
    line.
    """
    axis = panel.load_axis(numbers.load_factor, [row.load for row in numbers.rows])
    place, tooltip = Encoding(x=axis, y=panel.value_axis(numbers.title)), _tooltip(numbers)
    seen = [vars(row) for row in numbers.rows if row.value is not None]
    silent = [vars(row) for row in numbers.rows if row.value is None]
    if numbers.is_invalid:
        cross = Mark(type="text", text="✕", fontSize=14, fontWeight="bold", color=_PASSED_COLOUR)
        marks = vega.layer(cross, {**place, "tooltip": tooltip}, rows=seen)
    else:
        outcomes, hues = [PASSED, FAILED], [_PASSED_COLOUR, _FAILED_COLOUR]
        colour = nominal("outcome", title=None, scale={"domain": outcomes, "range": hues})
        shape = nominal("outcome", title=None, scale={"domain": outcomes, "range": ["circle", "cross"]})
        marked: Encoding = {**place, "color": colour, "shape": shape, "tooltip": tooltip}
        marks = vega.layer("point", marked, rows=seen, filled=True, size=90, opacity=0.85)
    # At a plateau without a response, the value is unknown but larger than all others, so its mark is at the top edge.
    triangle = Mark(type="text", text="▲", dy=8, fontSize=13, color=_FAILED_COLOUR)
    above = vega.layer(triangle, {"x": axis, "y": {"value": 0}, "tooltip": tooltip}, rows=silent)
    layers = [*_band(numbers, axis), *_line(numbers), marks, *([above] if silent else [])]
    return vega.specification(description(numbers), layer=layers, width=590, height=280)


def _tooltip(numbers: Numbers) -> list[Channel]:
    return [
        quantitative("order", title="plateau", format=theme.EXACT),
        quantitative("load", title=panel.load_title(numbers.load_factor), format=theme.EXACT),
        quantitative("value", title=numbers.title, format=theme.MEASURED),
        nominal("outcome", title="outcome"),
        nominal("why", title="why"),
    ]


def _band(numbers: Numbers, axis: Channel) -> list[Layer]:
    found = numbers.found
    layers: list[Layer] = []
    if found is None:
        return layers
    if found.low is not None and found.high is not None and not found.is_lower_bound:
        ends = [{"load": found.low, "end": found.high}]
        layers.append(vega.layer("rect", {"x": axis, "x2": {"field": "end"}}, rows=ends, color=_BAND, opacity=0.9))
    if found.value is not None:
        rule = Mark(type="rule", color=theme.COLOURS[2], strokeWidth=2)
        layers.append(vega.layer(rule, {"x": axis}, rows=[{"load": found.value}]))
    return layers


def _line(numbers: Numbers) -> list[Layer]:
    if numbers.limit is None:
        return []
    dashed, y = Mark(type="rule", color=theme.INK, strokeDash=[6, 3]), panel.value_axis(numbers.title)
    return [vega.layer(dashed, {"y": y}, rows=[{"value": numbers.limit}])]


def description(numbers: Numbers) -> str:
    """Return a description of the figure of a search for the load limit, for readers who cannot see the figure."""
    failed = sum(row.outcome != PASSED for row in numbers.rows)
    loads = [row.load for row in numbers.rows]
    if not loads:
        return "No plateau has a value."
    what = panel.load_title(numbers.load_factor)
    text = (
        f"{numbers.title} of {len(loads)} plateaus from {people.plain(min(loads))} to {people.plain(max(loads))} "
        f"{what}, of which {failed} failed"
    )
    found = numbers.found
    return f"{text}; the limit is {found.in_words}." if found is not None and found.value is not None else f"{text}."


def figure(results: Results, run: RunResult) -> Figure | None:
    """Return the figure of the plateaus of a run; None if the run has no plateau with a value."""
    numbers = compute(results, run)
    if numbers is None or not numbers.rows:
        return None
    note = (
        "Crosses are plateaus of an invalid run, on which no result depends. "
        if numbers.found is None
        else f"The green line is the limit, the band its {_band_is(numbers.found)}. "
    )
    if any(row.outcome == SILENT for row in numbers.rows):
        note += "Triangles at the top are plateaus at which no request ended within the limit. "
    if numbers.left_out:
        note += f"Without a value of the drawn quantity: {people.plural(numbers.left_out, 'failed plateau')}. "
    if numbers.objective:
        note += f"The dashed line is the objective, {numbers.objective}. "
    if run.verdict == "suspect":
        note += "The run is suspect; see the section on limits of the conclusions."
    return Figure(
        name=f"limit-{numbers.run}".lower(),
        title=f"Plateaus of {numbers.run}",
        description=description(numbers),
        note=note.rstrip(),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _band_is(found: FoundLimit) -> str:
    return "interval" if found.confidence else "bracket, which has no confidence level"


def _table(numbers: Numbers) -> Table:
    columns = headings(
        "Plateau", f"#{panel.load_title(numbers.load_factor).capitalize()}", f"#{numbers.title}", "Outcome"
    )
    rows = tuple(
        (str(row.order), people.plain(row.load), people.number(row.value), row.outcome) for row in numbers.rows
    )
    return Table("Measured value at each plateau", columns, rows)
