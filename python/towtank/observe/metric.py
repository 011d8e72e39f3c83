"""Describes metric series (a series holds the values of a metric over time), and tables of such series."""

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
        `counter`, `gauge`, or `fact` for a value that does not change during a run.
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
    """Metric series that are read together, for one section of the reference page.

    Attributes
    ----------
    title : str
        Heading of the section.
    place : str
        Key of the recorded samples that contains the values, as a Markdown phrase.
    cost : str
        Files, time or queries needed to read the values once.
    metrics : tuple of Metric
        The series.
    """

    title: str
    place: str
    cost: str
    metrics: tuple[Metric, ...]


def gauge(name: str, unit: str, source: str, meaning: str) -> Metric:
    """Describe a gauge: a metric whose value can rise and fall."""
    return Metric(name, unit, "gauge", source, meaning)


def counter(name: str, unit: str, source: str, meaning: str) -> Metric:
    """Describe a counter: a metric whose value never decreases. `_total` is appended to its name."""
    return Metric(f"{name}_total", unit, "counter", source, meaning)
