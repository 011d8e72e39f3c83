"""Defines the objective of a study, as the analysis reads it from a manifest."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Compare = Callable[[float, float], bool]
COMPARISONS: dict[str, Compare] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
STORED = "stored."
"""Prefix of metrics that count documents which the system confirmed as stored."""
_SHARES = ("errors", "errors_share", "error_rate", "error_share")


@dataclass(frozen=True)
class Objective:
    """Required value of a metric. In manifests of older versions some entries are missing; they become None or empty.

    Attributes
    ----------
    text, metric : str
        Text as written in the study file, and name of the metric, such as `p95`, `throughput` or `stored.lost`.
    transaction : str or None
        Name of the transaction; None for all transactions.
    comparison : str
        `<`, `<=`, `>` or `>=`.
    limit : float or None
        Limit in the base unit of the metric; None if the manifest contains no limit.
    users, rate : float or None
        Load at which the objective must be met; None for every load. [1], [1/s]
    phase : str or None
        Phase of the load to which the objective applies; None if it names no phase.
    every_s : float or None
        The objective must be met in each window of this length; None if it applies to the run as a whole. [s]
    of_limit : float or None
        Load at which the objective must be met, as a share of the load limit that a search found. [1]
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
        """Read an objective from a study manifest, or from an evaluated objective in a summary."""
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
        """Comparison function with two arguments, the value and the limit; returns True if the value meets the
        limit.
        """
        return COMPARISONS.get(self.comparison, operator.lt)

    @property
    def is_upward(self) -> bool:
        """True if higher values are better."""
        return self.compare in (operator.gt, operator.ge)

    @property
    def quantity(self) -> str:
        """Name of the metric without path and unit, such as `p95` for `response_time.p95_s`."""
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
        """For an objective about stored documents: name of the limited count (the metric without `stored.`)."""
        return self.metric.removeprefix(STORED)

    @property
    def is_scoped(self) -> bool:
        """True if the objective applies to one phase of the load only, or to each window of a given length."""
        return self.phase is not None or self.every_s is not None

    @property
    def load(self) -> float | None:
        return self.users if self.users is not None else self.rate

    def is_at(self, users: float | None, rate: float | None) -> bool:
        if self.users is not None and users != self.users:
            return False
        return self.rate is None or math.isclose(rate or 0.0, self.rate, rel_tol=1e-6)


def _number(value: object) -> float | None:
    """Return a JSON number unchanged, so that whole numbers stay integers; None for any other value."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def is_scoped(document: Mapping[str, object]) -> bool:
    """Return True if an objective in a manifest applies to one phase only, or to each window of a given length."""
    return Objective.read(document).is_scoped
