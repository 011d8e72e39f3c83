"""Reads judged claims, and renders each as a sentence of the answer: verdict, claim, and the measured value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from towtank.analysis.conclusion.quantity_words import SHARES, comparing_adjective, quantity_words, readable
from towtank.claim_bounds import read_bounds
from towtank.claim_words import ANSWERED, change_words, estimate_text, number_text, percent_words
from towtank.digging import dig
from towtank.estimates import few_digits
from towtank.study import RATIO_MEASURE, read_metric, unit_of_metric

LEANS = ", from suspect runs"
"""End of a sentence whose statement depends on suspect runs."""
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
    found : str or None
        Level with the highest or lowest value, for claims about it.
    unit : str
        Unit of the measured value; empty for ratios, shares and numbers.
    """

    number: int
    says: str
    why: str
    do: str
    holds: str
    follows: str
    verdict: str
    required: bool
    suspect_runs: tuple[str, ...]
    needs_runs: int | None
    measure: Mapping[str, Mapping[str, object]] | None
    measured: Mapping[str, Any] | None
    found: str | None
    unit: str

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
    def value_words(self) -> str:
        """Measured value with its interval in words, such as `throughput rises to 128 (116 to 141) %`; empty without a
        value.
        """
        return _value_words(self)

    @property
    def expected(self) -> str:
        """Condition of the claim, in the unit of `value_words`: as a percentage if the value is one."""
        if not self.value_words.endswith("%") or "%" in self.holds:
            return self.holds
        return f"{_NUMBER.sub(lambda found: few_digits(100 * float(found[0]), 4), self.holds)} %"

    @property
    def sentence(self) -> str:
        """Verdict, claim and measured value, without a full stop."""
        value = self.value_words
        expected = f", expected {self.expected}" if self.verdict == "refuted" and value else ""
        seen = f"; {value}{expected}" if value else ""
        return f"{self.verdict.capitalize()}: {self.short}{seen}{LEANS if self.leans else ''}"


def read_claims(judged: object) -> list[JudgedClaim]:
    """Read the claims of `claims.json`, in the order of the study."""
    return [_read(number, claim) for number, claim in enumerate(dig(judged, "claims") or (), 1)]


def _read(number: int, claim: object) -> JudgedClaim:
    texts = {name: str(dig(claim, name) or "") for name in ("says", "why", "do", "holds", "follows", "verdict", "unit")}
    found = dig(claim, "found")
    return JudgedClaim(
        number=number,
        **texts,
        required=dig(claim, "required") is True,
        suspect_runs=tuple(map(str, dig(claim, "suspect_runs") or ())),
        needs_runs=dig(claim, "needs_runs"),
        measure=dig(claim, "measure"),
        measured=dig(claim, "measured"),
        found=None if found is None else str(found),
    )


def _value_words(claim: JudgedClaim) -> str:
    kind, given = next(iter((claim.measure or {}).items()), ("", {}))
    of = str(dig(given, "of") or "")
    quantity = quantity_words(of)
    if dig(given, "total_over"):
        quantity = f"total {quantity}"
    if claim.found is not None:
        over = f"{readable(str(dig(given, 'over') or ''))} {readable(claim.found)}"
        return f"{over} has the {kind} {quantity}"
    if dig(claim.measured, "value") is None:
        return ""
    assert claim.measured is not None
    if kind == RATIO_MEASURE:
        return f"{quantity} {change_words(claim.measured, _bounds(claim), comparing_adjective(of))}"
    if kind == "trend":
        return (
            f"{quantity} {change_words(claim.measured, (), comparing_adjective(of))} from the first to the last level"
        )
    return _value(claim, quantity, of, dig(given, "per"))


def _value(claim: JudgedClaim, quantity: str, of: str, per: object) -> str:
    """Render a value or difference: `failed transactions: 85 (79 to 91) %`, or `lost objects: 0`."""
    assert claim.measured is not None
    value, low, high = (claim.measured[end] for end in ("value", "low", "high"))
    divisor = quantity_words(str(per))
    with suppress(ValueError):
        path = read_metric(of)
        if per is None and path[-1] in SHARES:
            return f"{quantity}: {percent_words(claim.measured, _bounds(claim))}"
        if per is not None and per != "load" and unit_of_metric(read_metric(str(per))) == unit_of_metric(path):
            return f"{quantity}, relative to {divisor}: {percent_words(claim.measured, _bounds(claim))}"
    if per is not None:
        quantity = f"{quantity} per {'unit of load' if per == 'load' else divisor}"
    if value == low == high:
        return f"{quantity}: {number_text(value, claim.unit)}"
    return f"{quantity}: {estimate_text(claim.measured, claim.unit, _bounds(claim))}"


def _bounds(claim: JudgedClaim) -> tuple[float, ...]:
    """Return the finite bounds of the condition of a claim, in the base unit; empty for other conditions."""
    with suppress(ValueError, KeyError):
        found = read_bounds(claim.holds, claim.unit)
        return tuple(bound for bound in (found.low, found.high) if math.isfinite(bound))
    return ()
