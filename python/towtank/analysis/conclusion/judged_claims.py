"""Reads judged claims, with their statement, measured value and condition in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from towtank.analysis.claims.places import NOT_IN_PRESET
from towtank.analysis.conclusion.value_words import base_words, measured_words
from towtank.claim_words import ANSWERED
from towtank.conclusion_words import level_name
from towtank.digging import dig
from towtank.documents import record_of
from towtank.estimates import few_digits

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Remark in parentheses at the end of a claim, usually the values of the source.
_REMARK = re.compile(r"\s*\([^()]*\)$")


@dataclass(frozen=True)
class JudgedClaim:
    """Claim of a study with its verdict.

    Attributes
    ----------
    number : int
        Number of the claim in the study, counted from 1.
    says, why, do, holds, follows : str
        Statement, reason of the verdict, step that would decide it, condition, and consequence of the verdict.
    verdict : str
        `confirmed`, `refuted`, `undecided` or `not_testable`.
    required : bool
        True if the claim decides the exit status of the study.
    suspect_runs : tuple of str
        Suspect runs on which the verdict depends.
    needs_runs : int or None
        Number of runs of each combination that would probably decide the claim; None if unknown. [1]
    measure, measured : dict or None
        Measure as written in the study, and the estimate of its value.
    compared : tuple of dict
        Estimates of the two quantities that a ratio or difference compares; empty for other claims.
    levels : tuple of dict
        Level and estimate of each level that a claim compares, with the keys `level` and `measured`.
    assumed_run_to_run : float or None
        Assumed relative standard deviation between runs, if a value comes from a single run. [1]
    found : str or None
        Level with the highest or lowest value, for claims about it.
    unit : str
        Unit of the measured value; empty for ratios, shares and numbers.
    """

    number: int
    says: str = ""
    why: str = ""
    do: str = ""
    holds: str = ""
    follows: str = ""
    verdict: str = ""
    required: bool = False
    suspect_runs: tuple[str, ...] = ()
    needs_runs: int | None = None
    measure: Mapping[str, Mapping[str, object]] | None = None
    measured: Mapping[str, Any] | None = None
    found: str | None = None
    unit: str = ""
    compared: tuple[Mapping[str, Any], ...] = ()
    levels: tuple[Mapping[str, Any], ...] = ()
    assumed_run_to_run: float | None = None

    @property
    def is_answered(self) -> bool:
        """True if the runs confirm or refute the claim."""
        return self.verdict in ANSWERED

    @property
    def leans(self) -> bool:
        """True if the answer depends on suspect runs."""
        return self.is_answered and bool(self.suspect_runs)

    @property
    def short(self) -> str:
        """Statement without a remark in parentheses at its end, and without its full stop."""
        return _REMARK.sub("", self.says.strip().rstrip("."))

    @property
    def missing_level(self) -> str:
        """Level that the preset leaves out, as a name of the study file; empty for claims with another reason."""
        level, suffix, _ = self.why.partition(NOT_IN_PRESET)
        factor, _, names = level.partition(" ")
        return level_name(factor, *names.split(" or ")) if suffix and names else ""

    @property
    def reason(self) -> str:
        """Reason of the verdict without its full stop."""
        return f"{self.missing_level}{NOT_IN_PRESET}" if self.missing_level else self.why.rstrip(".")

    @property
    def value_words(self) -> str:
        """Measured value with its interval and base in words, such as `throughput rises to 128 (116 to 141) %` and what
        it is compared with; empty without a value.
        """
        measured = measured_words(self)
        return f"{measured}{base_words(self)}" if measured else ""

    @property
    def expected(self) -> str:
        """Condition of the claim, in the unit of `value_words`: as a percentage if the value is one."""
        if not measured_words(self).endswith("%") or "%" in self.holds:
            return self.holds
        return f"{_NUMBER.sub(lambda found: few_digits(100 * float(found[0]), 4), self.holds)} %"


def read_claims(judged: object) -> list[JudgedClaim]:
    """Read the claims of `claims.json`, in the order of the study."""
    found = [claim if isinstance(claim, Mapping) else {} for claim in dig(judged, "claims") or ()]
    return [record_of(JudgedClaim, {**claim, "number": number}) for number, claim in enumerate(found, 1)]
