"""Result tables: one of the points, one of the transactions, marks on what leans on a suspect run."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.document import Block, Callout, Column, Section, Table, paragraph, text
from towtank.report.figures import panel, series
from towtank.report.source import Json, Results, dig, label_of

_MARK = "†"
_TIERS_BESIDE = 2
_FOOTNOTES = {
    "suspect": f"{_MARK} Leans on a suspect run; see the limits of the conclusions.",
    "invalid": "No value: no run at this point counts.",
}


def build(results: Results) -> Section:
    """Missing runs first, then the tables."""
    blocks: list[Block] = []
    if results.missing:
        names = [f"{run.run_id} ({_why_missing(run.status)})" for run in results.missing]
        told = f"{people.plural(len(names), 'run')} of {len(results.runs)} could not be judged"
        message = f"{told}: {people.listing(names)}."
        blocks.append(Callout("note", "These results are partial", (text(message),)))
    if not results.configurations:
        blocks.append(paragraph("No point of the study has a result."))
    else:
        blocks += [
            paragraph(
                "Values are means over the steady window. Brackets hold confidence intervals of "
                f"{confidence(results)}; a value without brackets has none, because too little was "
                f"recorded for one."
            ),
            *_points(results),
            *_transactions(results),
        ]
    return Section("results", "Results", tuple(blocks))


def _why_missing(status: str) -> str:
    return {"missing": "not run", "planned": "not run", "running": "cut off"}.get(status, status)


def confidence(results: Results) -> str:
    """Confidence of the intervals, as the estimates state it."""
    stated = {
        estimate["confidence"]
        for configuration in results.configurations
        for point in configuration.get("points") or ()
        for estimate in (point.get("throughput_per_s"), dig(point, "response_time_s", "mean"))
        if isinstance(estimate, dict) and estimate.get("confidence") and estimate.get("low") is not None
    }
    return (
        people.listing([f"{people.plain(one * 100)} %" for one in sorted(stated)])
        if stated
        else "the confidence stated"
    )


def _mark(point: Json) -> str:
    return f" {_MARK}" if series.point_state(point) == "suspect" else ""


def _footnotes(points: list[Json]) -> tuple[str, ...]:
    states = {series.point_state(point) for point in points}
    return tuple(note for state, note in _FOOTNOTES.items() if state in states)


def _all_points(results: Results) -> list[tuple[Json, Json]]:
    return [(one, point) for one in results.configurations for point in one.get("points") or ()]


def _points(results: Results) -> list[Block]:
    """The points with the CPUs of their tiers; in a table of their own where more than fit beside the rest."""
    points = _all_points(results)
    tiers = list(dict.fromkeys(str(tier) for _, point in points for tier in point.get("tiers") or {}))
    rests = list(dict.fromkeys(str(name) for _, point in points for name in point.get("not_attributed") or {}))
    beside = tiers if len(tiers) <= _TIERS_BESIDE else []
    beside_rests = rests if beside == tiers else []
    columns = (
        *_head(results),
        Column("Throughput", numeric=True),
        Column("Mean response", numeric=True),
        Column("95th percentile", numeric=True),
        *(Column(f"CPUs used, {tier}", numeric=True) for tier in beside),
        *(Column(f"CPUs {people.not_attributed(name)}", numeric=True) for name in beside_rests),
        Column("Errors", numeric=True),
        Column("Verdicts"),
    )
    rows = tuple(_point_row(configuration, point, beside, beside_rests) for configuration, point in points)
    footnotes = _footnotes([point for _, point in points])
    made: list[Block] = [Table("Results by configuration and load", columns, rows, footnotes)]
    if tiers != beside:
        made.append(_tiers(results, points, tiers, rests))
    return made


def _head(results: Results) -> tuple[Column, ...]:
    return Column("Configuration"), Column(panel.load_title(results.load_factor).capitalize(), numeric=True)


def _head_cells(configuration: Json, point: Json) -> tuple[str, ...]:
    return label_of(configuration), f"{people.plain(point.get('users'))}{_mark(point)}"


def _tiers(results: Results, points: list[tuple[Json, Json]], tiers: list[str], rests: list[str]) -> Table:
    """CPUs by tier, and those of no tier by machine; points where no run counts have none."""
    counting = [(one, point) for one, point in points if series.point_state(point) != "invalid"]
    rows = tuple(
        (
            *_head_cells(configuration, point),
            *(people.plain_estimate(dig(point, "tiers", tier, "cpus_used"), "") for tier in tiers),
            *(
                people.plain_estimate(people.not_below_zero(dig(point, "not_attributed", name, "cpus_used")), "")
                for name in rests
            ),
        )
        for configuration, point in counting
    )
    named = [*tiers, *map(people.not_attributed, rests)]
    columns = (*_head(results), *(Column(name, numeric=True) for name in named))
    return Table("CPUs used, by tier", columns, rows, _footnotes([point for _, point in counting]))


def _point_row(configuration: Json, point: Json, tiers: list[str], rests: list[str]) -> tuple[str, ...]:
    head = _head_cells(configuration, point)
    verdicts = [
        f"{run} {verdict}" for run, verdict in zip(point.get("runs") or (), point.get("verdicts") or (), strict=False)
    ]
    if series.point_state(point) == "invalid":
        return (*head, *([people.ABSENT] * (4 + len(tiers) + len(rests))), ", ".join(verdicts) or "not run")
    return (
        *head,
        people.rate_estimate(point.get("throughput_per_s")),
        people.seconds_estimate(dig(point, "response_time_s", "mean")),
        people.seconds_estimate(dig(point, "response_time_s", "p95")),
        *(people.plain_estimate(dig(point, "tiers", tier, "cpus_used"), "CPUs") for tier in tiers),
        *(
            people.plain_estimate(people.not_below_zero(dig(point, "not_attributed", name, "cpus_used")), "CPUs")
            for name in rests
        ),
        people.share(point.get("errors_share")),
        ", ".join(verdicts),
    )


def _transactions(results: Results) -> list[Block]:
    """One table for each load level that counts somewhere."""
    points = [(c, p) for c, p in _all_points(results) if series.point_state(p) != "invalid" and p.get("transactions")]
    return [
        _transaction_table(results, load, [(c, p) for c, p in points if p.get("users") == load])
        for load in sorted({float(point["users"]) for _, point in points if point.get("users") is not None})
    ]


def _was_done(transaction: Json) -> bool:
    """Whether any ended in the steady stage: what users do once, as logging in, is over by then."""
    return bool(dig(transaction, "throughput_per_s", "value") or transaction.get("errors_share"))


def _transaction_table(results: Results, load: float, points: list[tuple[Json, Json]]) -> Table:
    names = list(
        dict.fromkeys(str(name) for _, point in points for name, one in point["transactions"].items() if _was_done(one))
    )
    columns = (
        Column("Transaction"),
        Column("Configuration"),
        Column("Throughput", numeric=True),
        Column("Mean response", numeric=True),
        Column("95th percentile", numeric=True),
    )
    rows = tuple(
        (
            name,
            f"{label_of(configuration)}{_mark(point)}",
            people.rate_estimate(dig(point, "transactions", name, "throughput_per_s")),
            people.seconds_estimate(dig(point, "transactions", name, "mean_s")),
            people.seconds_estimate(dig(point, "transactions", name, "p95_s")),
        )
        for name in names
        for configuration, point in points
    )
    caption = f"Transactions at {people.plain(load)} {panel.load_title(results.load_factor)}"
    return Table(caption, columns, rows, _footnotes([point for _, point in points]))
