"""Finds limits that are less strict than their defaults. The study file or the user of `towtank drive` may relax a
limit, so that runs count that would otherwise be suspect or invalid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towtank.analysis.checks.course import ERRORS_SHARE
from towtank.analysis.checks.generator import GENERATOR_BUSY, START_LAG_CLOSED_S, START_LAG_SHARE
from towtank.analysis.checks.machine import FOREIGN_SHARE, NOT_ATTRIBUTED_SHARE
from towtank.analysis.checks.storage import SPENT_SHARE
from towtank.analysis.doubts import percent_text, seconds

Relaxed = dict[str, str | float]

DEFAULTS = {
    "errors": ERRORS_SHARE,
    "start_lag_p99": START_LAG_CLOSED_S,
    "start_lag_share": START_LAG_SHARE,
    "interference": FOREIGN_SHARE,
    "not_attributed": NOT_ATTRIBUTED_SHARE,
    "storage_free": SPENT_SHARE,
    "generator_busy": GENERATOR_BUSY,
}
"""Default value of each limit of a study; times in seconds, shares in [0, 1]."""
_KEYS = ("limit", "value", "default")
# Names of lower limits. All other limits are upper limits.
_LEAST = frozenset({"storage_free"})
_TIMES = frozenset({"start_lag_p99"})


def relaxed_limits(limits: Mapping[str, object]) -> list[Relaxed]:
    """Return the limits that are less strict than their defaults, as JSON for a summary.

    Examples
    --------
    >>> relaxed_limits({"interference": 1.0, "errors": 0.001, "storage_free": 0.001})
    [{'limit': 'interference', 'value': 1.0, 'default': 0.1}]
    """
    found: list[Relaxed] = []
    for name, default in DEFAULTS.items():
        value = limits.get(name)
        if isinstance(value, int | float) and (value < default if name in _LEAST else value > default):
            found.append(dict(zip(_KEYS, (name, float(value), default), strict=True)))
    return found


def relaxed_words(relaxed: Iterable[Mapping[str, str | float]]) -> str:
    """Render relaxed limits as a sentence without a full stop; empty if no limit is relaxed.

    Examples
    --------
    >>> relaxed_words([{"limit": "interference", "value": 1.0, "default": 0.1}])
    'relaxed limits: interference up to 100 % allowed (default 10 %)'
    """
    parts = [
        f"{str(name).replace('_', ' ')} {'down' if name in _LEAST else 'up'} to {_amount(str(name), value)} allowed "
        f"(default {_amount(str(name), default)})"
        for name, value, default in (map(each.get, _KEYS) for each in relaxed)
        if value is not None and default is not None
    ]
    return f"relaxed limits: {', '.join(parts)}" if parts else ""


def _amount(name: str, amount: str | float) -> str:
    return seconds(float(amount)) if name in _TIMES else percent_text(float(amount))
