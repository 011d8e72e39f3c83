"""Defines the types of which a diagnosis consists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from towtank.digging import dig


class Cause(StrEnum):
    """Resource or condition that limits throughput."""

    CPU = "cpu"
    """CPU time: of a machine, of the CPUs allotted to a tier, or of a single process or thread that uses one CPU
    fully.
    """
    QUOTA = "quota"
    """The CPU limit of a control group."""
    POOL = "pool"
    """A pool of connections, workers or permits that is fully in use."""
    DISK = "disk"
    """The speed limit of a disk, in operations or bytes per second."""
    LOCK = "lock"
    """A section of code that only one request at a time can execute, because it is protected by a lock."""
    ERRORS = "errors"
    """Failures: at a higher load, only the number of failed requests grows."""
    LINK = "link"
    """The rate limit of the network link of a host."""
    GENERATOR = "generator"
    """The load generator: its CPUs or its connections are fully used."""
    MACHINE = "machine"
    """Programs that belong neither to the system nor to the generator, and use the CPUs of the system."""
    NONE = "none"
    """No limit was reached: the throughput is what the users or the arrival rate request."""
    UNKNOWN = "unknown"
    """Unknown cause: the evidence does not decide what limits throughput."""


_LIKELY = 0.5
_CLAUSES = {
    Cause.CPU: "the CPU{place}",
    Cause.QUOTA: "the CPU limit{place}",
    Cause.POOL: "a pool{place}",
    Cause.DISK: "the speed{place}",
    Cause.LOCK: "a lock{place}",
    Cause.ERRORS: "failing requests{place}",
    Cause.LINK: "the rate{place}",
    Cause.GENERATOR: "the load generator",
    Cause.MACHINE: "other programs on the same machine",
}


@dataclass(frozen=True)
class Place:
    """Tier, host, transaction and part of the tier at which a limit was found; unknown entries are None.

    Attributes
    ----------
    tier : str or None
        Name of the tier.
    host : str or None
        Name of the host that runs the tier or has the disk; None for this machine.
    transaction : str or None
        Transaction that the limit slows down most.
    part : str or None
        Part of the tier that is at its limit, as text: a process, a thread, a control group, a metric,
        a disk.
    """

    tier: str | None = None
    host: str | None = None
    transaction: str | None = None
    part: str | None = None

    @property
    def text(self) -> str:
        """The known entries of the place as text: tier, part, host and transaction; empty if nothing is known."""
        host = f"host {self.host}" if self.host else None
        transaction = f"transaction {self.transaction}" if self.transaction else None
        return ", ".join(each for each in (self.tier, self.part, host, transaction) if each)


Limit = tuple[Cause, str | None, str | None, str | None]
"""Type of a limit: cause, tier, host, and disk."""


def limit_at(cause: Cause, place: Place) -> Limit:
    """Return the limit that a cause at a place stands for. Equal limits are the same limit, in any run.

    Other parts are left out, because the number of a process differs from run to run.
    """
    return cause, place.tier, place.host, place.part if cause is Cause.DISK else None


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of what limits the throughput of a system.

    Attributes
    ----------
    cause : Cause
        Resource or condition that limits throughput.
    place : Place
        Tier, host, transaction and part at which the limit was found.
    sure : float
        Degree of belief in the cause by fixed rules, in [0, 1]. A resource that was clearly measured at its limit has
        0.9 to 0.95. Weak evidence, or an invalid run, gives less than 0.5; the cause `unknown` has 0.
    evidence, against, unknown : tuple of str
        Evidence for the cause, evidence against it, and what was not observed; one sentence each.
    settle : str
        Further measurement that would confirm or refute the cause.
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
        """Tier, host or part at which the limit was found, as text; empty if unknown."""
        return self.place.text

    @property
    def clause(self) -> str | None:
        """The cause and where it was found, as text, such as `the CPU of app, process app (4711)`; None if the cause is
        unknown.
        """
        text = _CLAUSES.get(self.cause)
        return None if text is None else text.format(place=f" of {self.where}" if self.where else "")

    @property
    def is_likely(self) -> bool:
        """True if a cause is known and the degree of belief is at least one half."""
        return self.clause is not None and self.sure >= _LIKELY

    @property
    def excludes_limit(self) -> bool:
        """True if the load, and no resource at its limit, determines throughput with a degree of belief of at least one
        half.
        """
        return self.cause is Cause.NONE and self.sure >= _LIKELY

    @property
    def headline(self) -> str:
        """The diagnosis in one line: the cause, where it was found, and the degree of belief."""
        if self.clause is not None:
            verb = "limited by" if self.is_likely else "perhaps limited by"
            return f"{verb} {self.clause} ({100 * self.sure:.0f} % sure)"
        if self.cause is not Cause.NONE:
            return "limit not known"
        return f"{'' if self.excludes_limit else 'perhaps '}no limit reached: the load determines throughput"

    @property
    def lines(self) -> list[str]:
        """The diagnosis as lines of text: cause, evidence for and against it, what was not observed, and the
        next step.
        """
        parts = (
            ("because", self.evidence),
            ("but", self.against),
            ("not observed:", self.unknown),
            ("to settle:", (self.settle,) if self.settle else ()),
        )
        return [self.headline, *(f"  {title} {'; '.join(texts)}" for title, texts in parts if texts)]

    def __str__(self) -> str:
        """Return all lines of the diagnosis, joined by line breaks."""
        return "\n".join(self.lines)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Diagnosis:
        """Read a diagnosis from JSON. A cause that this version of Towtank does not know is read as `unknown`."""
        cause = dig(document, "cause")
        known = Cause(cause) if cause in list(Cause) else Cause.UNKNOWN
        place = Place(**{field.name: dig(document, "place", field.name) for field in fields(Place)})
        sure = float(dig(document, "sure") or 0.0) if known is not Cause.UNKNOWN else 0.0
        texts = {name: tuple(map(str, dig(document, name) or ())) for name in ("evidence", "against", "unknown")}
        return cls(known, place, sure, **texts, settle=str(dig(document, "settle") or ""))

    def document(self) -> Mapping[str, Any]:
        """Return the diagnosis as JSON. `where` is the place of the limit as text; `place` has the separate entries:
        tier, host and others.
        """
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
