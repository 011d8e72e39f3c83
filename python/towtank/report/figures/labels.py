"""Shortens the labels of configurations for figures."""

from __future__ import annotations

LETTER_PX = 7
"""Space for a letter of a label. [px]"""


def legend_columns(labels: list[str]) -> int:
    """Return the number of legend labels that fit in a row of 500 px, with 45 px for symbol and gaps."""
    longest = max((len(label) for label in labels), default=1)
    return max(1, 500 // (LETTER_PX * longest + 45))


def short_labels(labels: list[str]) -> dict[str, str]:
    """Remove the factor levels that all configurations share from their labels.

    Examples
    --------
    >>> short_labels(["index present, memory 1 GB", "index absent, memory 1 GB"])
    {'index present, memory 1 GB': 'index present', 'index absent, memory 1 GB': 'index absent'}
    """
    parts = [label.split(", ") for label in labels]
    if len({len(levels) for levels in parts}) != 1 or len(labels) < 2:
        return {label: label for label in labels}
    differs = [len(set(levels)) > 1 for levels in zip(*parts, strict=True)]
    kept = [[level for level, is_kept in zip(levels, differs, strict=True) if is_kept] for levels in parts]
    return {label: ", ".join(levels) or label for label, levels in zip(labels, kept, strict=True)}


def bare_levels(labels: list[str]) -> tuple[dict[str, str], str]:
    """Return the labels of configurations without the names of factors, and these names; the whole labels and an empty
    text if the names are unknown.

    Examples
    --------
    >>> bare_levels(["rows base, query scan", "rows tenfold, query scan"])
    ({'rows base, query scan': 'base, scan', 'rows tenfold, query scan': 'tenfold, scan'}, 'rows, query')
    """
    parts = [[level.partition(" ") for level in label.split(", ")] for label in labels]
    names = {tuple(name for name, _, _ in levels) for levels in parts}
    if len(names) != 1 or not all(level for levels in parts for _, _, level in levels):
        return {label: label for label in labels}, ""
    bare = (", ".join(level for _, _, level in levels) for levels in parts)
    return dict(zip(labels, bare, strict=True)), ", ".join(names.pop())
