"""Reads the load (users or arrival rate) of a run from its documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["users", "rate"]
KINDS: tuple[Kind, ...] = ("users", "rate")
"""Kinds of load: closed, with a number of users, and open, with an arrival rate. Documents use them as keys."""


@dataclass(frozen=True)
class Load:
    """Load level: `users` of a closed load, in virtual users [1], or `rate` of an open load, in arrivals per second
    [1/s].
    """

    kind: Kind
    level: float

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Load | None:
        """Read the load from a run manifest, a run summary, or a point or comparison of a study summary.

        Returns
        -------
        Load or None
            Load from the first of these keys that the document contains: `users` (in summaries `users.asked`), `rate`,
            and `load`, which is a number of users; None if the document contains no such key.

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
        """True if the load is open: requests arrive at a given rate and do not wait for earlier responses."""
        return self.kind == "rate"

    def __str__(self) -> str:
        """Render the load as text: `1,500 users`, `0.5 /s`."""
        return f"{self.level:,.10g} {'/s' if self.is_open else 'users'}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
