"""Renders a list of the checks of a run that could not be made."""

from __future__ import annotations

from collections.abc import Iterable


def not_checked(missing: Iterable[dict[str, str]]) -> str:
    """Render the checks that could not be made, grouped by reason. The text is a sentence without a full stop; empty if
    all checks were made.

    Parameters
    ----------
    missing : iterable of dict
        List `not_checked` of a verdict.
    """
    by_reason: dict[str, list[str]] = {}
    for entry in missing:
        by_reason.setdefault(entry["why"], []).append(entry["check"].replace("_", " "))
    reasons = [f"{', '.join(checks)} ({why})" for why, checks in by_reason.items()]
    return f"not checked: {'; '.join(reasons)}" if reasons else ""
