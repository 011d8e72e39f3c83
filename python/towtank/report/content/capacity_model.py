"""The model: which curve, what limits the system, the curve itself, held-out levels, knees."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.content import held_out as levels
from towtank.report.content import network_model
from towtank.report.document import Block, Callout, Column, Section, Table, paragraph, strong, text
from towtank.report.figures import capacity_curve, panel
from towtank.report.source import Json, Results

CURVES = {
    "closed": "users that think, and one bottleneck with a constant demand",
    "load-dependent": "users that think, and one bottleneck whose demand depends on its utilization",
    "usl": "the universal scalability law",
    "amdahl": "Amdahl's law",
    "linear": "a straight line through the origin",
}
_KNEES = {
    "objective": "objective",
    "model": "model, (D + Z) / D_max",
    "peak": "peak of the scalability law",
    "efficiency": "efficiency, largest X / R",
    "break": "break between two lines",
}


def build(results: Results) -> Section | None:
    """The section; None where no configuration has a model."""
    told = capacity_curve.modelled(results)
    if not told:
        return None
    blocks: list[Block] = []
    for one in told:
        blocks.append(_sentence(one))
    blocks += network_model.callouts(told)
    blocks += [
        paragraph(f"{one['label']}: no model. {people.sentence(str(one['refused']))}") for one in _refused(results)
    ]
    made = capacity_curve.figure(results)
    if made is not None:
        blocks.append(made)
    tables = (_held_out(results, told), *network_model.held_out(results, told), _knees(results, told))
    blocks += [table for table in tables if table is not None]
    return Section("capacity", "Capacity model", tuple(blocks))


def _refused(results: Results) -> list[Json]:
    return [one for one in results.model.get("configurations") or () if one.get("refused") is not None]


def _sentence(one: Json) -> Block:
    """What limits a configuration, which curve says so, and how good it is."""
    verdict = one["verdict"]
    curve = text(f"The curve is {one['curve']} ({CURVES.get(str(one['curve']), '')}), and {verdict['level']}.")
    said = []
    if one.get("bottleneck_sentence"):
        said.append(text(strong(people.sentence(str(one["bottleneck_sentence"])))))
    shape = (one.get("shape") or {}).get("sentence")
    if shape:
        said.append(text(people.sentence(str(shape))))
    said.append(curve)
    said += [text(people.sentence(str(reason["text"]))) for reason in verdict["reasons"]]
    return Callout("note" if verdict["level"] != "rejected" else "suspect", str(one["label"]), tuple(said))


def _held_out(results: Results, told: list[Json]) -> Table | None:
    """Predicted against measured where a level was held out."""
    rows = [
        (*levels.cells(one, row), "yes" if row["within_95"] else "no")
        for one in told
        for row in (one["held_out"] or {}).get("points", ())
    ]
    if not rows:
        return None
    columns = (*levels.columns(results), Column("Within"))
    notes = (
        "Predicted by a fit without these levels, with their users, think times and mixes. Bands are those of one more "
        "measurement; the last column tells whether the throughput measured lies within.",
        "Near saturation the response time is N / X − Z, a small difference of large numbers: an error of the "
        "throughput comes back in it enlarged by N / (X R).",
    )
    return Table("Held-out levels: predicted by the curve against measured", columns, tuple(rows), notes)


def _knees(results: Results, told: list[Json]) -> Table | None:
    rows = [
        (str(one["label"]), _KNEES[knee["kind"]], _load(knee), str(knee["how"]))
        for one in told
        for knee in one["knees"]
        if knee["kind"] in _KNEES
    ]
    if not rows:
        return None
    title = panel.load_title(results.load_factor).capitalize()
    columns = (Column("Configuration"), Column("Knee"), Column(f"{title}, 95 % interval", numeric=True), Column("How"))
    return Table("Knees: where the curve bends, by several definitions", columns, tuple(rows))


def _load(knee: Json) -> str:
    """Render a knee with its interval; without an interval, as a whole number like a load."""
    if knee["low"] is None or knee["high"] is None:
        return people.count(knee["load"])
    return people.plain_estimate({"value": knee["load"], "low": knee["low"], "high": knee["high"]})
