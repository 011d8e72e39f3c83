"""Types of `claims.json`. Each attribute is a key of the document, as `docs/reference/claims.md` describes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from towtank.analysis.claims.needs import Needs
from towtank.analysis.statistics.estimates import Estimate
from towtank.claim_words import ANSWERED
from towtank.documents import document_of, record_of

SCHEMA = "towtank/claims/1"
# Remark in parentheses at the end of a claim, usually the values of the source.
_REMARK = re.compile(r"\s*\([^()]*\)$")


@dataclass(frozen=True)
class MeasuredLevel:
    """Level of a factor, and the quantity of a claim at this level."""

    level: str
    measured: Estimate


@dataclass(frozen=True)
class Tested:
    """Outcome of testing a claim: True if it holds, False if it does not, None if the runs leave it undecided.

    The other attributes are those of `ClaimVerdict`. `needs` is None if no number of runs can be derived.
    """

    holds: bool | None
    why: str = ""
    measured: Estimate | None = None
    compared: tuple[Estimate, ...] = ()
    found: str | None = None
    may_be: tuple[str, ...] = ()
    levels: tuple[MeasuredLevel, ...] = ()
    needs: Needs | None = None


@dataclass(frozen=True)
class ClaimVerdict:
    """Claim of a study with its verdict: `confirmed`, `refuted`, `undecided` or `not_testable`.

    `assumed_run_to_run` is a relative standard deviation. [1] `number` counts the claims of the study from 1; it is no
    key of the document, where the order of the claims gives it.
    """

    says: str = ""
    source: str = ""
    differs: str = ""
    required: bool = False
    verdict: str = "undecided"
    why: str = ""
    do: str = ""
    doubts: tuple[str, ...] = ()
    asks: str = ""
    holds: str = ""
    measure: Mapping[str, Mapping[str, object]] | None = None
    unit: str = ""
    measured: Estimate | None = None
    compared: tuple[Estimate, ...] = ()
    found: str | None = None
    may_be: tuple[str, ...] = ()
    levels: tuple[MeasuredLevel, ...] = ()
    assumed_run_to_run: float | None = None
    runs: tuple[str, ...] = ()
    suspect_runs: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    decided_after: int | None = None
    needs_runs: int | None = None
    needs_at_least: int | None = None
    follows: str = ""
    number: int = 0

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

    def document(self) -> dict[str, object]:
        """Return the entry of `claims.json`."""
        return {key: value for key, value in document_of(self).items() if key != "number"}


@dataclass(frozen=True)
class JudgedClaims:
    """Claims of a study with their verdicts, and the number of claims and of required claims by verdict."""

    schema: str = SCHEMA
    study: str | None = None
    preset: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    required: dict[str, int] = field(default_factory=dict)
    claims: tuple[ClaimVerdict, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the content of `claims.json`."""
        return document_of(self)

    @classmethod
    def read(cls, document: Mapping[str, object]) -> JudgedClaims:
        """Read the content of `claims.json`; malformed keys get their defaults."""
        listed = document.get("claims")
        claims = tuple(
            record_of(ClaimVerdict, {**each, "number": number})
            for number, each in enumerate(listed if isinstance(listed, list | tuple) else (), 1)
            if isinstance(each, Mapping)
        )
        return replace(record_of(cls, {**document, "claims": ()}), claims=claims)
