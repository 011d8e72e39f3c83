"""Builds the sections of a report, each in its own module; `building` puts them together.

To add a section, write a module with `build(results) -> Section`, a line in `PARTS` of `building`, and a test. If the
results have no data for a section, `build` returns None, and the report omits the section.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.report.content.building import ANSWER, APPENDICES, PARTS, SECTIONS, build_document, part_of

__getattr__, __dir__ = door(__name__)
