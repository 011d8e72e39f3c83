"""Describes metric series (the values of a metric over time), and tables of such series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "fact"]


@dataclass(frozen=True)
class Metric:
    """Description of one metric series.

    Attributes
    ----------
    name : str
        Key of the series in the stream.
    unit : str
        `s`, `bytes`, or `1` for a count.
    kind : str
        `counter`, `gauge`, or `fact` for a value that does not change.
    source : str
        File, view or command from which the value is read.
    meaning : str
        Meaning of the value, and what the value does not cover.
    """

    name: str
    unit: str
    kind: Kind
    source: str
    meaning: str


@dataclass(frozen=True)
class Table:
    """Metric series that are read together, with the cost of reading these series."""

    title: str
    place: str
    cost: str
    metrics: tuple[Metric, ...]


def gauge(name: str, unit: str, source: str, meaning: str) -> Metric:
    """Describe a gauge: a metric whose value can rise and fall."""
    return Metric(name, unit, "gauge", source, meaning)


def counter(name: str, unit: str, source: str, meaning: str) -> Metric:
    """Describe a counter: a metric whose value only grows, with a name that ends in `_total`."""
    return Metric(f"{name}_total", unit, "counter", source, meaning)
