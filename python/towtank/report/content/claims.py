"""Builds the section on the claims that a study tests, such as those of a publication."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import attrgetter

from towtank.analysis import CONFIDENCE, ClaimVerdict
from towtank.claim_words import WORDS, answer
from towtank.report import format as people
from towtank.report.document import Block, Column, Section, Table, headings, paragraph, strong
from towtank.report.source import Results
from towtank.report.suspects import MARK

_SHOW: dict[str, Callable[[people.Estimate | None], str]] = {
    "s": people.seconds_estimate,
    "/s": people.rate_estimate,
    "B/s": people.size_rate_estimate,
}
_SHOWN = 3
"""Number of claims that are always visible in the summary section. [1]"""
# Order in which claims become visible: first decided claims, of these the unexpected ones.
_BY_WEIGHT = {"refuted": 0, "confirmed": 1, "undecided": 2}


def build(results: Results) -> Section | None:
    """Build the section on claims; None if the study has no claims."""
    claims = results.claims.claims
    if not claims:
        return None
    counts = by_verdict(results)
    blocks: list[Block] = [
        *expected_beforehand(results),
        paragraph(
            f"{people.plural(len(claims), 'claim')}{_sources(claims)}: {people.listing(counts)}. The claims concern "
            "directions, ratios and positions, not absolute numbers of other machines. A claim is "
            "confirmed if every value in the interval of the measured value satisfies it, and refuted if no value "
            f"does. The interval is of {_confidences(results)}. A claim is undecided if the interval contains the "
            "bound or does not exist. The interval of a single run is widened by "
            "the effect of an assumed difference in the speed of the system between runs. A claim about "
            "several levels is confirmed if it is confirmed at each level, and refuted if it is refuted at one level. "
            "Otherwise it is judged by an interval that is computed from one value per level. "
            "Invalid runs are not used."
        ),
        *_in_blocks(claims),
        _table(claims),
        *_differences(claims),
    ]
    courses = [claim for claim in claims if claim.levels]
    if courses:
        blocks.append(_levels(courses))
    return Section("claims", "Claims", tuple(blocks))


def _confidences(results: Results) -> str:
    """Render the confidence level of the claims' intervals, such as `95 %` or `96.8 to 98.2 %`."""
    values = [claim.measured for claim in results.claims.claims if claim.measured is not None]
    found = {value.confidence for value in values if value.low is not None} or {CONFIDENCE}
    low, high = (f"{100 * share:.3g}" for share in (min(found), max(found)))
    shown = f"{low} %" if low == high else f"{low} to {high} %"
    return shown if found == {CONFIDENCE} else f"{shown}, because claims are judged after each block of runs"


def _sources(claims: Sequence[ClaimVerdict]) -> str:
    """Render the number of claims that cite a source, such as `, 3 of them with a source`; empty if no claim cites
    one.
    """
    cited = sum(bool(claim.source) for claim in claims)
    if cited == len(claims):
        return " with a source"
    return f", {cited} of them with a source" if cited else ""


def _in_blocks(claims: Sequence[ClaimVerdict]) -> list[Block]:
    """Explain that claims are judged after each block of runs; empty if the study does not repeat its runs in
    blocks.
    """
    if not any(claim.decided_after for claim in claims):
        return []
    return [
        paragraph(
            "The study repeats its runs in blocks. A claim is judged after each block, and the first decision stands: "
            "its value is that of the runs until then (column Blocks). Other tables of this report use the runs of all "
            "blocks, so their values differ slightly."
        )
    ]


def expected_beforehand(results: Results) -> list[Block]:
    """Return a paragraph with the expectation in the study file; empty if the file states none."""
    expected = str(results.study.get("expect") or "").strip()
    return [paragraph(strong("Expected beforehand. "), expected)] if expected else []


def _measured(claim: ClaimVerdict) -> str:
    """Render the measured value of a claim with its interval, or the level with the highest or lowest value."""
    if claim.found is not None:
        others = [level for level in claim.may_be if level != claim.found]
        return f"{claim.found} (or {people.listing(others)})" if others else claim.found
    if claim.levels:
        return f"last to first {people.plain_estimate(claim.measured)}"
    return _shown(claim, claim.measured)


def _shown(claim: ClaimVerdict, estimate: people.Estimate | None) -> str:
    """Render an estimate in the unit of a claim."""
    return _SHOW.get(claim.unit, people.plain_estimate)(estimate)


def _word(claim: ClaimVerdict) -> str:
    """Render the verdict on a claim in one or two words, with a mark if it depends on suspect runs."""
    if not claim.is_answered:
        return "Not\N{NO-BREAK SPACE}answered"
    return WORDS[claim.verdict].capitalize() + (f" {MARK}" if claim.leans else "")


def _stated(*texts: str) -> list[str]:
    return [text or people.ABSENT for text in texts]


def without_answer(results: Results) -> int:
    """Return the number of claims that are neither confirmed nor refuted. [1]"""
    return sum(not claim.is_answered for claim in results.claims.claims)


def in_brief(results: Results) -> Table | None:
    """Build the table of claims for the summary section; None if the study has no claims."""
    claims = results.claims.claims
    if not claims:
        return None
    ordered = sorted(claims, key=lambda claim: _BY_WEIGHT.get(claim.verdict, len(_BY_WEIGHT)))
    shown, folded = (sorted(part, key=attrgetter("number")) for part in (ordered[:_SHOWN], ordered[_SHOWN:]))
    columns = headings("#No.", "Expected", "Must be", "Found", "Answer")
    rows = tuple(
        (str(claim.number), *_stated(claim.says, claim.holds), _measured(claim), _word(claim))
        for claim in (*shown, *folded)
    )
    notes = _reasons(shown)
    if folded:
        notes.append("The section on claims has the reasons for the other answers.")
    return Table("Expected and found", columns, rows, tuple(notes), shown=_SHOWN)


def _reasons(claims: Sequence[ClaimVerdict]) -> list[str]:
    """Return notes with the reasons, doubts and next steps of claims; claims with the same doubts and next step share a
    note.
    """
    groups: dict[str, list[ClaimVerdict]] = {}
    for claim in claims:
        if answer(vars(claim)) != f"{WORDS[claim.verdict].capitalize()}.":
            groups.setdefault(answer({**vars(claim), "why": ""}), []).append(claim)
    return [_note(notes, same) for notes, same in groups.items()]


def _note(notes: str, claims: Sequence[ClaimVerdict]) -> str:
    numbers = people.listing([str(claim.number) for claim in claims])
    whys = list(dict.fromkeys(why for claim in claims if (why := claim.why.rstrip("."))))
    # If a reason is the beginning of another reason, only the longer one is used.
    whys = [why for why in whys if not any(other != why and other.startswith(why) for other in whys)]
    head, rest = notes.split(".", 1)
    because = f", because {'; '.join(whys)}" if whys else ""
    return f"No. {numbers}: {head.lower()}{because}.{rest}"


def by_verdict(results: Results) -> list[str]:
    """Return the number of claims for each verdict, such as `5 confirmed (2 of them †)` with two that depend on suspect
    runs; empty if the study has no claims.
    """
    counts = results.claims.counts
    marked = Counter(claim.verdict for claim in results.claims.claims if claim.leans)
    return [
        f"{counts[verdict]} {words}" + (f" ({marked[verdict]} of them {MARK})" if marked[verdict] else "")
        for verdict, words in WORDS.items()
        if counts.get(verdict)
    ]


def _table(claims: Sequence[ClaimVerdict]) -> Table:
    in_blocks = any(claim.decided_after for claim in claims)
    columns = headings(
        "#No.",
        "Claim",
        "Source",
        "Compared here",
        "Measured here",
        "Must be",
        *((Column("Blocks", numeric=True),) if in_blocks else ()),
        "Answer",
    )
    rows = tuple(
        (
            str(claim.number),
            *_stated(claim.says, claim.source, claim.asks),
            _measured(claim),
            *_stated(claim.holds),
            *((people.count(claim.decided_after),) if in_blocks else ()),
            _answer(claim),
        )
        for claim in claims
    )
    suspects = sorted({run for claim in claims if claim.leans for run in claim.suspect_runs})
    notes = (f"{MARK} Depends on suspect runs: {people.listing(suspects)}.",) if suspects else ()
    return Table("Claims and measured values", columns, rows, notes)


def _differences(claims: Sequence[ClaimVerdict]) -> list[Block]:
    """Return paragraphs with the reasons in the study file why results differ from their sources."""
    groups: dict[str, list[str]] = {}
    for claim in claims:
        if claim.differs:
            groups.setdefault(claim.differs, []).append(str(claim.number))
    return [
        paragraph(strong(f"Difference from the source, No. {people.listing(numbers)}. "), differs)
        for differs, numbers in groups.items()
    ]


def _answer(claim: ClaimVerdict) -> str:
    """Render verdict, reason, doubts and next step of a claim, with a mark if the verdict depends on suspect runs."""
    said = answer(vars(claim))
    return f"{_word(claim)}{said.removeprefix(WORDS[claim.verdict].capitalize())}" if claim.leans else said


def _levels(claims: Sequence[ClaimVerdict]) -> Table:
    rows = tuple(
        (str(claim.number), each.level, _shown(claim, each.measured), _may_be(claim, each.level))
        for claim in claims
        for each in claim.levels
    )
    columns = headings("#Claim", "Level", "#Measured", "May be the highest or lowest")
    return Table("Measured levels for the claims", columns, rows)


def _may_be(claim: ClaimVerdict, level: str) -> str:
    """Render if a level may have the highest or lowest value: `yes` or `no`; a dash for other claims."""
    if claim.found is None:
        return people.ABSENT
    return "yes" if level in claim.may_be else "no"
