"""Descriptions of metric series, and tables of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "fact"]


@dataclass(frozen=True)
class Metric:
    """One metric series.

    Attributes
    ----------
    name : str
        Key in the stream; a counter counts from some start and only grows.
    unit : str
        `s`, `bytes`, or `1` for a count.
    kind : str
        `counter`, `gauge`, or `fact`, which does not change.
    source : str
        File, view or command from which it is read.
    meaning : str
        Meaning of the value, with its limits.
    """

    name: str
    unit: str
    kind: Kind
    source: str
    meaning: str


@dataclass(frozen=True)
class Table:
    """Series that are read together, with their common cost."""

    title: str
    place: str
    cost: str
    metrics: tuple[Metric, ...]


def gauge(name: str, unit: str, source: str, meaning: str) -> Metric:
    """Describe a value that can rise and fall."""
    return Metric(name, unit, "gauge", source, meaning)


def counter(name: str, unit: str, source: str, meaning: str) -> Metric:
    """Describe a count that only grows; its name ends in `_total`."""
    return Metric(f"{name}_total", unit, "counter", source, meaning)
