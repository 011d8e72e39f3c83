"""Kind and level of a load, read from any document that contains a load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["users", "rate"]
KINDS: tuple[Kind, ...] = ("users", "rate")
"""Names of the factors that set the load, which are also the keys of its level."""


@dataclass(frozen=True)
class Load:
    """One level of the load.

    Attributes
    ----------
    kind : str
        `users` of a closed load, or `rate` of an open one.
    level : float
        Virtual users [1], or arrivals per second [1/s].
    """

    kind: Kind
    level: float

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Load | None:
        """Read the load of a run manifest, a run summary, or a point or comparison of a study summary.

        Returns
        -------
        Load or None
            By `users` (in summaries `users.asked`), else by `rate`, else the users of a bare `load`; None if the
            document names none.

        Examples
        --------
        >>> Load.read({"rate": 40, "load": 40}), Load.read({"users": {"asked": 60, "mean": 59.8}, "rate": None})
        (Load(kind='rate', level=40.0), Load(kind='users', level=60.0))
        >>> Load.read({"users": None}) is None
        True
        """
        users = document.get("users")
        known: tuple[tuple[Kind, Any], ...] = (
            ("users", users.get("asked") if isinstance(users, Mapping) else users),
            ("rate", document.get("rate")),
            ("users", document.get("load")),
        )
        return next((cls(kind, float(level)) for kind, level in known if _is_number(level)), None)

    @property
    def is_open(self) -> bool:
        """True if arrivals do not wait for answers (open load)."""
        return self.kind == "rate"

    def __str__(self) -> str:
        """Write the load as text: `1,500 users`, `0.5 /s`."""
        return f"{self.level:,.10g} {'/s' if self.is_open else 'users'}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
