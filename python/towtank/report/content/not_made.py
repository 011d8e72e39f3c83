"""Builds notes that replace parts of a report that could not be built."""

from __future__ import annotations

from collections.abc import Sequence

from towtank.containment import Failed
from towtank.report.document import Bullets, Callout, Section, text


def not_made(failed: Failed) -> Callout:
    """Return a note about a part of the report that could not be built."""
    return Callout("invalid", "This part could not be created", (text(f"{failed.sentence}."),))


def section_not_made(failed: Failed, title: str, *, appendix: bool) -> Section:
    """Return a section that consists of a note that it could not be built."""
    return Section(f"not-made-{'-'.join(title.lower().split())}", title, (not_made(failed),), appendix=appendix)


def overview(failed: Sequence[Failed]) -> Section:
    """Return a section for the beginning of the report that lists all parts that could not be built."""
    return Section(
        "failed-parts",
        "Parts that could not be created",
        (
            Callout(
                "invalid",
                "This report is not complete",
                (text("Errors occurred when Towtank created the parts below. All other parts are complete."),),
            ),
            Bullets(tuple(text(f"{each.sentence}.") for each in failed)),
        ),
    )
