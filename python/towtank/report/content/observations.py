"""Builds the section on observations: sentences of the analysis, and tables that support them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towtank.analysis import Cause, Diagnosis, compared_points
from towtank.digging import dig
from towtank.report import format as people
from towtank.report.document import Block, Bullets, Column, Section, Table, paragraph, text
from towtank.report.figures import series
from towtank.report.figures.panel import load_title
from towtank.report.limit_state import limit_state, limiting_resource
from towtank.report.source import Json, Results, diagnosis_of, label_of, load_of
from towtank.report.suspects import MARK, NOTE

# Causes whose evidence is the reason why runs are invalid.
_INVALIDATING = (Cause.ERRORS, Cause.GENERATOR, Cause.MACHINE)


def build(results: Results) -> Section:
    """Build the section on observations."""
    blocks: list[Block] = []
    found = sentences(results)
    if found:
        blocks.append(Bullets(tuple(text(sentence) for sentence in found)))
    else:
        blocks.append(paragraph("The valid and suspect runs allow no observation."))
    blocks += [*_limits(results), *_diagnoses(results), *_comparisons(results), *_demands(results)]
    return Section("observations", "Observations", tuple(blocks))


def sentences(results: Results) -> list[str]:
    return [
        str(observation["text"])
        for observation in results.summary.get("observations") or ()
        if isinstance(observation, dict) and observation.get("text")
    ]


def _limits(results: Results) -> list[Block]:
    rows = []
    for configuration in results.configurations:
        limit = configuration.get("limit")
        if not isinstance(limit, dict):
            continue
        knee = people.plain_estimate(limit.get("knee_users"), results.load_factor)
        rows.append(
            (
                label_of(configuration) + _mark(configuration.get("points") or ()),
                limit_state(configuration),
                limiting_resource(configuration),
                knee if limit.get("reached") else people.ABSENT,
                people.rate_estimate(limit.get("peak_throughput_per_s")),
                str(limit.get("evidence") or people.ABSENT),
            )
        )
    columns = (
        Column("Configuration"),
        Column("Limit"),
        Column("Limited by"),
        Column("Knee", numeric=True),
        Column("Highest throughput", numeric=True),
        Column("Evidence"),
    )
    notes = _notes(rows)
    made = Table("Limit of the system in the range measured", columns, tuple(rows), notes, is_detail=True)
    return [made] if rows else []


def _diagnoses(results: Results) -> list[Block]:
    """Build the table of diagnoses: what limits each configuration, with the evidence."""
    found = [(each, dig(each, "points") or (), diagnosis_of(each)) for each in results.configurations]
    rows = tuple(
        (
            label_of(configuration) + _mark(points),
            each.headline,
            *("; ".join(texts) or people.ABSENT for texts in (_evidence(each, points), each.against, each.unknown)),
            each.settle or people.ABSENT,
        )
        for configuration, points, each in found
        if each is not None
    )
    titles = ("Configuration", "Answer", "Evidence", "Against", "Not observed", "Next step")
    made = Table("What limits the system", tuple(map(Column, titles)), rows, _notes(rows), is_detail=True)
    return [made] if rows else []


def _evidence(diagnosis: Diagnosis, points: Sequence[Any]) -> tuple[str, ...]:
    """Return the evidence of a diagnosis. Values of invalid runs are left out, unless they are the reason why the runs
    are invalid.
    """
    counts = any(series.point_state(point) != "invalid" for point in points)
    return diagnosis.evidence if counts or diagnosis.cause in _INVALIDATING else ()


def _mark(points: Sequence[Json]) -> str:
    """Return the mark of suspect results if any load point depends on a suspect run, otherwise an empty text."""
    return f" {MARK}" if any(series.point_state(point) == "suspect" for point in points) else ""


def _notes(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the note that explains the mark of suspect results, if a row contains the mark."""
    marked = any(cell.endswith(MARK) for row in rows for cell in row)
    return (NOTE,) if marked else ()


def _comparisons(results: Results) -> list[Block]:
    rows = []
    for comparison in results.summary.get("comparisons") or ():
        metric = str(comparison.get("metric"))
        show = _estimate_of(metric)
        change = f"{comparison.get('factor')} {comparison.get('from')} → {comparison.get('to')}"
        rows.append(
            (
                quantity_name(metric),
                people.plain(load_of(comparison)),
                change,
                show(comparison.get("from_value")) + _mark_of_side(comparison, "from", results),
                show(comparison.get("to_value")) + _mark_of_side(comparison, "to", results),
                people.plain_estimate(comparison.get("ratio"), "×")
                + _mark(compared_points(comparison, results.configurations)),
            )
        )
    columns = (
        Column("Quantity"),
        Column(load_title(results.load_factor).capitalize(), numeric=True),
        Column("Change"),
        Column("From", numeric=True),
        Column("To", numeric=True),
        Column("Ratio", numeric=True),
    )
    certain = sum("[" in row[-1] for row in rows)
    notes = (
        *_notes(rows),
        "If the interval of a ratio contains 1 or is missing, these runs do not show a difference. The interval of a "
        "point with one run includes only the variation within this run, not the variation between runs.",
        *(
            [f"The confidence level is 95 %: of {certain} ratios about {certain / 20:.1f} exclude 1 by chance."]
            if certain
            else []
        ),
    )
    return (
        [Table("Comparison of configurations at equal load", columns, tuple(rows), notes, is_detail=True)]
        if rows
        else []
    )


def _mark_of_side(comparison: Mapping[str, object], side: str, results: Results) -> str:
    """Return the mark of suspect results if a side of a comparison, `from` or `to`, depends on a suspect run."""
    level = dig(comparison, side)
    return _mark(compared_points({**comparison, "from": level, "to": level}, results.configurations))


def quantity_name(metric: str) -> str:
    """Render the name of a metric: `response_time_s.p95 of x` becomes `95th percentile of the response time of x`."""
    statistics = {
        "mean": "mean",
        "p50": "median",
        "p90": "90th percentile",
        "p95": "95th percentile",
        "p99": "99th percentile",
    }
    path, of, what = metric.partition(" of ")
    name, _, statistic = path.partition(".")
    for suffix in ("_per_s", "_s"):
        name = name.removesuffix(suffix)
    words = name.replace("_", " ").replace("cpu", "CPU")
    if statistic in statistics:
        words = f"{statistics[statistic]} of the {words}"
    elif statistic:
        words = f"{words} {statistic}".replace("_", " ")
    return f"{words}{of}{what}"


def _estimate_of(metric: str) -> Callable[[people.Estimate | None], str]:
    """Return the function that formats estimates of a metric, which the unit suffix of its name determines."""
    suffixes = {
        "_bytes_per_s": people.size_rate_estimate,
        "_per_s": people.rate_estimate,
        "_s": people.seconds_estimate,
        "cpus_used": lambda estimate: people.plain_estimate(estimate, "CPUs"),
    }
    names = [part.strip(".,") for part in metric.replace(".", " ").split()]
    return next(
        (show for name in names for suffix, show in suffixes.items() if name.endswith(suffix)),
        people.plain_estimate,
    )


def _demands(results: Results) -> list[Block]:
    of = {str(configuration["label"]): configuration.get("demand") or {} for configuration in results.configurations}
    marks = {
        str(configuration["label"]): _mark(configuration.get("points") or ())
        for configuration in results.configurations
    }
    several = len(of) > 1
    rows = tuple(
        (
            *((label,) if several else ()),
            str(tier),
            people.seconds_estimate(demand.get("d_s")) + marks.get(label, "".join(marks.values())),
            people.quantity(demand.get("intercept_cpus"), "CPUs"),
            people.count(demand.get("points")),
        )
        for label, demands in (of if several else {"": results.summary.get("demand") or {}}).items()
        for tier, demand in demands.items()
        if dig(demand, "d_s", "value") is not None
    )
    columns = (
        *((Column("Configuration"),) if several else ()),
        Column("Tier"),
        Column("CPU demand per transaction", numeric=True),
        Column("Used without load", numeric=True),
        Column("Points", "count", numeric=True),
    )
    caption = "CPU demand of one transaction, from the slope of CPU use against throughput"
    return [Table(caption, columns, rows, _notes(rows), is_detail=True)] if rows else []
