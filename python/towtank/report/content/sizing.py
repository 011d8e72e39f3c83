"""Builds the section on sizing. Most studies have none, so the section's texts are imported only if they are needed."""

from __future__ import annotations

from towtank.report.document import Callout, Section, text
from towtank.report.source import Results


def build(results: Results) -> Section | None:
    """Build the section on sizing; None if the study has no sizing."""
    found = results.sizing
    if found is None:
        return None
    if isinstance(found, str):
        return Section("sizing", "Sizing", (Callout("note", "Not sized", (text(found),)),))
    from towtank.report.content.sizing_result import blocks_of  # noqa: PLC0415 - imports the sizing

    return Section("sizing", "Sizing", blocks_of(found))
