"""Renders the factor levels of a study that its preset leaves out."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.digging import dig
from towtank.report import format as people


def left_out_words(document: Mapping[str, object]) -> str:
    """Return a sentence about the factor levels that a preset leaves out; empty if it includes all levels. The document
    is the summary of a study.

    Examples
    --------
    >>> left_out_words({"left_out": {"users": ["1", "12"], "nodes": ["four"]}})
    'This preset leaves out users = 1 and 12; nodes = four.'
    """
    found = dig(document, "left_out") or {}
    factors = [f"{factor} = {people.listing([str(level) for level in levels])}" for factor, levels in found.items()]
    return f"This preset leaves out {'; '.join(factors)}." if factors else ""
