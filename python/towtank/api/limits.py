"""Limits of a measurement, as in the section `limits` of a study file."""

from __future__ import annotations

from typing import TypedDict

from towtank.api.calls import text

_SECONDS = ("start_lag_p99",)


class Limits(TypedDict, total=False):
    """Limits of a measurement; a measurement that violates a limit is suspect or invalid.

    A share is a number in [0, 1] or a text such as `"20 %"`. A time is a number of seconds or a text such as `"10 ms"`.

    Attributes
    ----------
    errors : float or str
        Largest share of transactions that may fail; default: 1 %. [ratio]
    start_lag_p99 : float or str
        Largest 99th percentile of the start lag, the delay between intended and actual start of a request; default:
        10 ms, and 1 ms under an open load. [s]
    start_lag_share : float or str
        Largest share of the start lag in the response time; default: 5 %. [ratio]
    interference : float or str
        Largest share of the system's CPUs that other programs may use; default: 10 %. [ratio]
    not_attributed : float or str
        Largest share of a machine's CPU time that is attributed neither to a tier nor to the load generator nor to
        observers; default: 5 %. [ratio]
    storage_free : float or str
        Smallest share of space and inodes that must stay free on each disk of a host; default: 0.1 %. [ratio]
    generator_busy : float or str
        Largest share of time that the threads of the load generator may be busy; default: 85 %. [ratio]
    """

    errors: float | str
    start_lag_p99: float | str
    start_lag_share: float | str
    interference: float | str
    not_attributed: float | str
    storage_free: float | str
    generator_busy: float | str


def limit_texts(limits: Limits | None) -> dict[str, str]:
    """Return each limit as the text that a study file would contain, by name."""
    return {name: _text(name, value) for name, value in (limits or {}).items()}


def _text(name: str, value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return text(float(value), "s") if name in _SECONDS else f"{100 * value:.12g} %"
    return str(value)
