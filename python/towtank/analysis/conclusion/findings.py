"""Selects the statements that answer the question of a study, and lists the parts without an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from towtank.analysis import narrative
from towtank.analysis.claims.judging import OTHER_STUDY
from towtank.analysis.claims.next_steps import CONTAINS
from towtank.analysis.claims.places import INVALID, NOT_IN_PRESET
from towtank.analysis.claims.verdicts import ClaimVerdict
from towtank.analysis.conclusion.finding_words import finding, is_similar, likewise, named_value
from towtank.analysis.conclusion.quantity_words import objective_load, objective_words
from towtank.analysis.conclusion.value_words import expected_words
from towtank.analysis.study_summary import ObjectiveAnswer, StudySummary
from towtank.conclusion_words import FURTHER, SUSPECT_MARK, configuration_name, level_name
from towtank.digging import dig
from towtank.doubt_words import kind_words, meaning_words

STATEMENTS = 3
"""Largest number of statements in an answer. [1]"""
_OPEN = 2
"""Largest number of reasons for which an answer names claims without an answer. [1]"""
# Common reason of several claims that need the same step.
_REASONS = {INVALID: "all runs that they need are invalid"}
_PAIR = 2
"""Largest number of consecutive claims that an answer names one by one. [1]"""
_OPERATIONS = re.compile(
    r"\b(throughput|carr(y|ies)|scales?|sustains?|capacity|get through|(operations|requests) a second)\b"
)
"""Words with which a question asks for throughput."""


@dataclass(frozen=True)
class Statement:
    """Statement of an answer.

    Attributes
    ----------
    text : str
        Sentence without a full stop.
    leans : bool
        True if it depends on suspect runs.
    is_answer : bool
        False if it states that nothing was found.
    """

    text: str
    leans: bool = False
    is_answer: bool = True


@dataclass(frozen=True)
class _Group:
    """A claim of an answer, and claims with the same verdict that differ from it in one level."""

    claims: tuple[ClaimVerdict, ...]

    @property
    def first(self) -> ClaimVerdict:
        """Claim that the answer states."""
        return self.claims[0]

    @property
    def statement(self) -> Statement:
        """Finding with the levels of the other claims, and the numbers of all."""
        text = f"{finding(self.first)}{likewise(self.first, list(self.claims[1:]))}"
        return Statement(f"{text} ({cited(self.claims)})", any(claim.leans for claim in self.claims))


def by_weight(claims: Iterable[ClaimVerdict]) -> list[ClaimVerdict]:
    """Return the confirmed and refuted claims, the most important first.

    Required claims are first, then claims with a consequence, then refuted ones, then those that do not depend on
    suspect runs. Otherwise the order of the study decides.
    """
    return sorted(
        (claim for claim in claims if claim.is_answered),
        key=lambda claim: (not claim.required, not claim.follows, claim.verdict != "refuted", claim.leans),
    )


def statements(summary: Mapping[str, object], claims: Sequence[ClaimVerdict]) -> tuple[list[Statement], str]:
    """Return the most important statements of a study, and a sentence about the others; both without full stops.

    A study without claims has a statement for each configuration. If claims are refuted, at least one of them is a
    statement. Claims that differ in one level share a statement.
    """
    if not claims:
        texts = narrative.answers(dict(summary))
        return [
            Statement(text, narrative.FROM_SUSPECT in text, not text.startswith(narrative.NO_RESULT)) for text in texts
        ], ""
    throughputs = narrative.throughputs(dict(summary)) if _is_about_throughput(summary) else ""
    chosen = [*_missed(summary), *([Statement(throughputs, narrative.FROM_SUSPECT in throughputs)] * bool(throughputs))]
    shown = _shown(_groups(by_weight(claims)), max(1, STATEMENTS - len(chosen)))
    chosen = [*chosen[: STATEMENTS - len(shown)], *(group.statement for group in shown)]
    if not chosen:
        return [Statement(_nothing(summary, claims), is_answer=False)], ""
    stated = {claim.number for group in shown for claim in group.claims}
    return chosen, _further([claim for claim in by_weight(claims) if claim.number not in stated], summary)


def _groups(ordered: Sequence[ClaimVerdict]) -> list[_Group]:
    """Return the claims in their order, each together with the later claims that are similar to it."""
    groups: list[_Group] = []
    left = list(ordered)
    while left:
        first, *others = left
        similar = [claim for claim in others if is_similar(first, claim)]
        groups.append(_Group((first, *similar)))
        left = [claim for claim in others if claim not in similar]
    return groups


def _shown(groups: Sequence[_Group], most: int) -> list[_Group]:
    """Return the first groups; if refuted claims exist and none is among them, one of these takes the last place."""
    shown = list(groups[:most])
    refuted = next((group for group in groups if group.first.verdict == "refuted"), None)
    return shown if refuted is None or refuted in shown else [*shown[: most - 1], refuted]


def cited(claims: Sequence[ClaimVerdict]) -> str:
    """Render the numbers of claims, such as `No. 1 †, 3 and 4`; a mark shows that a claim depends on suspect runs."""
    if not any(claim.leans for claim in claims):
        return f"No. {numbers(claims)}"
    ordered = sorted(claims, key=attrgetter("number"))
    texts = [f"{claim.number}{f' {SUSPECT_MARK}' if claim.leans else ''}" for claim in ordered]
    return f"No. {_listed(texts)}"


def _is_about_throughput(summary: Mapping[str, object]) -> bool:
    """Return True if the question asks for throughput, or if a configuration has several load levels."""
    if _OPERATIONS.search(str(dig(summary, "question") or "").lower()):
        return True
    found = dig(summary, "configurations") or ()
    return any(len(dig(each, "points") or ()) > 1 or dig(each, "found_limit") for each in found)


def _nothing(summary: Mapping[str, object], claims: Sequence[ClaimVerdict]) -> str:
    """Return the statement of a study whose claims all have no answer."""
    counts = [int(dig(summary, "verdict", f"{level}_runs") or 0) for level in ("valid", "suspect", "invalid")]
    why = f": {counts[2]} of {sum(counts)} runs are invalid{main_doubt(summary, 'invalid')}" if counts[2] else ""
    head = "The claim has no answer" if len(claims) == 1 else f"None of the {len(claims)} claims has an answer"
    return f"{head}{why}"


def _missed(summary: Mapping[str, object]) -> list[Statement]:
    """Return a statement about the objectives that are missed; empty if none is."""
    missed = [each for each in StudySummary.model_validate(summary).objectives if each.met is False]
    if not missed:
        return []
    first = missed[0]
    where = f" with {configuration_name(first.configuration, first.label)}" if first.configuration else ""
    holds = "" if first.holds_up_to is None else f", met up to a load of {first.holds_up_to:,.10g}"
    more = f"; {len(missed) - 1} more missed" if len(missed) > 1 else ""
    leans = bool(first.suspect_runs)
    doubt = narrative.FROM_SUSPECT if leans else ""
    return [Statement(f"Objective missed: {objective_words(first.text)}{where}{holds}{doubt}{more}", leans)]


def _further(claims: Sequence[ClaimVerdict], summary: Mapping[str, object]) -> str:
    """Name the decided claims and count the objectives that the statements do not contain; empty if there are none."""
    parts = []
    for verdict in ("confirmed", "refuted"):
        same = [claim for claim in claims if claim.verdict == verdict]
        if same:
            parts.append(f"{cited(same)} {'is' if len(same) == 1 else 'are'} {verdict}")
    where = [f"{' and '.join(parts)} (see the table “Expected and found”)"] if parts else []
    where += _met(StudySummary.model_validate(summary).objectives)
    return f"{FURTHER}{'; '.join(where)}" if where else ""


def _met(objectives: Sequence[ObjectiveAnswer]) -> list[str]:
    """State how many objectives are met, and the load that they name; empty if none is met."""
    met = [objective for objective in objectives if objective.met]
    if not met:
        return []
    number, verb = len(met), "is" if len(met) == 1 else "are"
    every = {1: "the objective", 2: "both objectives"}.get(number, f"all {number} objectives")
    which = every if number == len(objectives) else f"{number} of {len(objectives)} objectives"
    loads = {objective_load(objective) for objective in met}
    only = f", set for {loads.pop()} only," if len(loads) == 1 and "" not in loads else ""
    return [f"{which}{only} {verb} met"]


def main_doubt(summary: Mapping[str, object], level: str, *, has_meaning: bool = False) -> str:
    """Render the doubt that gives most runs a verdict, such as ` (start lag)` or, with its meaning, ` (start lag:
    requests left later than planned)`; empty if none is known.
    """
    found = [
        (len(dig(reason, "runs") or ()), str(dig(reason, "kind")))
        for reason in dig(summary, "verdict", "reasons") or ()
        if dig(reason, "level") == level
    ]
    if not found:
        return ""
    kind = max(found, key=lambda pair: pair[0])[1]
    words = ": ".join(filter(None, (kind_words(kind), meaning_words(kind) if has_meaning else "")))
    return f" ({'mostly ' if len(found) > 1 else ''}{words})"


def unanswered(summary: Mapping[str, object], claims: Sequence[ClaimVerdict]) -> list[str]:
    """Return sentences without full stops about the parts of the question without an answer, each with its reason.

    Undecided claims have a sentence each, and claims that cannot be tested one for each reason. Claims that need
    another system share a sentence with the reason of the first.
    """
    if not claims:
        return narrative.unanswered(dict(summary))
    found = [_undecided(claim) for claim in claims if claim.verdict == "undecided"]
    reasons: dict[str, list[ClaimVerdict]] = {}
    # The statement of an answer without a decided claim names the invalid runs.
    stated = (OTHER_STUDY, *([] if any(claim.is_answered for claim in claims) else [INVALID]))
    for claim in claims:
        if claim.verdict == "not_testable" and claim.do not in stated:
            why = _REASONS.get(claim.do, _reason(claim))
            reasons.setdefault(why, []).append(claim)
    found += [_untested(why, same) for why, same in reasons.items()]
    other = _elsewhere([claim for claim in claims if claim.verdict == "not_testable" and claim.do == OTHER_STUDY])
    left = len(found) - _OPEN
    if left <= 1:
        return [*found, *other]
    rest = sum(map(len, [*([each] for each in claims if each.verdict == "undecided"), *reasons.values()][_OPEN:]))
    return [*found[:_OPEN], f"{rest} further claims have no answer", *other]


def missing_level(claim: ClaimVerdict) -> str:
    """Return the level that the preset leaves out, as a name of the study file; empty if another reason is given."""
    level, suffix, _ = claim.why.partition(NOT_IN_PRESET)
    factor, _, names = level.partition(" ")
    return level_name(factor, *names.split(" or ")) if suffix and names else ""


def _reason(claim: ClaimVerdict) -> str:
    """Return the reason of a verdict without its full stop."""
    level = missing_level(claim)
    return f"{level}{NOT_IN_PRESET}" if level else claim.why.rstrip(".")


def _elsewhere(claims: Sequence[ClaimVerdict]) -> list[str]:
    """State which claims need another system than the measured one, with the reason of the first."""
    if not claims:
        return []
    number, reason = f"No. {numbers(claims)}", _reason(claims[0])
    if len(claims) == 1:
        return [f"{number} needs another system than the measured one: {reason}"]
    return [f"{len(claims)} claims ({number}) need other systems than the measured one; for example, {reason}"]


def _undecided(claim: ClaimVerdict) -> str:
    value = named_value(claim)
    measured = value and f"measured {value}, expected {expected_words(claim)}"
    if claim.why == CONTAINS and measured:
        return f"“{claim.short}”: too close to call, {measured} (No. {claim.number})"
    seen = f" ({measured})" if measured else ""
    return f"“{claim.short}”{seen}: {_reason(claim)} (No. {claim.number})"


def _untested(why: str, claims: Sequence[ClaimVerdict]) -> str:
    """State why claims cannot be tested. A single claim has its own reason, and several are named by their numbers."""
    first = claims[0]
    if len(claims) == 1:
        return f"“{first.short}”: {_reason(first)} (No. {first.number})"
    return f"{len(claims)} claims (No. {numbers(claims)}), such as “{first.short}”: {why}"


def numbers(claims: Sequence[ClaimVerdict]) -> str:
    """Render the numbers of claims, such as `1, 3 to 5 and 8`."""
    runs: list[list[int]] = []
    for number in sorted(claim.number for claim in claims):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [text for run in runs for text in ([f"{run[0]} to {run[-1]}"] if len(run) > _PAIR else map(str, run))]
    return _listed(texts)


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
