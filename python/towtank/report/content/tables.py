"""Builds the section with the tables of results, by load point and by transaction."""

from __future__ import annotations

from collections.abc import Iterator

from towtank import over_runs
from towtank.analysis import Configuration, Estimate, LoadPoint, TransactionAtLoad, window_lengths
from towtank.digging import dig
from towtank.report import format as people
from towtank.report.content import answers, objectives_table
from towtank.report.document import Block, Callout, Column, Section, Table, headings, paragraph, text
from towtank.report.figures import panel
from towtank.report.source import Results
from towtank.report.suspects import MARK, NOTE

_TIERS_BESIDE = 2
# Percentiles in the separate table of percentiles; the 95th percentile is in the table of load points.
_PERCENTILES = {"p50": "Median", "p90": "90th percentile", "p99": "99th percentile"}
_FOOTNOTES = {
    "suspect": NOTE,
    "invalid": "No value: no run at this point is valid or suspect.",
}


def build(results: Results) -> Section:
    """Build the section on results: missing runs, then the tables of load points and transactions."""
    blocks: list[Block] = []
    if results.missing:
        names = [f"{run.run_id} ({_why_missing(run.status)})" for run in results.missing]
        sentence = f"{people.plural(len(names), 'run')} of {len(results.runs)} could not be judged"
        message = f"{sentence}: {people.listing(names)}."
        blocks.append(Callout("note", "These results are partial", (text(message),)))
    if not results.configurations:
        blocks.append(paragraph("No point of the study has a result."))
    else:
        blocks += [
            paragraph(_said(results)),
            *_points(results),
            *([objectives] if (objectives := objectives_table.table(results)) is not None else []),
            *_transactions(results),
            *answers.tables(results),
        ]
    return Section("results", "Results", tuple(blocks))


def _why_missing(status: str) -> str:
    return {"missing": "not run", "planned": "not run", "running": "cut off"}.get(status, status)


def _said(results: Results) -> str:
    """Render an explanation of the values in the tables and of their intervals."""
    if not results.in_state("valid", "suspect"):
        return "No point has a value, because no run is valid or suspect. The verdict of every run gives the reasons."
    of, together = confidence(results), ""
    if any(_by_run(point) != people.ABSENT for _, point in _all_points(results)):
        together = (
            " A percentile over several runs is computed from all their requests together, not as a mean of "
            "percentiles."
        )
    if of is None:
        return (
            f"Values are means over the steady window.{together} They have no intervals, because too few data were "
            "recorded."
        )
    return (
        f"Values are means over the steady window.{together} Brackets contain {of} confidence intervals; a value "
        f"without brackets has none, because too few data were recorded.{_long_enough(results)}"
    )


def _long_enough(results: Results) -> str:
    """Return a sentence on the window length that would probably give all values an interval; empty if it is
    unknown.
    """
    needed = sorted(
        float(estimate.needs_s)
        for _, point in _all_points(results)
        if point.is_usable
        for estimate in _shown(point)
        if estimate.low is None and estimate.needs_s
    )
    if not needed:
        return ""
    values = "this value" if len(needed) == 1 else f"these {len(needed)} values"
    window_s = _longest_window_s(results)
    half, most = (window_lengths.advised_length(needed[place], window_s) for place in ((len(needed) - 1) // 2, -1))
    no_window = window_lengths.none_is_long_enough(window_s)
    if half is None:
        of = "" if len(needed) == 1 else "half of "
        return f" {no_window.capitalize()} would probably give {of}{values} an interval."
    if half == most:
        return f" A steady window of {most} would probably give {values} an interval."
    first = f" A steady window of {half} would probably give half of {values} an interval,"
    if most is None:
        return f"{first} {no_window} all of them."
    return f"{first} a window of {most} for all of them."


def _longest_window_s(results: Results) -> float:
    """Return the length of the longest steady window of any run; 0 if no run has a window. [s]"""
    edges = [[dig(run.summary, "window", key) for key in ("start_s", "end_s")] for run in results.measured]
    return max((end - start for start, end in edges if start is not None and end is not None), default=0.0)


def _shown(point: LoadPoint) -> Iterator[Estimate]:
    """Yield the estimates of a load point that the tables contain."""
    yield point.throughput_per_s
    for name in ("mean", "p95", *_PERCENTILES):
        yield point.response_time_s.of(name)
    for transaction in point.transactions.values():
        if transaction.was_done:
            yield from (transaction.throughput_per_s, transaction.mean_s, transaction.p95_s)


def confidence(results: Results) -> str | None:
    """Render the confidence level of the intervals; None if no estimate has an interval."""
    stated = {
        estimate.confidence
        for _, point in _all_points(results)
        for estimate in (point.throughput_per_s, point.response_time_s.mean)
        if estimate.confidence and estimate.low is not None
    }
    return people.listing([f"{people.plain(share * 100)} %" for share in sorted(stated)]) if stated else None


def _mark(point: LoadPoint) -> str:
    return f" {MARK}" if point.state == "suspect" else ""


def _footnotes(points: list[LoadPoint]) -> tuple[str, ...]:
    states = {point.state for point in points}
    return tuple(note for state, note in _FOOTNOTES.items() if state in states)


def _all_points(results: Results) -> list[tuple[Configuration, LoadPoint]]:
    return [(configuration, point) for configuration in results.configurations for point in configuration.points]


def _points(results: Results) -> list[Block]:
    """Build the tables of load points: throughput, response times, and CPUs used by each tier."""
    points = _all_points(results)
    tiers = list(dict.fromkeys(tier for _, point in points for tier in point.tiers))
    rests = list(dict.fromkeys(name for _, point in points for name in point.not_attributed))
    beside = tiers if len(tiers) <= _TIERS_BESIDE else []
    beside_rests = rests if beside == tiers else []
    repeated = any(_by_run(point) != people.ABSENT for _, point in points)
    columns = headings(
        *_head(results),
        "#Throughput",
        "#Mean response",
        "#95th percentile",
        *([Column("95th percentile by run", numeric=True)] if repeated else []),
        *(Column(f"CPUs used, {tier}", numeric=True) for tier in beside),
        *(Column(f"CPUs {people.not_attributed(name)}", numeric=True) for name in beside_rests),
        "#Errors",
        "Verdicts",
    )
    rows = tuple(_point_row(configuration, point, beside, beside_rests, repeated) for configuration, point in points)
    footnotes = _footnotes([point for _, point in points])
    made: list[Block] = [Table("Results by configuration and load", columns, rows, footnotes)]
    if tiers != beside:
        made.append(_tiers(results, points, tiers, rests))
    spread = _percentiles(results, points)
    return [*made, spread] if spread is not None else made


def _percentiles(results: Results, points: list[tuple[Configuration, LoadPoint]]) -> Table | None:
    """Build the table of percentiles of the response time; None if no load point has percentiles."""
    timed = [
        (configuration, point)
        for configuration, point in points
        if point.is_usable and point.response_time_s.p50.value is not None
    ]
    if not timed:
        return None
    rows = tuple(
        (
            *_head_cells(configuration, point),
            *(people.seconds_estimate(point.response_time_s.of(name)) for name in _PERCENTILES),
            people.seconds(point.response_time_s.max),
        )
        for configuration, point in timed
    )
    columns = (
        *_head(results),
        *(Column(title, numeric=True) for title in _PERCENTILES.values()),
        Column("Longest", numeric=True),
    )
    footnotes = _footnotes([point for _, point in timed])
    return Table("Percentiles of the response time", columns, rows, footnotes, is_detail=True)


def _head(results: Results) -> tuple[Column, ...]:
    return headings("Configuration", f"#{panel.load_title(results.load_factor).capitalize()}")


def _head_cells(configuration: Configuration, point: LoadPoint) -> tuple[str, ...]:
    return configuration.label, f"{people.plain(point.level)}{_mark(point)}"


def _tiers(
    results: Results, points: list[tuple[Configuration, LoadPoint]], tiers: list[str], rests: list[str]
) -> Table:
    """Build the table of the CPUs used by each tier, and by processes of no tier, at valid and suspect load points."""
    counting = [(configuration, point) for configuration, point in points if point.is_usable]
    rows = tuple(
        (
            *_head_cells(configuration, point),
            *_cpus(point, tiers, rests, ""),
        )
        for configuration, point in counting
    )
    named = [*tiers, *map(people.not_attributed, rests)]
    columns = (*_head(results), *(Column(name, numeric=True) for name in named))
    return Table("CPUs used, by tier", columns, rows, _footnotes([point for _, point in counting]))


def _cpus(point: LoadPoint, tiers: list[str], rests: list[str], unit: str) -> Iterator[str]:
    """Yield the CPUs used by each tier, and by processes of no tier on each machine."""
    yield from (people.plain_estimate(point.cpus_of(tier), unit) for tier in tiers)
    yield from (people.plain_estimate(people.not_below_zero(point.cpus_of_no_tier(name)), unit) for name in rests)


def _by_run(point: LoadPoint) -> str:
    """Render the range of the 95th percentiles of single runs at a load point, such as `1 to 380 ms`."""
    ends = point.ranges.p95_s
    return over_runs.words(ends, ends[1], people.seconds) if ends else people.ABSENT


def _point_row(
    configuration: Configuration, point: LoadPoint, tiers: list[str], rests: list[str], repeated: bool
) -> tuple[str, ...]:
    head = _head_cells(configuration, point)
    verdicts = [f"{run} {verdict}" for run, verdict in zip(point.runs, point.verdicts, strict=False)]
    if not point.is_usable:
        return (*head, *([people.ABSENT] * (4 + repeated + len(tiers) + len(rests))), ", ".join(verdicts) or "not run")
    return (
        *head,
        people.rate_estimate(point.throughput_per_s),
        people.seconds_estimate(point.response_time_s.mean),
        people.seconds_estimate(point.response_time_s.p95),
        *([_by_run(point)] if repeated else []),
        *_cpus(point, tiers, rests, "CPUs"),
        _errors(point),
        ", ".join(verdicts),
    )


def _errors(point: LoadPoint) -> str:
    """Render the share of failed transactions at a load point, as a range over runs if there are several."""
    of_runs = point.ranges.errors_share
    return people.share_range(*of_runs) if of_runs else people.share(point.errors_share)


def _transactions(results: Results) -> list[Block]:
    """Build a table of transactions for each load level with a valid or suspect run, the highest level first."""
    points = [(c, p) for c, p in _all_points(results) if p.is_usable and p.transactions]
    loads = sorted({point.level for _, point in points}, reverse=True)
    return [_transaction_table(results, load, [(c, p) for c, p in points if p.level == load]) for load in loads]


def _transaction_table(results: Results, load: float, points: list[tuple[Configuration, LoadPoint]]) -> Table:
    names = list(
        dict.fromkeys(
            name for _, point in points for name, transaction in point.transactions.items() if transaction.was_done
        )
    )
    columns = headings("Transaction", "Configuration", "#Throughput", "#Mean response", "#95th percentile")
    rows = tuple(
        (
            name,
            f"{configuration.label}{_mark(point)}",
            people.rate_estimate(transaction.throughput_per_s),
            people.seconds_estimate(transaction.mean_s),
            people.seconds_estimate(transaction.p95_s),
        )
        for name in names
        for configuration, point in points
        for transaction in [point.transactions.get(name, TransactionAtLoad())]
    )
    caption = f"Transactions at {people.plain(load)} {panel.load_title(results.load_factor)}"
    return Table(caption, columns, rows, _footnotes([point for _, point in points]), is_detail=True)
