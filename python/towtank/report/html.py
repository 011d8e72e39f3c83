"""The HTML writer: one file, no request to anywhere, readable without scripts, on paper and on screens.

Every figure is there twice: as an SVG drawn beforehand, which print and browsers without scripts show,
and as its
specification, which the Vega runtime, inlined once, turns into an interactive view when the page has loaded.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import vl_convert
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from towtank.containment import Failed, attempt
from towtank.report import theme
from towtank.report.content.not_made import not_made
from towtank.report.document import Block, Column, Document, Figure, Section

# What the page calls of the bundled libraries.
_NAMES = "window.vegaEmbed = vegaEmbed;"
_TEMPLATES = files("towtank.report") / "templates"
# The blank between a number and the unit at the end of a cell.
_UNIT = re.compile(r"(?<=\d) (?=[^\s\d\[]+$)")
_NAME_LETTERS = 24
# Vega numbers its clip paths and gradients from one in every picture; several pictures in one page
# need names of their own.
_OWN_ID = re.compile(r'(\bid="|url\(#|href="#)')


def render(document: Document) -> str:
    """Render a document as one self-contained HTML page, with a statement in place of a figure that failed."""
    document = replace(document, sections=tuple(_drawn(section) for section in document.sections))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals["picture"] = picture
    environment.globals["specification"] = specification
    environment.filters |= {"tied": tied, "style": style}
    template = environment.from_string(_read("report.html"))
    script = _read("report.js")
    bundle = _bundle() if any(figure.spec for figure in document.figures()) else ""
    scripts = (bundle, script) if bundle else ()
    return template.render(
        document=document,
        numbering=numbering(document.sections),
        figure_numbers={figure.name: number for number, figure in enumerate(document.figures(), 1)},
        style=Markup(_read("report.css")),
        script=Markup(script),
        bundle=Markup(bundle),
        script_hashes=Markup(" ".join(map(_hash, scripts)) or "'none'"),
    )


def _hash(script: str) -> str:
    """The script as the page's own policy names it: no other one is run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def tied(cell: str) -> str:
    """A cell in which a number stays on one line with its unit: `1.5 MiB/s`; before an interval it may be broken."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", cell)


def style(cell: str, column: Column) -> Markup:
    """The class of a cell: numbers stand to the right, and a short name is not broken at its dashes."""
    if column.numeric:
        return Markup(' class="number"')
    return Markup(' class="name"' if len(cell) <= _NAME_LETTERS and " " not in cell else "")


def numbering(sections: tuple[Section, ...]) -> dict[str, str]:
    """Numbers of sections: 1, 2, ... and A, B, ... for appendices."""
    plain = [section for section in sections if not section.appendix]
    appended = [section for section in sections if section.appendix]
    return {
        **{section.name: str(number) for number, section in enumerate(plain, 1)},
        **{section.name: chr(ord("A") + index) for index, section in enumerate(appended)},
    }


def _drawn(section: Section) -> Section:
    """A section with the SVG of every figure."""
    return replace(section, blocks=tuple(_drawn_block(block) for block in section.blocks))


def _drawn_block(block: Block) -> Block:
    if not isinstance(block, Figure):
        return block
    made = attempt(f"picture {block.name}", _with_svg, block)
    return not_made(made) if isinstance(made, Failed) else made


def _with_svg(figure: Figure) -> Figure:
    specification(figure)
    return replace(figure, svg=figure.svg or static_svg(figure.spec or {}))


def picture(figure: Figure) -> Markup:
    """The SVG of a figure. Both writers of SVG, Vega's and the drawing's, escape the texts in it."""
    svg = figure.svg or static_svg(figure.spec or {})
    svg = _OWN_ID.sub(rf"\g<1>{figure.name}-", svg)
    return Markup(svg)


def static_svg(spec: dict[str, Any]) -> str:
    """Draw a Vega-Lite specification as SVG; nothing may be loaded on the way."""
    return vl_convert.vegalite_to_svg(spec, vl_version=theme.VEGA_LITE_VERSION, allowed_base_urls=[])


def specification(figure: Figure) -> Markup:
    """The specification as JSON that may stand in a script element: no `<` can end the element early."""
    shown = json.dumps(figure.spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(shown.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@lru_cache(maxsize=1)
def _bundle() -> str:
    """The Vega runtime as one script; it holds no closing script tag, which would end its element."""
    bundle = vl_convert.javascript_bundle(_NAMES, vl_version=theme.VEGA_LITE_VERSION)
    return bundle.replace("</script", "<\\/script")


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")
