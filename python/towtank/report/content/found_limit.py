"""The limit: what the search found in each configuration and run, and the plateaus it rests on."""

from __future__ import annotations

from towtank.analysis.limits.of_runs import text_of
from towtank.report import format as people
from towtank.report.document import Block, Callout, Column, Section, Table, paragraph, text
from towtank.report.figures import limit as limit_figure
from towtank.report.figures import panel
from towtank.report.source import Json, Results, RunResult, dig, label_of

_ENDED = {
    "refined": "the bracket is as narrow as asked, and both ends were repeated",
    "bracketed": "the first level that failed ended it",
    "at_most": "the highest level allowed passed",
    "failed_at_start": "the first level failed already",
    "generator_saturated": "the generator came to its own limit, so that nothing is known of the system beyond",
    "service_died": "a service died",
    "interrupted": "the run ended before the search did",
}
_METHODS = {
    "tested bracket": "Below the interval the objective is met and above it missed, each beyond chance; that the "
    "margin rises with the load and that plateaus vary alike is assumed, no shape of the curve is.",
    "bracket": "The bracket has no confidence: its lower end passed and its upper end failed, and no test tells how "
    "surely.",
    "runs": "The interval is Student's t over the limits that the runs found.",
    "none": "A search that found no failure of the system gives a lower bound.",
}


def build(results: Results) -> Section | None:
    """The section; None where no run searched."""
    runs = [run for run in results.measured if run.summary.get("limit")]
    if not runs:
        return None
    blocks: list[Block] = []
    for configuration in results.configurations:
        found = configuration.get("found_limit")
        if found:
            blocks += _of_configuration(configuration, found)
    for run in runs:
        blocks += _of_run(results, run)
    return Section("limit", "The limit", tuple(blocks))


def _of_configuration(configuration: Json, found: Json) -> list[Block]:
    where = f"{label_of(configuration)}: " if configuration.get("key") else ""
    confidence = f", {100 * found['confidence']:.0f} % confidence" if found.get("confidence") else ""
    said = [text(f"{where}{text_of(found)} ({found['method']}{confidence}).")]
    reason = dig(found, "failure", "text")
    if reason:
        said.append(text(people.sentence(f"beyond it: {reason}" if not found["is_lower_bound"] else str(reason))))
    said.append(text(_METHODS.get(str(found["method"]), "")))
    title = "At least" if found["is_lower_bound"] else "Limit found"
    return [Callout("note", title, tuple(said))]


def _of_run(results: Results, run: RunResult) -> list[Block]:
    limit = run.summary["limit"]
    end = _ENDED.get(str(limit.get("ended")), str(limit.get("ended")))
    blocks: list[Block] = [
        paragraph(
            f"{run.run_id} ({results.label(run)}) found {text_of(limit)} in "
            f"{people.plural(len(limit['plateaus']), 'plateau')}: {end}. All other sections describe its plateau at "
            f"{people.plain(limit['window_level'])}, the highest level that passed."
            if any(one["passed"] for one in limit["plateaus"])
            else f"{run.run_id} ({results.label(run)}): {end}. No plateau passed."
        )
    ]
    made = limit_figure.figure(results, run)
    if made is not None:
        blocks.append(made)
    blocks.append(_table(results, run))
    return blocks


def _table(results: Results, run: RunResult) -> Table:
    columns = (
        Column("Plateau"),
        Column(panel.load_title(results.load_factor).capitalize(), numeric=True),
        Column("Outcome"),
        Column("Throughput", numeric=True),
        Column("Mean response time", numeric=True),
        Column("p95", numeric=True),
        Column("Errors", numeric=True),
        Column("Settled"),
        Column("Failure"),
    )
    rows = tuple(
        (
            str(number),
            people.plain(one["level"]),
            "passed" if one["passed"] else "failed",
            people.rate_estimate(one["throughput_per_s"]),
            people.seconds_estimate(dig(one, "response_time_s", "mean")),
            people.seconds_estimate(dig(one, "response_time_s", "p95")),
            people.share(one["errors_share"]),
            {True: "yes", False: "no", None: people.ABSENT}[one["settled"]],
            str(dig(one, "failure", "text") or people.ABSENT),
        )
        for number, one in enumerate(run.summary["limit"]["plateaus"], start=1)
    )
    return Table(f"Plateaus of {run.run_id}, in the order they were made", columns, rows)
