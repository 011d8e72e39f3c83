"""Converts documents that older versions of Towtank wrote, so that their keys and values have the present names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.digging import dig

_STORED_KEYS = {"told": "acknowledged", "told_s": "acknowledged_s"}
_WINDOW_OUTCOMES = {"cannot tell": "undecided"}


def stored_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return `stored.json`, or `stored` of a run summary, with the present names of its keys. Older versions have
    `told` and `told_s` instead of `acknowledged` and `acknowledged_s`. Kinds of items are named by the user, so
    their names are not changed.
    """
    found = _renamed(document)
    if isinstance(named := found.get("named"), list):
        found["named"] = [_renamed(entry) if isinstance(entry, Mapping) else entry for entry in named]
    if isinstance(kinds := found.get("kinds"), Mapping):
        found["kinds"] = {
            kind: stored_document(about) if isinstance(about, Mapping) else about for kind, about in kinds.items()
        }
    return found


def run_summary(summary: Mapping[str, Any], manifest: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Return the summary of a run of any version with the present names of its keys and values. Older versions have
    other keys in `stored`, and the outcome `cannot tell` of a window instead of `undecided`. The factors of the
    manifest complete a summary without `factors`; without a manifest, such a run has no factors.
    """
    found = dict(summary)
    if found and not found.get("factors"):
        found["factors"] = dig(manifest, "factors") or {}
    if isinstance(stored := found.get("stored"), Mapping):
        found["stored"] = stored_document(stored)
    if isinstance(window := found.get("window"), Mapping):
        outcome = window.get("outcome")
        if isinstance(outcome, str) and outcome in _WINDOW_OUTCOMES:
            found["window"] = {**window, "outcome": _WINDOW_OUTCOMES[outcome]}
    return found


def _renamed(document: Mapping[str, Any]) -> dict[str, Any]:
    return {_STORED_KEYS.get(key, key): value for key, value in document.items()}
