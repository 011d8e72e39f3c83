"""Finds a limit that no observed resource explains, from the dependence of throughput on the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from towtank.analysis.diagnosis.run_values import objects_at
from towtank.analysis.system.rates import lookup
from towtank.digging import dig
from towtank.estimates import few_digits, in_words

_FLAT = 0.10
"""Throughput is flat between two load levels if it grows by at most this share, in (0, 1)."""
_MORE_LOAD = 1.4
"""Flat throughput between two load levels shows a limit only if the loads differ by at least this factor. [1]"""
_FULL_EARLY = 0.75
"""Throughput does not follow the load if its mean over a linear ramp from 0 users is at least this share of its value
after the ramp, in (0, 1).

If throughput is proportional to the number of users, the share is 1/2. If throughput is constant from the share f of
the users on, the share is 1 - f/2. A value of 3/4 therefore means that half of the users suffice.
"""
_RAMP_ENDED = 30
"""Smallest number of transactions during the ramp for which `_FULL_EARLY` is applied. [1]"""


@dataclass(frozen=True)
class Rate:
    """Throughput of a run or of one of its transactions, with its interval. [1/s]"""

    value: float
    low: float | None
    high: float | None
    transaction: str | None = None

    @classmethod
    def of(cls, summary: Mapping[str, Any], transaction: str | None = None) -> Rate | None:
        """Read the throughput of a run, or of one of its transactions, from the run summary; None if it is unknown."""
        path = ("throughput_per_s",) if transaction is None else ("transactions", transaction, "throughput_per_s")
        value, low, high = (lookup(summary, (*path, key)) for key in ("value", "low", "high"))
        return None if value is None else cls(value, low, high, transaction)

    @property
    def limit(self) -> str:
        """Text which states that this throughput is a limit that no observed resource explains."""
        known = self.low is not None and self.high is not None
        rate = (
            in_words(self.value, self.low or 0.0, self.high or 0.0, "/s") if known else f"{few_digits(self.value)} /s"
        )
        of = f" on `{self.transaction}`" if self.transaction else ""
        return (
            f"a limit of about {rate}{of} that no observed resource explains: a lock, a pool or a service behind the "
            "target"
        )


@dataclass(frozen=True)
class Shape:
    """Throughput of a run during and after the ramp.

    Attributes
    ----------
    steady : Rate
        Throughput over the window, of the transaction with more than half of the total response time. If no transaction
        has that much, throughput of all transactions.
    total_per_s : float
        Throughput of all transactions over the window. [1/s]
    ramp_per_s : float or None
        Mean throughput of all transactions over a linear ramp from 0 users; None if the run has no such ramp. [1/s]
    plateaus : tuple of (float, float)
        Load [1] or [1/s] and throughput [1/s] of each plateau of a search, in ascending order of the load.
    """

    steady: Rate
    total_per_s: float
    ramp_per_s: float | None
    plateaus: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Shape | None:
        """Extract the throughput from a run summary; None if no transaction was completed."""
        total = Rate.of(summary)
        if total is None or total.value <= 0:
            return None
        slowest = _slowest(summary)
        steady = Rate.of(summary, slowest) if slowest else None
        return cls(steady or total, total.value, _ramp_per_s(summary), _plateaus(summary))

    def evidence(self, unit: str, not_served: float | None = None) -> tuple[str, ...]:
        """Return the evidence that throughput does not follow the load, and the resulting limit. Empty if there is no
        such evidence.

        Parameters
        ----------
        unit : str
            Unit of the load: `users`, or `arrivals per second` for an open load.
        not_served : float or None
            Arrival rate of an open load, if not all arrivals are served; otherwise None. [1/s]
        """
        flat = self._flat(unit, not_served)
        if flat is None:
            return ()
        before = [per_s for _, per_s in self.plateaus] or [self.ramp_per_s or 0.0]
        return (flat,) if has_fallen([*before, self.total_per_s]) else (self.steady.limit, flat)

    def _flat(self, unit: str, not_served: float | None) -> str | None:
        if self.plateaus:
            return flat_over(self.plateaus, unit)
        if not_served is not None:
            return f"of {few_digits(not_served, 4)} {unit}, {few_digits(self.total_per_s, 4)} are served"
        if unit != "users":
            return None
        if self.ramp_per_s is None or self.ramp_per_s < _FULL_EARLY * self.total_per_s:
            return None
        if has_fallen([self.ramp_per_s, self.total_per_s]):
            rates = f"{few_digits(self.ramp_per_s)} /s during the ramp to {few_digits(self.total_per_s)} /s"
            return f"throughput falls from {rates} with all users"
        share = 100 * self.ramp_per_s / self.total_per_s
        return (
            f"during the ramp, with half of the users on average, throughput was {few_digits(share)} % of its later "
            "value: it does not follow the number of users"
        )


def _ramp_per_s(summary: Mapping[str, Any]) -> float | None:
    ramp = objects_at(summary, "phases", "ramp_up")
    start, end, per_s = (lookup(ramp, (key,)) for key in ("start_s", "end_s", "throughput_per_s"))
    if dig(summary, "limit") is not None or start != 0.0 or end is None or per_s is None:
        return None
    return per_s if per_s * end >= _RAMP_ENDED else None


def _plateaus(summary: Mapping[str, Any]) -> tuple[tuple[float, float], ...]:
    found = [
        (float(level), rate)
        for plateau in dig(summary, "limit", "plateaus") or ()
        if isinstance(level := dig(plateau, "level"), int | float)
        and (rate := lookup(plateau, ("throughput_per_s", "value"))) is not None
    ]
    return tuple(sorted(found))


def flat_over(known: Sequence[tuple[float, float]], unit: str) -> str | None:
    """Render the range of loads over which throughput does not grow; None if it grows up to the highest load.

    Parameters
    ----------
    known : sequence of (float, float)
        Load [1] or [1/s] and throughput [1/s] of each level, in ascending order of the load.
    unit : str
        Unit of the load.
    """
    if len(known) < 2:
        return None
    last_load, last = known[-1]
    flat = [(load, rate) for load, rate in known[:-1] if last <= (1 + _FLAT) * rate and last_load >= _MORE_LOAD * load]
    if not flat:
        return None
    most_load, most = max(flat, key=lambda entry: entry[1])
    if has_fallen([rate for _, rate in flat] + [last]):
        fall = f"from {few_digits(most, 4)} /s at {few_digits(most_load, 6)} to {few_digits(last, 4)} /s"
        return f"throughput falls {fall} at {few_digits(last_load, 6)} {unit}"
    loads = f"from {few_digits(flat[0][0], 6)} to {few_digits(last_load, 6)} {unit}"
    return f"throughput stays at about {few_digits(last, 4)} /s {loads}"


def has_fallen(rates: Sequence[float]) -> bool:
    """Return True if throughput at the highest load is considerably lower than at a lower load. `rates` are sorted by
    load. [1/s]
    """
    return max(rates) > (1 + _FLAT) * rates[-1]


def _slowest(summary: Mapping[str, Any]) -> str | None:
    """Return the transaction with more than half of the total response time; None if there is no such transaction, or
    only one transaction in the run.
    """
    names = objects_at(summary, "transactions")
    spent = {
        name: (lookup(summary, ("transactions", name, "count")) or 0.0)
        * (lookup(summary, ("transactions", name, "response_time_s", "mean", "value")) or 0.0)
        for name in names
    }
    most = max(spent, key=lambda name: spent[name], default=None)
    return most if most is not None and len(spent) > 1 and spent[most] > sum(spent.values()) / 2 else None
