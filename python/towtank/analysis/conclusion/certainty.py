"""States how far the runs of a study support its answer: runs that count, claims that need others, and repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from towtank.analysis.conclusion.findings import numbers
from towtank.analysis.conclusion.judged_claims import JudgedClaim
from towtank.claim_words import ANSWERED
from towtank.conclusion_words import NOT_REPEATED
from towtank.digging import dig

_NAMED = 5
"""Largest number of claims that a sentence names by their numbers. [1]"""


def certainty(summary: Mapping[str, object], claims: Sequence[JudgedClaim]) -> list[str]:
    """Return sentences without full stops about the support of an answer."""
    return [*filter(None, (_counts(summary), _leaning(summary, claims), _repetitions(summary)))]


def runs_of(summary: Mapping[str, object]) -> tuple[int, int, int, int]:
    """Return the numbers of valid, suspect, invalid and missing runs."""
    valid, suspect, invalid, missing = (
        int(dig(summary, "verdict", f"{state}_runs") or 0) for state in ("valid", "suspect", "invalid", "missing")
    )
    return valid, suspect, invalid, missing


def _counts(summary: Mapping[str, object]) -> str:
    valid, suspect, invalid, missing = runs_of(summary)
    total = valid + suspect + invalid
    if not total:
        return ""
    states = ((suspect, "suspect"), (invalid, "invalid"))
    doubts = [f"{number} {_be(number, state)}" for number, state in states if number]
    if missing:
        doubts.append(f"{missing} of the planned runs {_be(missing, 'missing')}")
    whole = f"{valid or 'None'} of {total} runs {'count' if valid > 1 else 'counts'} fully" if doubts else _all(total)
    return "; ".join([whole, ", ".join(doubts)]) if doubts else whole


def _all(total: int) -> str:
    return "The only run counts fully" if total == 1 else f"All {total} runs count fully"


def _be(number: int, state: str) -> str:
    return f"{'is' if number == 1 else 'are'} {state}"


def _leaning(summary: Mapping[str, object], claims: Sequence[JudgedClaim]) -> str:
    """State which answers depend on suspect runs; empty if no run is suspect or invalid."""
    _, suspect, invalid, _ = runs_of(summary)
    if not suspect and not invalid:
        return ""
    decided = [claim for claim in claims if claim.is_answered]
    if not claims:
        return _leaning_configurations(summary) if suspect else ""
    if not decided:
        return "No claim has an answer"
    leaning = [claim for claim in decided if claim.leans]
    others = "the others" if suspect + invalid > 1 else "the other"
    word = " or ".join(verdict for verdict in ANSWERED if any(claim.verdict == verdict for claim in decided))
    if not leaning:
        return f"No {word} claim leans on {others}"
    if len(leaning) == len(decided):
        return f"Every {word} claim leans on suspect runs"
    named = f" (No. {numbers(leaning)})" if len(leaning) <= _NAMED else ""
    verb = "leans" if len(leaning) == 1 else "lean"
    free = len(decided) - len(leaning)
    return (
        f"{free} of {len(decided)} answers {'needs' if free == 1 else 'need'} valid runs only; "
        f"{len(leaning)} {verb} on suspect ones{named}"
    )


def _leaning_configurations(summary: Mapping[str, object]) -> str:
    found = dig(summary, "configurations") or ()
    leaning = [
        str(dig(each, "label"))
        for each in found
        if any("suspect" in (dig(point, "verdicts") or ()) for point in dig(each, "points") or ())
    ]
    if not leaning:
        return ""
    which = ", ".join(leaning) if len(leaning) <= 2 else f"{len(leaning)} of {len(found)} configurations"
    return f"Values of {which} lean on suspect runs" if len(found) > 1 else "Values lean on suspect runs"


def repetitions_of(summary: Mapping[str, object]) -> tuple[int, int]:
    """Return the smallest and the largest number of runs per load level; (0, 0) without load levels."""
    sizes = [
        len(dig(point, "runs") or ())
        for configuration in dig(summary, "configurations") or ()
        for point in dig(configuration, "points") or ()
    ]
    return (min(sizes), max(sizes)) if sizes else (0, 0)


def _repetitions(summary: Mapping[str, object]) -> str:
    least, most = repetitions_of(summary)
    if not most:
        return ""
    if most == 1:
        return (
            f"{NOT_REPEATED}: with one run a level, differences between levels are not separated from run-to-run "
            "variation"
        )
    each = f"{most}" if least == most else f"{least} to {most}"
    return f"Each level has {each} runs"
