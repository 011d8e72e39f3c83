"""Defines the cause and the diagnosis of what limits a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from towtank.digging import dig


class Cause(StrEnum):
    """Resource or condition that limits throughput."""

    CPU = "cpu"
    """CPUs are fully used: the CPUs of a machine, the CPUs allotted to a tier, or the single CPU that a process or
    thread can use.
    """
    QUOTA = "quota"
    """The CPU limit of a control group is reached."""
    POOL = "pool"
    """All connections, workers or permits of a pool are in use."""
    DISK = "disk"
    """A disk is at its speed limit, in operations or bytes per second."""
    LOCK = "lock"
    """Requests wait for a lock, which protects code that only one request at a time may execute."""
    ERRORS = "errors"
    """Requests fail: at a higher load, only the number of failed requests grows."""
    LINK = "link"
    """The network link of a host is at its rate limit."""
    GENERATOR = "generator"
    """The CPUs or the connections of the load generator are fully used."""
    MACHINE = "machine"
    """Programs that belong neither to the system nor to the generator use the CPUs of the system."""
    NONE = "none"
    """No limit was reached: the load determines throughput."""
    UNKNOWN = "unknown"
    """The evidence does not show what limits throughput."""


_LIKELY = 0.5  # Smallest degree of belief in a likely cause, in (0, 1).
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
    """Tier, host, transaction and component at which a limit was found. An unknown entry is None.

    Attributes
    ----------
    tier : str or None
        Name of the tier.
    host : str or None
        Name of the host that runs the tier or has the disk; None for this machine.
    transaction : str or None
        Transaction that the limit slows down most.
    part : str or None
        Component of the tier that is at its limit, as text: a process, thread, control group, metric or disk.
    """

    tier: str | None = None
    host: str | None = None
    transaction: str | None = None
    part: str | None = None

    @property
    def text(self) -> str:
        """Known entries as text: tier, part, host and transaction; empty if none is known."""
        host = f"host {self.host}" if self.host else None
        transaction = f"transaction {self.transaction}" if self.transaction else None
        return ", ".join(each for each in (self.tier, self.part, host, transaction) if each)


Limit = tuple[Cause, str | None, str | None, str | None]
"""Identity of a limit: cause, tier, host, and disk."""


def limit_at(cause: Cause, place: Place) -> Limit:
    """Return the identity of the limit that a diagnosis describes. Identities are comparable between runs.

    The component (`part`) is included only for a disk, because the text of a process contains its number, which differs
    from run to run.
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
        Tier, host, transaction and component at which the limit was found.
    sure : float
        Degree of belief in the cause, in [0, 1], by fixed rules: 0.9 to 0.95 if a resource was clearly measured at its
        limit, less than 0.5 if the evidence is weak or the run invalid, and 0 if the cause is unknown.
    evidence, against, unknown : tuple of str
        Evidence for the cause, evidence against the cause, and data that were not observed; one sentence each.
    settle : str
        Next measurement, which would confirm or refute the cause.
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
        """Tier, host and component at which the limit was found, as text; empty if unknown."""
        return self.place.text

    @property
    def clause(self) -> str | None:
        """Cause and location as text, such as `the CPU of app, process app (4711)`; None if the cause is unknown or no
        limit was reached.
        """
        text = _CLAUSES.get(self.cause)
        return None if text is None else text.format(place=f" of {self.where}" if self.where else "")

    @property
    def is_likely(self) -> bool:
        """True if a limit was found with a degree of belief of at least one half."""
        return self.clause is not None and self.sure >= _LIKELY

    @property
    def excludes_limit(self) -> bool:
        """True if no limit was reached, with a degree of belief of at least one half. The load then determines
        throughput.
        """
        return self.cause is Cause.NONE and self.sure >= _LIKELY

    @property
    def headline(self) -> str:
        """Diagnosis in one line: cause, location and degree of belief."""
        if self.clause is not None:
            verb = "limited by" if self.is_likely else "perhaps limited by"
            return f"{verb} {self.clause} ({100 * self.sure:.0f} % sure)"
        if self.cause is not Cause.NONE:
            return "limit not known"
        return f"{'' if self.excludes_limit else 'perhaps '}no limit reached: the load determines throughput"

    @property
    def lines(self) -> list[str]:
        """Lines of text: cause, evidence for and against it, data that were not observed, and the next measurement."""
        parts = (
            ("because", self.evidence),
            ("but", self.against),
            ("not observed:", self.unknown),
            ("to settle:", (self.settle,) if self.settle else ()),
        )
        return [self.headline, *(f"  {title} {'; '.join(texts)}" for title, texts in parts if texts)]

    def __str__(self) -> str:
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
        """Return the diagnosis as JSON. `where` describes the location of the limit as text, and `place` as separate
        entries.
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
