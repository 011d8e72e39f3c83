"""The effects of factors with two levels: what each one changes, alone and together, and its part of the variation."""

from __future__ import annotations

from collections.abc import Callable

from towtank.report import format as people
from towtank.report.content.observations import quantity_name
from towtank.report.document import Block, Column, Section, Table, paragraph
from towtank.report.source import Json, Results

# From this ratio of the largest to the smallest response on, effects are told to multiply rather than add.
_SPANS = 10.0


def build(results: Results) -> Section | None:
    """The section; None where fewer than two factors have two levels."""
    found = results.summary.get("effects") or ()
    if not found:
        return None
    blocks: list[Block] = [
        paragraph(
            "A change is that of the mean over all configurations when a factor goes from its first level to its "
            "second; that of several factors together is half of what one changes more at the second level of the "
            "other than at the first. The share is of all variation between the runs, so that the shares of one "
            "quantity add up to 100 %."
        )
    ]
    blocks += [_table(one) for one in found]
    return Section("effects", "Effects of the factors", tuple(blocks))


def _table(one: Json) -> Table:
    show = _show(str(one["metric"]))
    names = {factor["name"]: " → ".join(factor["levels"]) for factor in one["factors"]}
    rows = [
        (
            _name(effect["factors"], names),
            show(effect["change"]),
            people.share(effect["share"]),
            _certain(effect["differs"]),
        )
        for effect in one["effects"]
    ]
    rows.append(
        ("repetitions of the same configuration", people.ABSENT, people.share(one["error_share"]), people.ABSENT)
    )
    at = ", ".join(f"{name} {level}" for name, level in one["at"].items())
    caption = f"Effects on the {quantity_name(str(one['metric']))}{f' at {at}' if at else ''}, mean {show(one['mean'])}"
    columns = (
        Column("Factors"),
        Column("Change", numeric=True),
        Column("Share", numeric=True),
        Column("Beyond chance"),
    )
    return Table(caption, columns, tuple(rows), tuple(_notes(one)))


def _show(metric: str) -> Callable[[people.Estimate | None], str]:
    return people.rate_estimate if metric.endswith("_per_s") else people.seconds_estimate


def _name(factors: list[str], levels: dict[str, str]) -> str:
    if len(factors) == 1:
        return f"{factors[0]} {levels[factors[0]]}"
    return " × ".join(factors)


def _certain(differs: bool | None) -> str:
    return {True: "yes", False: "no", None: people.ABSENT}[differs]


def _notes(one: Json) -> list[str]:
    notes = []
    if one["error_share"] is None:
        notes.append("Nothing was repeated, so that no interval tells chance from effect.")
    if one["spans"] is not None and one["spans"] >= _SPANS:
        notes.append(
            f"The largest value is {people.number(one['spans'])} times the smallest: such effects rather multiply than "
            "add, and what factors do together is partly that."
        )
    return notes
