"""Types of a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from towtank.digging import dig


class Cause(StrEnum):
    """Kind of resource or condition that limits throughput; a closed list."""

    CPU = "cpu"
    """CPU time: of a machine, of the CPUs that a tier may use, or of one process or thread that uses one CPU fully."""
    QUOTA = "quota"
    """The CPU limit of a control group."""
    POOL = "pool"
    """A pool of connections, workers or permits that is fully in use."""
    LOCK = "lock"
    """A section that only one request can be in at a time."""
    ERRORS = "errors"
    """Requests fail, so that more load adds failures only."""
    GENERATOR = "generator"
    """The load generator is at its own limit."""
    MACHINE = "machine"
    """Programs that belong neither to the system nor to the generator use its CPUs."""
    NONE = "none"
    """The load is below every limit: throughput is what the users or the arrivals ask for."""
    UNKNOWN = "unknown"
    """The evidence does not decide."""


_LIKELY = 0.5
_CLAUSES = {
    Cause.CPU: "the CPU{place}",
    Cause.QUOTA: "the CPU limit{place}",
    Cause.POOL: "a pool{place}",
    Cause.LOCK: "a lock{place}",
    Cause.ERRORS: "failing requests{place}",
    Cause.GENERATOR: "the load generator",
    Cause.MACHINE: "other programs on the same machine",
}


@dataclass(frozen=True)
class Place:
    """Place of a limit; unknown parts are None.

    Attributes
    ----------
    tier : str or None
        Name of the tier.
    host : str or None
        Name of its host; None for this machine.
    transaction : str or None
        Transaction that the limit slows down most.
    part : str or None
        Part of the tier, as text: a process, a thread, a control group, a metric.
    """

    tier: str | None = None
    host: str | None = None
    transaction: str | None = None
    part: str | None = None

    @property
    def text(self) -> str:
        """Place as text: tier, part, host and transaction, as far as they are known; empty if none is."""
        host = f"host {self.host}" if self.host else None
        transaction = f"transaction {self.transaction}" if self.transaction else None
        return ", ".join(each for each in (self.tier, self.part, host, transaction) if each)


@dataclass(frozen=True)
class Diagnosis:
    """Answer to the question of what limits the system.

    Attributes
    ----------
    cause : Cause
    place : Place
    sure : float
        Degree of belief by fixed rules, in [0, 1]. A resource that was measured at its limit has 0.9, over several load
        levels 0.95. It is below 0.5 if the evidence is weak, or if the run is not valid; `unknown` has 0.
    evidence, against, unknown : tuple of str
        Evidence for the cause, evidence against it, and what was not observed; one sentence each.
    settle : str
        Measurement that would confirm or refute the cause.
    """

    cause: Cause
    place: Place = Place()
    sure: float = 0.0
    evidence: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    settle: str = ""

    @property
    def where(self) -> str:
        """Place of the limit as text; empty if unknown."""
        return self.place.text

    @property
    def clause(self) -> str | None:
        """Cause and place as text, `the CPU of app, process app (4711)`; None if no cause is known."""
        text = _CLAUSES.get(self.cause)
        return None if text is None else text.format(place=f" of {self.where}" if self.where else "")

    @property
    def is_likely(self) -> bool:
        """True if a cause is known with a degree of belief of one half or more."""
        return self.clause is not None and self.sure >= _LIKELY

    @property
    def headline(self) -> str:
        """Answer in one line."""
        if self.clause is not None:
            verb = "limited by" if self.is_likely else "perhaps limited by"
            return f"{verb} {self.clause} ({100 * self.sure:.0f} % sure)"
        if self.cause is not Cause.NONE:
            return "limit not known"
        return f"{'' if self.sure >= _LIKELY else 'perhaps '}no limit reached: the load determines throughput"

    @property
    def lines(self) -> list[str]:
        """Answer, evidence for and against it, what was not observed, and the next step, as lines of text."""
        parts = (
            ("because", self.evidence),
            ("but", self.against),
            ("not observed:", self.unknown),
            ("to settle:", (self.settle,) if self.settle else ()),
        )
        return [self.headline, *(f"  {title} {'; '.join(texts)}" for title, texts in parts if texts)]

    def __str__(self) -> str:
        """Return all lines."""
        return "\n".join(self.lines)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Diagnosis:
        """Read the document of a diagnosis; a cause that this version does not know is `unknown`."""
        cause = dig(document, "cause")
        known = Cause(cause) if cause in list(Cause) else Cause.UNKNOWN
        place = Place(**{field.name: dig(document, "place", field.name) for field in fields(Place)})
        sure = float(dig(document, "sure") or 0.0) if known is not Cause.UNKNOWN else 0.0
        texts = {name: tuple(map(str, dig(document, name) or ())) for name in ("evidence", "against", "unknown")}
        return cls(known, place, sure, **texts, settle=str(dig(document, "settle") or ""))

    def document(self) -> Mapping[str, Any]:
        """Return the diagnosis for JSON; `where` is text, and `place` has its parts."""
        return {
            "cause": str(self.cause),
            "where": self.where,
            "place": asdict(self.place),
            "sure": round(self.sure, 2),
            "evidence": list(self.evidence),
            "against": list(self.against),
            "unknown": list(self.unknown),
            "settle": self.settle,
        }
