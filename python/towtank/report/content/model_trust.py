"""What the model rests on: range, held-out error, assumptions and whether they were tested, the audit, other curves."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.document import Block, Bullets, Column, Section, Table, paragraph, text
from towtank.report.figures import capacity_curve
from towtank.report.source import Json, Results


def build(results: Results) -> Section | None:
    """The section; None where no configuration has a model."""
    told = capacity_curve.modelled(results)
    if not told:
        return None
    blocks: list[Block] = []
    for one in told:
        blocks.append(paragraph(_range(one)))
        left = [text(f"Left out, {run['run']}: {run['why']}.") for run in one["excluded"]]
        blocks += [Bullets(tuple(left))] if left else []
    blocks += [_assumptions(told), _candidates(told)]
    mixes = [text(_mix(one)) for one in told if one.get("mix")]
    blocks += [Bullets(tuple(mixes))] if mixes else []
    return Section("trust", "What the model rests on", tuple(blocks))


def _range(one: Json) -> str:
    trust, audit = one["trust"], one["audit"]
    held = trust["held_out_error"]
    error = (
        "no level could be held out"
        if held is None
        else f"held-out error of the throughput {people.signed_share(held)}"
    )
    broken = len(audit["findings"])
    checked = people.plural(audit["checked"], "check")
    found = "none failed" if not broken else f"{broken} failed, and their runs are not modelled"
    return (
        f"{one['label']}: {people.plural(trust['points'], 'point')} at {people.plural(trust['levels'], 'load')} from "
        f"{people.plain(trust['measured_from'])} to {people.plain(trust['measured_to'])}; it "
        f"predicts up to {people.plain(trust['predicts_to'])}, as {trust['because']}; {error}. "
        f"Audit before the fit, N = X (R + Z) and U = X D: {checked}, {found}."
    )


def _assumptions(told: list[Json]) -> Table:
    columns = (Column("Configuration"), Column("It assumes that"), Column("Tested"))
    rows = tuple(
        (str(one["label"]), str(row["assumes"]), str(row["tested"]))
        for one in told
        for row in one["trust"]["assumptions"]
    )
    return Table("Assumptions, and what was tested of them", columns, rows)


def _candidates(told: list[Json]) -> Table:
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
            str(one["label"]),
            str(row["curve"]) + (" (chosen)" if row["curve"] == one["curve"] else ""),
            people.number(row["aicc"]),
            people.number(row["joint_aicc"]),
            people.ABSENT if row["held_out_error"] is None else people.signed_share(row["held_out_error"]),
            str(row["verdict"]),
        )
        for one in told
        for row in one["choice"]["candidates"]
    )
    why = tuple(f"{one['label']}: {one['choice']['why']}." for one in told)
    notes = (
        "AICc compares curves on the throughput, with use on throughput and use of the bottleneck together; smaller is "
        "better. The held-out error is of the throughput at the highest load.",
        *why,
    )
    return Table("Curves that were tried", columns, rows, notes)


def _mix(one: Json) -> str:
    rows = ", ".join(f"{people.number(row['work'])} at {people.plain(row['load'])}" for row in one["mix"]["work"])
    left = one["mix"]["scatter_left"][one["mix"]["estimator"]]
    return (
        f"{one['label']}: the transactions that ran differ in what they demand, so the mix of each level is taken as "
        f"it was: work of the mean transaction {rows}. Demands by class ({one['mix']['estimator']}) leave "
        f"{people.share(left)} of the scatter of the seconds that counting all alike leaves."
    )
