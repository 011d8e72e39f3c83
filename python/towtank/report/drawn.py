"""Adds an SVG drawing to every figure of a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from towtank.containment import Failed, attempt
from towtank.report import bidi
from towtank.report.content.not_made import not_made
from towtank.report.document import Block, Document, Figure
from towtank.report.pictures import Pictures


def drawn(document: Document, pictures: Pictures, check: Callable[[Figure], object] | None = None) -> Document:
    """Return a document in which every figure has an SVG; a note replaces a figure that cannot be drawn.

    `check` raises an exception for a figure that the writer cannot show.
    """
    draw = partial(_block, pictures=pictures, check=check)
    return replace(
        document,
        sections=tuple(
            replace(section, blocks=tuple(draw(block) for block in section.blocks)) for section in document.sections
        ),
    )


def _block(block: Block, pictures: Pictures, check: Callable[[Figure], object] | None) -> Block:
    if not isinstance(block, Figure):
        return block
    made = attempt(f"picture {block.name}", _with_svg, block, pictures, check)
    return not_made(made) if isinstance(made, Failed) else made


def _with_svg(figure: Figure, pictures: Pictures, check: Callable[[Figure], object] | None) -> Figure:
    isolated = replace(figure, spec=bidi.of_specification(figure.spec))
    if check is not None:
        check(isolated)
    return replace(isolated, svg=isolated.svg or pictures.of(isolated.spec or {}))
