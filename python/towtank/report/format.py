"""Formats numbers of a report as text, with units, thousands separators and intervals.

Estimates are rounded according to their intervals, as in `towtank.estimates`. Other numbers have three significant
digits. Every function returns `ABSENT` for None, because a value that was not recorded is not zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from towtank.estimates import (
    NOT_KNOWN,
    durations_like,
    error_estimate,
    interval_texts,
    is_zero,
    relative_error,
    says_nothing,
)
from towtank.results import NOT_ATTRIBUTED, THIS_MACHINE

ABSENT = "–"
_DIGITS = 3
_KIB = 1024.0
_TIED = "\N{NO-BREAK SPACE}"

# Units of times: upper limit of the values [s] that use the unit, factor from seconds to the unit, name.
_SECONDS = ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (math.inf, 1.0, "s"))
_BYTES = (
    (_KIB, 1.0, "B"),
    (_KIB**2, _KIB**-1, "KiB"),
    (_KIB**3, _KIB**-2, "MiB"),
    (math.inf, _KIB**-3, "GiB"),
)
_PLAIN = ((math.inf, 1.0, ""),)


class Interval(Protocol):
    """Value with the ends of its interval; None if unknown."""

    @property
    def value(self) -> float | None: ...

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


class Ends(NamedTuple):
    """Value with the ends of its interval; None if unknown."""

    value: float | None
    low: float | None = None
    high: float | None = None


Estimate = Interval | Mapping[str, Any]


def _finite(value: Any) -> float | None:
    """Return a value as a float; None if the value is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def ends_of(estimate: Estimate | None) -> Ends:
    """Return the value of an estimate and the ends of its interval; None for numbers that are unknown or infinite."""
    if estimate is None:
        return Ends(None)
    if isinstance(estimate, Mapping):
        return Ends(*(_finite(estimate.get(name)) for name in Ends._fields))
    return Ends(_finite(estimate.value), _finite(estimate.low), _finite(estimate.high))


def decimals(value: float, digits: int = _DIGITS) -> int:
    """Return the number of decimal places with which a value has `digits` significant digits; at least 0."""
    if value == 0:
        return 0
    # Rounding may add a digit: with three digits, 9.999 becomes 10.0.
    rounded = float(f"{value:.{digits - 1}e}")
    return max(0, digits - 1 - math.floor(math.log10(abs(rounded))))


def number(value: Any, digits: int = _DIGITS) -> str:
    """Format a number with a few significant digits: 1234.5 as `1,230`, 0.01234 as `0.0123`."""
    finite = _finite(value)
    if finite is None:
        return ABSENT
    places = decimals(finite, digits)
    if places == 0 and finite:
        finite = float(f"{finite:.{digits - 1}e}")
    return _signed(f"{finite:,.{places}f}")


def _signed(shown: str) -> str:
    """Replace the hyphen of a formatted number by a minus sign; remove the sign of a number that is rounded to zero."""
    return shown.replace("-", "−") if shown.strip("-0.,") else shown.lstrip("-")


def plain(value: Any) -> str:
    """Format a value that a user set, with all its digits: 30.0 as `30`, 0.25 as `0.25`."""
    finite = _finite(value)
    return ABSENT if finite is None else f"{finite:,.10g}"


def count(value: Any) -> str:
    """Format a count exactly: 12345 as `12,345`."""
    finite = _finite(value)
    return ABSENT if finite is None else f"{round(finite):,}"


def _unit(value: float, units: tuple[tuple[float, float, str], ...]) -> tuple[float, str]:
    return next((factor, unit) for edge, factor, unit in units if abs(value) < edge)


def seconds_unit(largest: float) -> tuple[float, str]:
    """Return the conversion factor from seconds, and the name, of the unit that suits times up to `largest` [s]."""
    return _unit(largest, _SECONDS)


def bytes_unit(largest: float) -> tuple[float, str]:
    """Return the conversion factor from bytes, and the name, of the unit that suits sizes up to `largest` [B]."""
    return _unit(largest, _BYTES)


def _with_unit(value: Any, units: tuple[tuple[float, float, str], ...], suffix: str = "") -> str:
    finite = _finite(value)
    if finite is None:
        return ABSENT
    factor, unit = _unit(finite, units) if finite else (units[-1][1], units[-1][2])
    return f"{number(finite * factor)} {unit}{suffix}"


def seconds(value: Any) -> str:
    """Format a time [s] as µs, ms or s."""
    return _with_unit(value, _SECONDS)


def size(value: Any) -> str:
    """Format a size [B] in binary units."""
    return "0 B" if value == 0 else _with_unit(value, _BYTES)


def size_rate(value: Any) -> str:
    """Format a data rate [B/s] in binary units."""
    return "0 B/s" if value == 0 else _with_unit(value, _BYTES, "/s")


def rate(value: Any) -> str:
    """Format a rate [1/s]."""
    return ABSENT if _finite(value) is None else f"{number(value)} /s"


def share(value: Any) -> str:
    """Format a ratio between 0 and 1 as a percentage."""
    finite = _finite(value)
    return ABSENT if finite is None else f"{number(finite * 100)} %"


def share_range(low: float, high: float) -> str:
    """Format a range of ratios as percentages: `38 to 87 %`."""
    shown = share(low), share(high)
    return shown[0] if shown[0] == shown[1] else f"{shown[0].removesuffix(' %')} to {shown[1]}"


def signed_share(error: float) -> str:
    """Format a relative error as a percentage with its sign: `+4.2 %`."""
    return f"{'+' if error >= 0 else ''}{share(error)}"


def error_of(predicted: float, band: Sequence[float | None] | None, measured: float) -> str:
    """Format the relative error of a prediction, with the interval that follows from its band: `−1 [−11, 10] %`."""
    return _typeset(error_estimate(predicted, band, measured))


def signed_estimate(value: float, interval: Sequence[float | None] | None) -> str:
    """Format a relative error and its interval as percentages: `−1 [−11, 10] %`."""
    return _typeset(relative_error(value, interval))


def _typeset(estimate: str) -> str:
    return estimate.replace("-", "−").replace(", ", f",{_TIED}")


def quantity(value: Any, unit: str) -> str:
    """Format a value with its unit; `s`, `B`, `B/s`, `1/s` and `ratio` are converted to units that suit the value."""
    known = {"s": seconds, "B": size, "bytes": size, "B/s": size_rate, "1/s": rate, "ratio": share}
    if unit in known:
        return known[unit](value)
    shown = number(value)
    return f"{shown} {unit}" if unit and shown != ABSENT else shown


def chosen(value: Any, unit: str) -> str:
    """Format a limit that the user set, like `quantity`, but with all digits of a whole number without unit."""
    finite = _finite(value)
    return plain(finite) if finite is not None and not unit and finite.is_integer() else quantity(value, unit)


def _bracketed(
    estimate: Estimate | None, units: tuple[tuple[float, float, str], ...], suffix: str, *, bare: bool = False
) -> str:
    """Format an estimate with its interval in brackets; with `bare`, the interval only determines the number of
    digits.
    """
    value, low, high = ends_of(estimate)
    if value is None:
        return ABSENT
    factor, unit = _unit(value or max(abs(low or 0.0), abs(high or 0.0)), units)
    words = f"{_TIED}{unit}{suffix}" if unit or suffix else ""
    if low is None or high is None:
        return f"{number(value * factor)}{words}"
    if says_nothing(value * factor, low * factor, high * factor, f"{unit}{suffix}"):
        shown = "0" if is_zero(value, high) else number(value * factor, 2)
        return f"{shown}{words}" if bare else f"{shown} [{NOT_KNOWN.replace(' ', _TIED)}]{words}"
    shown, *ends = (_signed(text) for text in interval_texts(value * factor, low * factor, high * factor))
    # A line break is allowed before the brackets of the interval, but not within the brackets.
    return f"{shown}{words}" if bare else f"{shown} [{f',{_TIED}'.join(ends)}]{words}"


def seconds_of(estimate: Estimate | None) -> str:
    """Format an estimated time without its interval, which only determines the number of digits."""
    return _bracketed(estimate, _SECONDS, "", bare=True)


TICKS_CPUS = 0.02
"""Assumed error of the difference of two CPU uses without interval: two kernel ticks of 10 ms in one second. [CPUs]"""


def plain_of(estimate: Estimate | None, unit: str = "") -> str:
    """Format an estimate without its interval, which only determines the number of digits."""
    return _bracketed(estimate, _PLAIN, unit, bare=True)


def seconds_estimate(estimate: Estimate | None) -> str:
    """Format an estimated time and its interval: `123 [118, 129] ms`."""
    return _bracketed(estimate, _SECONDS, "")


def seconds_like(others: Sequence[float | None], estimate: Estimate) -> str:
    """Format several times in the unit and with the decimal places of an estimated time: `18 to 50 ms`."""
    value, low, high = ends_of(estimate)
    known = [other for other in others if other is not None]
    if value is None or low is None or high is None or len(known) < len(others):
        return " to ".join(seconds(other) for other in others)
    texts, unit = durations_like(known, value, low, high)
    return f"{' to '.join(_signed(text) for text in texts)}{_TIED}{unit}"


def rate_estimate(estimate: Estimate | None) -> str:
    """Format an estimated rate: `123 [118, 129] /s`."""
    return _bracketed(estimate, _PLAIN, "/s")


def plain_estimate(estimate: Estimate | None, unit: str = "") -> str:
    """Format an estimate in a fixed unit: `0.81 [0.79, 0.83] CPUs`."""
    return _bracketed(estimate, _PLAIN, unit)


def not_below_zero(estimate: Estimate | None) -> Ends:
    """Correct a slightly negative estimate of CPU use to zero.

    The CPU time of the host is counted in ticks, but that of process groups exactly, so their difference may be as low
    as minus `TICKS_CPUS`. A value below that, with an interval that excludes zero, stays negative, because it shows
    that the measurement is wrong.
    """
    value, low, high = ends_of(estimate)
    reaches_zero = high is not None and high >= 0
    if value is None or (value < -TICKS_CPUS and not reaches_zero):
        return Ends(value, low, high)
    if value < 0 and not reaches_zero:
        return Ends(0.0)
    return Ends(max(0.0, value), None if low is None else max(0.0, low), high)


def size_rate_estimate(estimate: Estimate | None) -> str:
    """Format an estimated data rate in binary units, such as MiB/s."""
    return "0 B/s" if ends_of(estimate).value == 0 else _bracketed(estimate, _BYTES, "/s")


def moment(wall_ns: Any) -> str:
    """Format a wall-clock time [ns since 1970] in UTC, with a resolution of one second."""
    finite = _finite(wall_ns)
    if not finite:
        return ABSENT
    return datetime.fromtimestamp(finite // 1e9, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def sentence(words: str) -> str:
    """Turn a phrase into a sentence that begins with a capital letter and ends with a full stop."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def listing(items: list[str]) -> str:
    """Join words in the form `a, b and c`."""
    return " and ".join(items) if len(items) < 3 else f"{', '.join(items[:-1])} and {items[-1]}"


def not_attributed(machine: str) -> str:
    """Return the name of a machine's CPU use that belongs to no tier."""
    return NOT_ATTRIBUTED if machine == THIS_MACHINE else f"{NOT_ATTRIBUTED} on {machine}"


def plural(number_of: int, word: str) -> str:
    """Format a count with its noun: `1 run`, `3 runs`."""
    return f"{number_of:,} {word}" if number_of == 1 else f"{number_of:,} {word}s"
