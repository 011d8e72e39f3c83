"""Finds the claims and objectives of a study that the existing runs do not decide yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from towtank.analysis.claims import CLAIMS_FILE, JudgedClaims
from towtank.analysis.claims.places import INVALID
from towtank.analysis.claims.verdicts import ClaimVerdict
from towtank.analysis.study import summarize_study
from towtank.digging import dig
from towtank.results import ResultsFolder, read_object

Judged = Mapping[str, object]
_OBJECTIVE = ("text", "label", "configuration", "met", "certain")


@dataclass(frozen=True)
class OpenQuestion:
    """A claim or an objective that the runs of a study do not decide.

    Attributes
    ----------
    text : str
        The claim or objective as the study file states it.
    why : str
        Reason; empty if unknown.
    needs_runs : int or None
        Number of runs per combination of factor levels that would probably suffice for a decision. None if unknown. [1]
    needs_at_least : int or None
        Number of runs per combination of factor levels below which a decision is unlikely; None if unknown. [1]
    """

    text: str
    why: str = ""
    needs_runs: int | None = None
    needs_at_least: int | None = None


def open_questions(results: ResultsFolder) -> list[OpenQuestion]:
    """Summarize the runs of a results folder, and return the claims and objectives that the runs do not decide."""
    summary = summarize_study(results)
    claims = results.path / CLAIMS_FILE
    judged = JudgedClaims.read(read_object(claims)).claims if "claims" in summary and claims.exists() else ()
    return [*_open_claims(judged), *_open_objectives(dig(summary, "objectives") or [])]


def _open_claims(judged: Iterable[ClaimVerdict]) -> Iterator[OpenQuestion]:
    """Yield undecided claims, and claims that cannot be tested because all suitable runs are invalid."""
    for claim in judged:
        if claim.verdict == "undecided" or (claim.verdict == "not_testable" and claim.do == INVALID):
            yield OpenQuestion(claim.says, claim.why, claim.needs_runs, claim.needs_at_least)


def _open_objectives(judged: list[Judged]) -> Iterator[OpenQuestion]:
    """Yield objectives without a verdict, and objectives whose limit lies in the interval of the measured value."""
    for objective in judged:
        text, label, key, met, certain = (dig(objective, name) for name in _OBJECTIVE)
        where = f" ({label})" if key else ""
        if met is None:
            yield OpenQuestion(f"{text}{where}", "at some loads, no valid run gives a verdict")
        elif certain is False:
            yield OpenQuestion(f"{text}{where}", "the confidence interval of a measured value contains the limit")
