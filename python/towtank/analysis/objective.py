"""Objective of a study, as the analysis reads it from a manifest."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Compare = Callable[[float, float], bool]
COMPARISONS: dict[str, Compare] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
STORED = "stored."
"""Prefix of metrics about documents that the system confirmed as stored."""
_SHARES = ("errors", "errors_share", "error_rate", "error_share")


@dataclass(frozen=True)
class Objective:
    """Required value of a metric. Manifests of older versions lack some entries, which are then None or empty.

    Attributes
    ----------
    text, metric : str
        Text as written in the study file, and name of the metric: `p95`, `throughput`, `stored.lost`.
    transaction : str or None
        Name of the transaction; None for all transactions.
    comparison : str
        `<`, `<=`, `>` or `>=`.
    limit : float or None
        Limit in the base unit of the metric; None if the manifest has no number.
    users, rate : float or None
        Load at which the objective must be met; None for every load. [1], [1/s]
    phase : str or None
        Phase of the load to which the objective applies.
    every_s : float or None
        Length of the windows in each of which the objective must be met. [s]
    of_limit : float or None
        Load as a share of the load limit. [1]
    """

    text: str
    metric: str
    transaction: str | None = None
    comparison: str = "<"
    limit: float | None = None
    users: float | None = None
    rate: float | None = None
    phase: str | None = None
    every_s: float | None = None
    of_limit: float | None = None

    @classmethod
    def read(cls, document: Mapping[str, object]) -> Objective:
        """Read an objective from the manifest of a study, or from an objective that was judged."""
        numbers = {key: _number(document.get(key)) for key in ("users", "rate", "every_s", "of_limit")}
        return cls(
            text=_text(document.get("text")) or "",
            metric=_text(document.get("metric")) or "",
            transaction=_text(document.get("transaction")),
            comparison=_text(document.get("comparison")) or "<",
            limit=_number(document.get("value")),
            phase=_text(document.get("phase")),
            **numbers,
        )

    @property
    def compare(self) -> Compare:
        """Function that returns True if a value, its first argument, meets the limit, its second argument."""
        return COMPARISONS.get(self.comparison, operator.lt)

    @property
    def is_upward(self) -> bool:
        """True if higher values are better."""
        return self.compare in (operator.gt, operator.ge)

    @property
    def quantity(self) -> str:
        """The metric without path and unit: `p95` for `response_time.p95_s`."""
        return self.metric.removesuffix("_s").removeprefix("response_time.")

    @property
    def is_share(self) -> bool:
        """True if the objective limits the share of failed transactions."""
        return self.quantity in _SHARES

    @property
    def is_about_stored(self) -> bool:
        """True if the objective limits a count of documents that the system confirmed as stored."""
        return self.metric.startswith(STORED)

    @property
    def stored_key(self) -> str:
        """Name of the count that the objective limits, if it is about stored documents."""
        return self.metric.removeprefix(STORED)

    @property
    def is_scoped(self) -> bool:
        """True if the objective applies only to a phase of the load, or to every window of a given length."""
        return self.phase is not None or self.every_s is not None

    @property
    def load(self) -> float | None:
        """Load at which the objective must be met; None for every load. [1] or [1/s]"""
        return self.users if self.users is not None else self.rate

    def is_at(self, users: float | None, rate: float | None) -> bool:
        """Return True if the objective applies to a load level with the given users or arrival rate."""
        if self.users is not None and users != self.users:
            return False
        return self.rate is None or math.isclose(rate or 0.0, self.rate, rel_tol=1e-6)


def _number(value: object) -> float | None:
    """Return a number of JSON as it is, so that whole numbers stay whole; None for any other value."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def is_scoped(document: Mapping[str, object]) -> bool:
    """Return True if an objective in a manifest applies only to a phase of the load, or to every window of a length."""
    return Objective.read(document).is_scoped
