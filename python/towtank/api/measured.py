"""Typed results of a measurement: response times, doubts, verdicts, and results of transactions and tiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from towtank.api.quantity import MILLISECONDS, RATIO, SECONDS, Interval, Quantity, estimate, number
from towtank.digging import dig
from towtank.verdict_words import verdict_words

_MILLI = 1e3
_NAMES = {"mean": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99_9"}


@dataclass(frozen=True)
class Times:
    """Distribution of response times, in seconds, or in milliseconds if it is the value of `response_time_ms`.

    Attributes
    ----------
    mean, p50, p90, p95, p99, p99_9 : Quantity or None
        Mean and percentiles, with 95 % intervals if known; None if not measured.
    min, max : Quantity or None
        Shortest and longest response time, without interval; None if not measured.
    """

    mean: Quantity | None = None
    p50: Quantity | None = None
    p90: Quantity | None = None
    p95: Quantity | None = None
    p99: Quantity | None = None
    p99_9: Quantity | None = None
    min: Quantity | None = None
    max: Quantity | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any] | None, about: str = "", suffix: str = "") -> Times:
        """Read response times from a summary; `suffix` ends the keys, such as `_s` in `mean_s`."""
        found = document or {}
        times = {
            name: estimate(found.get(f"{key}{suffix}"), SECONDS, f"{key} of the response time{about}")
            for key, name in _NAMES.items()
        }
        extremes = {
            key: number(found.get(f"{key}{suffix}"), SECONDS, f"{key} of the response time{about}")
            for key in ("min", "max")
        }
        return cls(**times, **extremes)

    def in_ms(self) -> Times:
        """Return the response times in milliseconds. [ms]"""
        return Times(**{name: _in_ms(getattr(self, name)) for name in (*_NAMES.values(), "min", "max")})


def times_of_ms(document: Mapping[str, Any], estimates: Mapping[str, Any], about: str) -> Times:
    """Read response times [ms] of a document, and their confidence intervals from `estimates` [s]; return them in
    seconds.
    """
    found: dict[str, Quantity | None] = {}
    for key, name in {**_NAMES, "min": "min", "max": "max"}.items():
        value, known = document.get(key), estimates.get(key)
        ends = estimate(known, SECONDS) if isinstance(known, Mapping) else None
        interval = None if ends is None else ends.interval
        found[name] = None if value is None else Quantity(value / _MILLI, SECONDS, interval, f"{key} of the {about}")
    return Times(**found)


def _in_ms(value: Quantity | None) -> Quantity | None:
    if value is None:
        return None
    ends = value.interval
    interval = None if ends is None else Interval(_MILLI * ends.low, _MILLI * ends.high)
    return Quantity(_MILLI * value, MILLISECONDS, interval, value.about, value.confidence)


@dataclass(frozen=True)
class Doubt:
    """Doubt about a measurement.

    Attributes
    ----------
    kind : str
        Kind of doubt, as listed in `docs/reference/summary.md`.
    level : str
        `note`, `suspect` or `invalid`.
    message : str
        Measured value, and the limit that it violates.
    why, hint : str
        Consequence of the doubt, and advice to the user.
    """

    kind: str
    level: str
    message: str
    why: str = ""
    hint: str = ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Doubt:
        """Read a doubt from a summary."""
        return cls(*(str(document.get(key) or "") for key in ("kind", "level", "message", "why", "hint")))

    def __str__(self) -> str:
        return f"{self.level}: {self.message}"


class Verdict(str):
    """Verdict on a measurement: the text `valid`, `suspect` or `invalid`, with the reasons.

    A verdict compares and hashes like its level, so `verdict == "valid"` works. `str(verdict)` adds `with relaxed
    limits` if limits were relaxed.

    Parameters
    ----------
    level : str
        `valid`, `suspect` or `invalid`; `none` if there is no measurement.
    doubts : tuple of Doubt
        Reasons for the verdict.
    relaxed_limits : tuple of str
        Names of the relaxed limits.

    Attributes
    ----------
    doubts : tuple of Doubt
        Reasons for the verdict, the most serious first.
    relaxed_limits : tuple of str
        Names of the limits that the study or the caller relaxed. Under the default limits, the verdict might be worse.

    Examples
    --------
    >>> verdict = Verdict("valid", relaxed_limits=("interference",))
    >>> verdict == "valid", verdict.valid, str(verdict)
    (True, True, 'valid with relaxed limits')
    """

    __slots__ = ("doubts", "relaxed_limits")
    doubts: tuple[Doubt, ...]
    relaxed_limits: tuple[str, ...]

    def __new__(cls, level: str, doubts: tuple[Doubt, ...] = (), relaxed_limits: tuple[str, ...] = ()) -> Verdict:
        """Create an immutable verdict."""
        made = super().__new__(cls, level)
        for name, content in (("doubts", doubts), ("relaxed_limits", relaxed_limits)):
            object.__setattr__(made, name, content)
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a verdict cannot be changed, and {name!r} cannot be set")

    def __reduce__(self) -> tuple[type[Verdict], tuple[str, tuple[Doubt, ...], tuple[str, ...]]]:
        return Verdict, (self.level, self.doubts, self.relaxed_limits)

    @classmethod
    def of(cls, document: Mapping[str, Any] | None) -> Verdict:
        """Read the verdict from a summary."""
        found = document or {}
        relaxed = tuple(str(dig(limit, "limit")) for limit in dig(found, "relaxed_limits") or ())
        return cls(str(found.get("level") or "none"), tuple(map(Doubt.of, found.get("reasons") or ())), relaxed)

    @property
    def level(self) -> str:
        """Level of the verdict as a plain `str`: `valid`, `suspect`, `invalid` or `none`."""
        return str.__str__(self)

    @property
    def valid(self) -> bool:
        """True if the measurement is valid or suspect, so that it may be used."""
        return self.level in ("valid", "suspect")

    def __str__(self) -> str:
        return verdict_words(self.level, relaxed=self.relaxed_limits)

    def __repr__(self) -> str:
        return str(self)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


@dataclass(frozen=True)
class Transaction:
    """Results of one kind of transaction in one measurement.

    Attributes
    ----------
    throughput_per_s : Quantity or None
        Rate of completed transactions. [1/s]
    response_time_s : Times
        Response times. [s]
    errors_share : Quantity or None
        Share of failed transactions in all ended transactions, in [0, 1]. [ratio]
    """

    name: str
    throughput_per_s: Quantity | None
    response_time_s: Times
    errors_share: Quantity | None


@dataclass(frozen=True)
class Tier:
    """Results of one tier of the system under test in one measurement.

    Attributes
    ----------
    cpus_used : Quantity or None
        Mean number of CPUs that the tier used. [1]
    utilization : Quantity or None
        Used share of the CPUs that the tier may use, in [0, 1]. [ratio]
    cpu_demand_s : Quantity or None
        CPU time of one transaction. [s]
    """

    name: str
    cpus_used: Quantity | None
    utilization: Quantity | None
    cpu_demand_s: Quantity | None


def tiers(document: Mapping[str, Any] | None) -> dict[str, Tier]:
    """Read the tiers of a load point or of a run, by name."""
    return {
        name: Tier(
            name,
            estimate(tier.get("cpus_used"), "CPUs"),
            number(tier.get("utilization"), RATIO),
            estimate(tier.get("cpu_demand_s"), SECONDS),
        )
        for name, tier in (document or {}).items()
    }
