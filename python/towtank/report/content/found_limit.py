"""Builds the section on load limits that searches found, with their plateaus (periods of constant load)."""

from __future__ import annotations

from towtank.analysis import Configuration, FoundLimit
from towtank.digging import dig
from towtank.report import format as people
from towtank.report.document import Block, Callout, Section, Table, headings, paragraph, text
from towtank.report.figures import limit as limit_figure
from towtank.report.figures import panel
from towtank.report.source import Results, RunResult

_ENDED = {
    "refined": "the bracket is as narrow as requested, and both ends were repeated",
    "bracketed": "the search ended at the first level that failed",
    "at_most": "the highest permitted level passed",
    "failed_at_start": "the first level failed",
    "generator_saturated": "the generator reached its own limit, so higher loads could not be tested",
    "service_died": "a service died",
    "interrupted": "the run ended before the search was complete",
}
_METHODS = {
    "tested bracket": "The objective is significantly met below the interval, and significantly missed above it. The "
    "assumptions are that the ratio of the measured value to the limit of the objective rises with the load, and "
    "that it varies equally at all plateaus. The shape of the curve is not assumed.",
    "bracket": "A bracket is not a confidence interval: its lower end passed and its upper end failed, without a "
    "test of "
    "significance. The limit may be outside of it. The bracket may therefore be narrower than an interval.",
    "runs": "The interval is Student's t interval of the limits that the runs found.",
    "none": "A search that found no failure of the system gives a lower bound.",
}


def build(results: Results) -> Section | None:
    """Build the section on load limits; None if no run searched for a limit."""
    runs = [run for run in results.measured if run.summary.get("limit")]
    if not runs:
        return None
    blocks: list[Block] = []
    for configuration in results.configurations:
        if configuration.found_limit is not None:
            blocks.append(_of_configuration(results, configuration, configuration.found_limit))
    for run in runs:
        blocks += _of_run(results, run) if run.verdict in ("valid", "suspect") else _of_invalid_run(results, run)
    return Section("limit", "The limit", tuple(blocks))


def _of_configuration(results: Results, configuration: Configuration, found: FoundLimit) -> Callout:
    """Build a callout with the load limit of a configuration, and the suspect runs on which the limit depends."""
    where = f"{configuration.label}: " if configuration.key else ""
    said = [text(f"{where}{found.in_words}{found.method_in_words}.")]
    reason = None if found.failure is None else found.failure.text
    if reason:
        said.append(text(people.sentence(f"beyond it: {reason}" if not found.is_lower_bound else reason)))
    said.append(text(_METHODS.get(found.method, "")))
    title = "At least" if found.is_lower_bound else "Limit found"
    names = {run.run for run in found.runs}
    suspect = [run.run_id for run in results.in_state("suspect") if run.run_id in names]
    doubt = f", from {people.plural(len(suspect), 'suspect run')}: {people.listing(suspect)}" if suspect else ""
    return Callout("suspect" if suspect else "note", f"{title}{doubt}", tuple(said))


def _of_invalid_run(results: Results, run: RunResult) -> list[Block]:
    """Explain why an invalid run gives no load limit, with a figure of its plateaus."""
    reasons = [doubt.message.rstrip(".") for doubt in run.doubts if doubt.level == "invalid"]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    said = (
        f"{run.run_id} ({results.label(run)}) is invalid{why}: its search gives no limit, and no result depends on it."
    )
    made = limit_figure.figure(results, run)
    return [paragraph(said), *([made] if made is not None else [])]


def _of_run(results: Results, run: RunResult) -> list[Block]:
    limit = run.summary["limit"]
    end = _ENDED.get(str(limit.get("ended")), str(limit.get("ended")))
    who = f"{run.run_id} ({results.label(run)}{', a suspect run' if run.verdict == 'suspect' else ''})"
    blocks: list[Block] = [
        paragraph(
            f"{who} found {FoundLimit.model_validate(limit).in_words} in "
            f"{people.plural(len(limit['plateaus']), 'plateau')}: {end}. All other sections describe its plateau at "
            f"{people.plain(limit['window_level'])}, the highest level that passed."
            if any(plateau["passed"] for plateau in limit["plateaus"])
            else f"{who}: {end}. No plateau passed."
        )
    ]
    made = limit_figure.figure(results, run)
    if made is not None:
        blocks.append(made)
    blocks.append(_table(results, run))
    return blocks


def _table(results: Results, run: RunResult) -> Table:
    columns = headings(
        "Plateau",
        f"#{panel.load_title(results.load_factor).capitalize()}",
        "Outcome",
        "#Throughput",
        "#Mean response time",
        "#p95",
        "#Errors",
        "Settled",
        "Failure",
    )
    rows = tuple(
        (
            str(number),
            people.plain(plateau["level"]),
            "passed" if plateau["passed"] else "failed",
            people.rate_estimate(plateau["throughput_per_s"]),
            people.seconds_estimate(dig(plateau, "response_time_s", "mean")),
            people.seconds_estimate(dig(plateau, "response_time_s", "p95")),
            people.share(plateau["errors_share"]),
            {True: "yes", False: "no", None: people.ABSENT}[plateau["settled"]],
            str(dig(plateau, "failure", "text") or people.ABSENT),
        )
        for number, plateau in enumerate(run.summary["limit"]["plateaus"], start=1)
    )
    return Table(f"Plateaus of {run.run_id}, in order of time", columns, rows)
