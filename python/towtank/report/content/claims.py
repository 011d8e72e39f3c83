"""The claims of the reference, each with what was measured here and its verdict."""

from __future__ import annotations

from collections.abc import Callable

from towtank.report import format as people
from towtank.report.document import Block, Column, Section, Table, paragraph
from towtank.report.source import Json, Results

_SHOW: dict[str, Callable[[people.Estimate | None], str]] = {
    "s": people.seconds_estimate,
    "/s": people.rate_estimate,
    "B/s": people.size_rate_estimate,
}
_WORDS = {
    "confirmed": "confirmed",
    "refuted": "refuted",
    "undecided": "undecided",
    "not_testable": "not testable here",
}
_MARK = "†"


def build(results: Results) -> Section | None:
    """The section; None where the study has no claims."""
    claims: list[Json] = [one for one in results.claims.get("claims") or () if isinstance(one, dict)]
    if not claims:
        return None
    counts = results.claims.get("counts") or {}
    told = [f"{counts[verdict]} {words}" for verdict, words in _WORDS.items() if counts.get(verdict)]
    blocks: list[Block] = [
        paragraph(
            f"{people.plural(len(claims), 'claim')} of the reference: {people.listing(told)}. Claims are tested in "
            "kind (directions, ratios, places), never by the figures of other machines. One is confirmed where the "
            "whole interval holds (95 %), refuted where the whole interval does not, and undecided where it crosses "
            "or nothing was repeated. Invalid runs do not count."
        ),
        _table(claims),
    ]
    courses = [(number, one) for number, one in enumerate(claims, 1) if one["levels"]]
    if courses:
        blocks.append(_levels(courses))
    return Section("claims", "Claims", tuple(blocks))


def _table(claims: list[Json]) -> Table:
    columns = (
        Column("No.", numeric=True),
        Column("Claim"),
        Column("Source"),
        Column("Compared here"),
        Column("Measured here"),
        Column("Must be"),
        Column("Verdict"),
    )
    rows = tuple(
        (
            str(number),
            str(one["says"]),
            str(one["source"]) or people.ABSENT,
            str(one["asks"]) or people.ABSENT,
            measured(one),
            str(one["holds"]) or people.ABSENT,
            _verdict(one),
        )
        for number, one in enumerate(claims, 1)
    )
    return Table("Claims of the reference and what was measured here", columns, rows, tuple(_notes(claims)))


def measured(one: Json) -> str:
    """What was measured, with its interval."""
    if one["found"] is not None:
        others = [level for level in one["may_be"] if level != one["found"]]
        return f"{one['found']} (or {people.listing(others)})" if others else str(one["found"])
    if one["levels"]:
        return f"last to first {people.plain_estimate(one['measured'])}"
    return _SHOW.get(str(one["unit"]), people.plain_estimate)(one["measured"])


def _verdict(one: Json) -> str:
    mark = f" {_MARK}" if one["suspect_runs"] else ""
    why = f": {one['why']}" if one["why"] else ""
    return f"{_WORDS[one['verdict']]}{mark}{why}"


def _notes(claims: list[Json]) -> list[str]:
    suspects = sorted({run for one in claims for run in one["suspect_runs"]})
    notes = [f"{_MARK} Leans on suspect runs: {people.listing(suspects)}."] if suspects else []
    left_out = list(dict.fromkeys(why for one in claims for why in one["left_out"]))
    return notes + ([f"Left out: {'; '.join(left_out)}."] if left_out else [])


def _levels(courses: list[tuple[int, Json]]) -> Table:
    rows = tuple(
        (
            str(number),
            str(level["level"]),
            _SHOW.get(str(one["unit"]), people.plain_estimate)(level["measured"]),
            _may_be(one, str(level["level"])),
        )
        for number, one in courses
        for level in one["levels"]
    )
    columns = (
        Column("Claim", numeric=True),
        Column("Level"),
        Column("Measured", numeric=True),
        Column("May be the highest or lowest"),
    )
    return Table("Levels behind the claims", columns, rows)


def _may_be(one: Json, level: str) -> str:
    """Whether a level may be the highest or lowest; nothing of a trend."""
    if one["found"] is None:
        return people.ABSENT
    return "yes" if level in one["may_be"] else "no"
