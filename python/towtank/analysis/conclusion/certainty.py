"""States the certainty of an answer, with its reasons: runs that count, claims on suspect runs, repetitions, limits.

The rule is in `docs/reference/report.md`, in the section about certainty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from towtank.analysis.claims.verdicts import ClaimVerdict
from towtank.analysis.conclusion.findings import Statement, by_weight, main_doubt
from towtank.analysis.relaxed_limits import relaxed_words
from towtank.conclusion_words import NOT_REPEATED, SUSPECT_MARK, Certainty, configuration_name
from towtank.digging import dig

_HALF = 0.5
"""Share of claims on suspect runs, or of suspect or invalid runs, above which an answer is not sure. [1]"""
_LARGELY_VALID = 0.75
"""Share of valid runs from which the number of claims on suspect runs does not decide: claims that share a level share
its runs, so that a single suspect run may concern most of them. [1]
"""
_INTERVAL = re.compile(r"\([\d.,−]+ to [\d.,−]+\)")


@dataclass(frozen=True)
class Support:
    """Support of an answer by the runs of a study.

    Attributes
    ----------
    valid, suspect, invalid, missing : int
        Numbers of runs. [1]
    least, most : int
        Smallest and largest number of valid and suspect runs per load level; 0 without load levels. [1]
    answered, leaning : tuple of ClaimVerdict
        Decided claims, and those of them that depend on suspect runs.
    first_leans : bool
        True if the most important claim depends on suspect runs.
    some_lean : bool
        True if any statement of the answer, or any decided claim, depends on suspect runs.
    has_answer, has_claims, is_relaxed, has_intervals : bool
        True if anything was found; if the study has claims; if it relaxed limits; if a statement has an interval.
    """

    valid: int
    suspect: int
    invalid: int
    missing: int
    least: int
    most: int
    answered: tuple[ClaimVerdict, ...]
    leaning: tuple[ClaimVerdict, ...]
    first_leans: bool
    some_lean: bool
    has_answer: bool
    has_claims: bool
    is_relaxed: bool
    has_intervals: bool

    @property
    def total(self) -> int:
        """Number of runs with a verdict. [1]"""
        return self.valid + self.suspect + self.invalid

    @property
    def certainty(self) -> Certainty:
        """Certainty by the rule of `docs/reference/report.md`; the first row that applies decides."""
        if not self.valid + self.suspect or not self.has_answer:
            return Certainty.NO_ANSWER
        usable = self.valid + self.suspect
        most_lean = len(self.leaning) > _HALF * len(self.answered) and self.valid < _LARGELY_VALID * usable
        leans = self.first_leans or most_lean
        if not self.has_claims:
            leans = self.suspect > _HALF * usable
        is_undecided = self.has_claims and not self.answered
        never_repeated = self.most <= 1 and not self.has_claims
        if leans or is_undecided or never_repeated or self.invalid > _HALF * self.total:
            return Certainty.NOT_SURE
        is_incomplete = bool(self.invalid or self.missing)
        if self.some_lean or self.least <= 1 or is_incomplete or self.is_relaxed or _assumed(self.answered):
            return Certainty.FAIRLY_SURE
        return Certainty.SURE


def support_of(
    summary: Mapping[str, object],
    claims: Sequence[ClaimVerdict],
    statements: Sequence[Statement],
    *,
    has_claims: bool,
) -> Support:
    """Return the support of an answer by the runs of a study; `has_claims` is also True if no claim could be judged."""
    answered = tuple(claim for claim in claims if claim.is_answered)
    leaning = tuple(claim for claim in answered if claim.leans)
    least, most = repetitions_of(summary)
    return Support(
        *runs_of(summary),
        least=least,
        most=most,
        answered=answered,
        leaning=leaning,
        first_leans=any(claim.leans for claim in by_weight(claims)[:1]),
        some_lean=bool(leaning) or any(statement.leans for statement in statements),
        has_answer=any(statement.is_answer for statement in statements),
        has_claims=has_claims,
        is_relaxed=bool(dig(summary, "verdict", "relaxed_limits")),
        has_intervals=any(_INTERVAL.search(statement.text) for statement in statements),
    )


def reasons(summary: Mapping[str, object], support: Support) -> list[str]:
    """Return sentences without full stops: the reasons of the certainty of an answer."""
    if support.certainty is Certainty.NO_ANSWER:
        counted = _counts(summary, support)
        why = ", but they give no answer" if support.valid else ": do not use the numbers"
        return [f"{counted}{why}"] if counted else []
    relaxed = relaxed_words(dig(summary, "verdict", "relaxed_limits") or ())
    parts = (_counts(summary, support), _leaning(summary, support), _repetitions(support), relaxed)
    return [f"{part[:1].upper()}{part[1:]}" for part in parts if part]


def runs_of(summary: Mapping[str, object]) -> tuple[int, int, int, int]:
    """Return the numbers of valid, suspect, invalid and missing runs."""
    valid, suspect, invalid, missing = (
        int(dig(summary, "verdict", f"{state}_runs") or 0) for state in ("valid", "suspect", "invalid", "missing")
    )
    return valid, suspect, invalid, missing


def _counts(summary: Mapping[str, object], support: Support) -> str:
    if not support.total:
        return ""
    missing = support.missing
    lacking = f"{missing} of the planned runs {'is' if missing == 1 else 'are'} missing" if missing else ""
    if support.valid == support.total:
        every = "The only run is valid" if support.total == 1 else f"All {support.total} runs are valid"
        return ", ".join(filter(None, (every, lacking)))
    doubts: list[str] = []
    for number, state in ((support.suspect, "suspect"), (support.invalid, "invalid")):
        doubt = main_doubt(summary, state, has_meaning=True)
        # A meaning is given once.
        if any(doubt.partition(":")[2] in known for known in doubts):
            doubt = main_doubt(summary, state)
        doubts += [f"{number} {state}{doubt}"] if number else []
    valid = f"{support.valid} of {support.total} runs {'is' if support.valid == 1 else 'are'} valid"
    return ", ".join([valid, *doubts, *filter(None, [lacking])])


def _leaning(summary: Mapping[str, object], support: Support) -> str:
    """State which answers depend on suspect runs, and the consequence; empty if no run is suspect or invalid."""
    if not support.suspect and not support.invalid:
        return ""
    if not support.has_claims:
        return _leaning_configurations(summary) if support.suspect else ""
    leaning, answered = support.leaning, support.answered
    if not leaning:
        if support.some_lean:
            return "Claims rest on valid runs only, but another statement includes a suspect run"
        return "The answer rests on valid runs only"
    rest = "rests" if len(leaning) == 1 else "rest"
    provisional = "its number is provisional" if len(leaning) == 1 else "their numbers are provisional"
    which = f"{len(leaning)} of {len(answered)} claims (marked {SUSPECT_MARK})"
    if len(leaning) == len(answered):
        which = "The claim with an answer" if len(answered) == 1 else "All claims with an answer"
    return f"{which} {rest} on {_which(summary, leaning)}: {provisional}"


def _which(summary: Mapping[str, object], leaning: Sequence[ClaimVerdict]) -> str:
    """Render `suspect runs` of claims, with their configuration if they belong to a single one."""
    names = {name for claim in leaning for name in claim.suspect_runs}
    found = [
        _name(configuration)
        for configuration in dig(summary, "configurations") or ()
        if names & {str(run) for point in dig(configuration, "points") or () for run in dig(point, "runs") or ()}
    ]
    runs = "suspect runs" if len(names) > 1 else "a suspect run"
    return f"{runs} of {found[0]}" if len(found) == 1 else runs


def _leaning_configurations(summary: Mapping[str, object]) -> str:
    found = dig(summary, "configurations") or ()
    leaning = [
        _name(each)
        for each in found
        if any("suspect" in (dig(point, "verdicts") or ()) for point in dig(each, "points") or ())
    ]
    if not leaning:
        return ""
    which = ", ".join(leaning) if len(leaning) <= 2 else f"{len(leaning)} of {len(found)} configurations"
    return f"Values of {which} rest on suspect runs" if len(found) > 1 else "Values rest on suspect runs"


def _name(configuration: object) -> str:
    return configuration_name(dig(configuration, "key"), dig(configuration, "label"))


def repetitions_of(summary: Mapping[str, object]) -> tuple[int, int]:
    """Return the smallest and the largest number of runs per load level that are not invalid; (0, 0) without levels."""
    sizes = [
        sum(verdict != "invalid" for verdict in dig(point, "verdicts") or dig(point, "runs") or ())
        for configuration in dig(summary, "configurations") or ()
        for point in dig(configuration, "points") or ()
    ]
    return (min(sizes), max(sizes)) if sizes else (0, 0)


def _assumed(claims: Sequence[ClaimVerdict]) -> list[float]:
    """Return the relative standard deviations between runs that claims assume, in ascending order. [1]"""
    return sorted({claim.assumed_run_to_run for claim in claims if claim.assumed_run_to_run})


def _repetitions(support: Support) -> str:
    if not support.most:
        return ""
    assumed = " and ".join(f"{100 * share:.3g} %" for share in _assumed(support.answered))
    if support.most == 1:
        if assumed:
            return f"{NOT_REPEATED}: the intervals assume that runs differ by {assumed} (standard deviation)"
        return f"{NOT_REPEATED}, so that differences between levels may be differences between runs"
    each = f"{support.most}" if support.least == support.most else f"{support.least} to {support.most}"
    single = f", for single runs with an assumed standard deviation of {assumed} between runs" if assumed else ""
    brackets = f"; brackets are 95 % intervals{single}" if support.has_intervals else ""
    return f"Each level has {each} runs{brackets}"
