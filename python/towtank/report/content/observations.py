"""Builds the section on observations: sentences of the analysis, and tables that support them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from towtank.analysis import Cause, Comparison, Configuration, Diagnosis, LoadPoint
from towtank.report import format as people
from towtank.report.document import Block, Bullets, Column, Section, Table, headings, paragraph, text
from towtank.report.figures.panel import load_title
from towtank.report.limit_state import limit_state, limiting_resource
from towtank.report.source import Results
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
        limit = configuration.limit
        if limit is None:
            continue
        knee = people.plain_estimate(limit.knee_users, results.load_factor)
        rows.append(
            (
                configuration.label + _mark(configuration.points),
                limit_state(configuration),
                limiting_resource(configuration),
                knee if limit.reached else people.ABSENT,
                people.rate_estimate(limit.peak_throughput_per_s),
                limit.evidence or people.ABSENT,
            )
        )
    columns = headings("Configuration", "Limit", "Limited by", "#Knee", "#Highest throughput", "Evidence")
    notes = _notes(rows)
    made = Table("Limit of the system in the range measured", columns, tuple(rows), notes, is_detail=True)
    return [made] if rows else []


def _diagnoses(results: Results) -> list[Block]:
    """Build the table of diagnoses: what limits each configuration, with the evidence."""
    rows = tuple(
        (
            configuration.label + _mark(configuration.points),
            each.headline,
            *(
                "; ".join(texts) or people.ABSENT
                for texts in (_evidence(each, configuration), each.against, each.unknown)
            ),
            each.settle or people.ABSENT,
        )
        for configuration in results.configurations
        if (each := configuration.diagnosis) is not None
    )
    titles = ("Configuration", "Answer", "Evidence", "Against", "Not observed", "Next step")
    made = Table("What limits the system", tuple(map(Column, titles)), rows, _notes(rows), is_detail=True)
    return [made] if rows else []


def _evidence(diagnosis: Diagnosis, configuration: Configuration) -> tuple[str, ...]:
    """Return the evidence of a diagnosis. Values of invalid runs are left out, unless they are the reason why the runs
    are invalid.
    """
    return diagnosis.evidence if configuration.usable or diagnosis.cause in _INVALIDATING else ()


def _mark(points: Iterable[LoadPoint]) -> str:
    """Return the mark of suspect results if any load point depends on a suspect run, otherwise an empty text."""
    return f" {MARK}" if any(point.state == "suspect" for point in points) else ""


def _notes(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the note that explains the mark of suspect results, if a row contains the mark."""
    marked = any(cell.endswith(MARK) for row in rows for cell in row)
    return (NOTE,) if marked else ()


def _comparisons(results: Results) -> list[Block]:
    rows = []
    for comparison in results.study_summary.comparisons:
        show = _estimate_of(comparison.metric)
        change = f"{comparison.factor} {comparison.from_level} → {comparison.to_level}"
        rows.append(
            (
                quantity_name(comparison.metric),
                people.plain(comparison.level),
                change,
                show(comparison.from_value) + _mark_of_side(comparison, comparison.from_level, results),
                show(comparison.to_value) + _mark_of_side(comparison, comparison.to_level, results),
                people.plain_estimate(comparison.ratio, "×") + _mark(comparison.points(results.configurations)),
            )
        )
    columns = headings(
        "Quantity", f"#{load_title(results.load_factor).capitalize()}", "Change", "#From", "#To", "#Ratio"
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


def _mark_of_side(comparison: Comparison, level: str, results: Results) -> str:
    """Return the mark of suspect results if the side of a comparison with this level depends on a suspect run."""
    return _mark(comparison.points(results.configurations, level))


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
    of = {configuration.label: configuration.demand for configuration in results.configurations}
    marks = {configuration.label: _mark(configuration.points) for configuration in results.configurations}
    several = len(of) > 1
    rows = tuple(
        (
            *((label,) if several else ()),
            tier,
            people.seconds_estimate(demand.d_s) + marks.get(label, "".join(marks.values())),
            people.quantity(demand.intercept_cpus, "CPUs"),
            people.count(demand.points),
        )
        for label, demands in (of if several else {"": results.study_summary.demand}).items()
        for tier, demand in demands.items()
        if demand.d_s.value is not None
    )
    columns = headings(
        *((Column("Configuration"),) if several else ()),
        "Tier",
        "#CPU demand per transaction",
        "#Used without load",
        "#Points | count",
    )
    caption = "CPU demand of one transaction, from the slope of CPU use against throughput"
    return [Table(caption, columns, rows, _notes(rows), is_detail=True)] if rows else []
