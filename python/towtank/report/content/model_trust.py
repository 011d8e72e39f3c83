"""Builds the section with the evidence for the capacity model, such as tested assumptions and errors of predictions."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.content import held_out as levels
from towtank.report.document import Block, Bullets, Column, Section, Table, paragraph, text
from towtank.report.figures import capacity_curve
from towtank.report.source import Json, Results


def build(results: Results) -> Section | None:
    """Build the section with the evidence for the capacity model; None if no configuration has a model."""
    configurations = capacity_curve.modelled(results)
    if not configurations:
        return None
    blocks: list[Block] = []
    for configuration in configurations:
        blocks.append(paragraph(_range(configuration)))
        left = [text(f"Left out, {run['run']}: {run['why']}.") for run in configuration["excluded"]]
        blocks += [Bullets(tuple(left))] if left else []
    blocks += [_assumptions(configurations), _candidates(configurations)]
    mixes = [text(_mix(configuration)) for configuration in configurations if configuration.get("mix")]
    blocks += [Bullets(tuple(mixes))] if mixes else []
    return Section("trust", "Evidence for the model", tuple(blocks))


def _range(configuration: Json) -> str:
    trust, audit = configuration["trust"], configuration["audit"]
    held_out = configuration["held_out"]
    error = (
        f"held-out error of the throughput {levels.worst_error(held_out['points'])}"
        if held_out
        else "no held-out level"
    )
    broken = len(audit["findings"])
    found = f"found {people.plural(broken, 'contradiction') if broken else 'no contradiction'}"
    return (
        f"{configuration['label']}: {people.plural(trust['points'], 'point')} at "
        f"{people.plural(trust['levels'], 'load')} from {people.plain(trust['measured_from'])} to "
        f"{people.plain(trust['measured_to'])}; it predicts up to {people.plain(trust['predicts_to'])}, because "
        f"{trust['because']}; {error}. "
        f"The audit before the fit {found if audit['checked'] else 'had no response times for a check'} "
        f"of N = X (R + Z) and U = X D{'; these runs are not modelled' if broken else ''}."
    )


def _assumptions(configurations: list[Json]) -> Table:
    columns = (Column("Configuration"), Column("It assumes that"), Column("Tested"))
    rows = tuple(
        (str(configuration["label"]), str(row["assumes"]), str(row["tested"]))
        for configuration in configurations
        for row in configuration["trust"]["assumptions"]
    )
    return Table("Assumptions and their tests", columns, rows)


def _candidates(configurations: list[Json]) -> Table:
    columns = (
        Column("Configuration"),
        Column("Curve"),
        Column("AICc", numeric=True),
        Column("AICc with use", numeric=True),
        Column("Held-out error", numeric=True),
        Column("Verdict"),
    )
    rows = tuple(
        (
            str(configuration["label"]),
            str(row["curve"]) + (" (chosen)" if row["curve"] == configuration["curve"] else ""),
            people.number(row["aicc"]),
            people.number(row["joint_aicc"]),
            _held_out_error(row),
            str(row["verdict"]),
        )
        for configuration in configurations
        for row in configuration["choice"]["candidates"]
    )
    why = tuple(f"{configuration['label']}: {configuration['choice']['why']}." for configuration in configurations)
    notes = (
        "AICc compares curves by the throughput; AICc with use compares them by throughput and utilization of the "
        "bottleneck together. A smaller value is better. The held-out error is the error of the throughput predicted "
        "at the highest load.",
        *why,
    )
    return Table("Compared curves", columns, rows, notes)


def _held_out_error(row: Json) -> str:
    if row["held_out_error"] is None:
        return people.ABSENT
    return people.signed_estimate(row["held_out_error"], row.get("held_out_interval"))


def _mix(configuration: Json) -> str:
    rows = ", ".join(
        f"{people.number(row['work'])} at {people.plain(row['load'])}" for row in configuration["mix"]["work"]
    )
    left = configuration["mix"]["scatter_left"][configuration["mix"]["estimator"]]
    return (
        f"{configuration['label']}: the transactions differ in their demands, so the measured mix of each level is "
        "used: "
        f"the work of the mean transaction is {rows}. With demands by class ({configuration['mix']['estimator']}), "
        f"{people.share(left)} of the residual variance of the seconds remains, compared with equal demands."
    )
