"""Claims of a reference, each with the measured value and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from towtank.claim_words import ANSWERED, WORDS, answer
from towtank.report import format as people
from towtank.report.document import Block, Column, Section, Table, paragraph, strong
from towtank.report.source import Json, Results
from towtank.report.suspects import MARK

_SHOW: dict[str, Callable[[people.Estimate | None], str]] = {
    "s": people.seconds_estimate,
    "/s": people.rate_estimate,
    "B/s": people.size_rate_estimate,
}
_SHOWN = 3
"""Number of claims that the summary section shows; claims that are not confirmed come first, others are folded. [1]"""


def build(results: Results) -> Section | None:
    """Build the section; None if the study has no claims."""
    claims = _claims(results)
    if not claims:
        return None
    counts = by_verdict(results)
    blocks: list[Block] = [
        *expected_beforehand(results),
        paragraph(
            f"{people.plural(len(claims), 'claim')} of the reference: {people.listing(counts)}. Claims are tested in "
            "kind (directions, ratios, places), never by the figures of other machines. A claim is confirmed if it "
            "holds over its whole interval (95 %), refuted if it holds nowhere in it, and undecided if the interval "
            "crosses its bound or does not exist. A single run has the interval within it, widened by what an "
            "assumed difference of the system's speed from run to run does to the value. A claim about several levels "
            "is confirmed if it certainly holds at each, refuted if it certainly fails at one; otherwise each level "
            "counts as one value. Invalid runs do not count."
        ),
        _table(claims),
    ]
    courses = [(number, claim) for number, claim in enumerate(claims, 1) if claim["levels"]]
    if courses:
        blocks.append(_levels(courses))
    return Section("claims", "Claims", tuple(blocks))


def expected_beforehand(results: Results) -> list[Block]:
    """Return the expectation of the study file; empty without one."""
    expected = str(results.study.get("expect") or "").strip()
    return [paragraph(strong("Expected beforehand. "), expected)] if expected else []


def _claims(results: Results) -> list[Json]:
    return [claim for claim in results.claims.get("claims") or () if isinstance(claim, dict)]


def in_brief(results: Results) -> Table | None:
    """Build the table of expected and measured values for the summary section; None if the study has no
    claims.
    """
    claims = list(enumerate(_claims(results), 1))
    if not claims:
        return None
    open_first = sorted(claims, key=lambda numbered: numbered[1]["verdict"] == "confirmed")
    shown, folded = sorted(open_first[:_SHOWN], key=itemgetter(0)), sorted(open_first[_SHOWN:], key=itemgetter(0))
    columns = (Column("No.", numeric=True), Column("Expected"), Column("Must be"), Column("Found"), Column("Answer"))
    rows = tuple(
        (str(number), str(claim["says"]), str(claim["holds"]) or people.ABSENT, measured(claim), _word(claim))
        for number, claim in (*shown, *folded)
    )
    notes = _reasons(shown)
    if folded:
        notes.append("The section on claims has the reasons of the others.")
    return Table("Expected and found", columns, rows, tuple(notes), shown=_SHOWN)


def _word(claim: Json) -> str:
    """Render the answer of a claim as a word; with a mark if the answer depends on suspect runs."""
    if claim["verdict"] not in ANSWERED:
        return "Not\N{NO-BREAK SPACE}answered"
    return WORDS[claim["verdict"]].capitalize() + (f" {MARK}" if claim["suspect_runs"] else "")


def _reasons(claims: list[tuple[int, Json]]) -> list[str]:
    """Return reasons, doubts and next steps of claims; claims with the same next step and doubts share a note."""
    groups: dict[tuple[str, str], list[tuple[int, Json]]] = {}
    for number, claim in claims:
        if answer(claim) != f"{WORDS[claim['verdict']].capitalize()}.":
            head, notes = answer({**claim, "why": ""}).split(".", 1)
            groups.setdefault((head.lower(), notes), []).append((number, claim))
    return [_note(head, notes, same) for (head, notes), same in groups.items()]


def _note(head: str, notes: str, claims: list[tuple[int, Json]]) -> str:
    numbers = people.listing([str(number) for number, _ in claims])
    whys = list(dict.fromkeys(str(claim["why"]).rstrip(".") for _, claim in claims if claim["why"]))
    # A reason that another one begins with is said by the other one.
    whys = [why for why in whys if not any(other != why and other.startswith(why) for other in whys)]
    because = f", because {'; '.join(whys)}" if whys else ""
    return f"No. {numbers}: {head}{because}.{notes}"


def by_verdict(results: Results) -> list[str]:
    """Return the number of claims for each verdict, such as `5 confirmed`; empty without claims."""
    counts = results.claims.get("counts") or {}
    return [f"{counts[verdict]} {words}" for verdict, words in WORDS.items() if counts.get(verdict)]


def _table(claims: list[Json]) -> Table:
    columns = (
        Column("No.", numeric=True),
        Column("Claim"),
        Column("Source"),
        Column("Compared here"),
        Column("Measured here"),
        Column("Must be"),
        Column("Answer"),
    )
    rows = tuple(
        (
            str(number),
            str(claim["says"]),
            str(claim["source"]) or people.ABSENT,
            str(claim["asks"]) or people.ABSENT,
            measured(claim),
            str(claim["holds"]) or people.ABSENT,
            _answer(claim),
        )
        for number, claim in enumerate(claims, 1)
    )
    return Table("Claims of the reference and what was measured here", columns, rows, tuple(_notes(claims)))


def measured(claim: Json) -> str:
    """Render the measured value of a claim with its interval."""
    if claim["found"] is not None:
        others = [level for level in claim["may_be"] if level != claim["found"]]
        return f"{claim['found']} (or {people.listing(others)})" if others else str(claim["found"])
    if claim["levels"]:
        return f"last to first {people.plain_estimate(claim['measured'])}"
    return _SHOW.get(str(claim["unit"]), people.plain_estimate)(claim["measured"])


def _answer(claim: Json) -> str:
    """Render verdict, reason, doubts and next step of a claim; a verdict that depends on suspect runs has a
    mark.
    """
    text = answer(claim)
    if not claim["suspect_runs"] or claim["verdict"] not in ANSWERED:
        return text
    word = WORDS[claim["verdict"]].capitalize()
    return f"{word} {MARK}{text.removeprefix(word)}"


def _notes(claims: list[Json]) -> list[str]:
    suspects = sorted({run for claim in claims for run in claim["suspect_runs"]})
    return [f"{MARK} Leans on suspect runs: {people.listing(suspects)}."] if suspects else []


def _levels(courses: list[tuple[int, Json]]) -> Table:
    rows = tuple(
        (
            str(number),
            str(level["level"]),
            _SHOW.get(str(claim["unit"]), people.plain_estimate)(level["measured"]),
            _may_be(claim, str(level["level"])),
        )
        for number, claim in courses
        for level in claim["levels"]
    )
    columns = (
        Column("Claim", numeric=True),
        Column("Level"),
        Column("Measured", numeric=True),
        Column("May be the highest or lowest"),
    )
    return Table("Levels behind the claims", columns, rows)


def _may_be(claim: Json, level: str) -> str:
    """Render `yes` if a level may be the highest or lowest, else `no`; a dash if the claim concerns a trend."""
    if claim["found"] is None:
        return people.ABSENT
    return "yes" if level in claim["may_be"] else "no"
