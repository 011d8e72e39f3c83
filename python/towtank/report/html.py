"""The HTML writer: one file, no request to anywhere, readable without scripts, on paper and on screens.

Every figure is included twice: as an SVG drawn beforehand, which print and browsers without scripts show, and as its
specification, which the Vega runtime, inlined once, turns into an interactive view when the page has loaded. Buttons to
save figures and to copy tables are made by a script too: without scripts the page has none.
"""

from __future__ import annotations

import base64
import gzip
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
from towtank.report import bidi, theme
from towtank.report.content.not_made import not_made
from towtank.report.document import Block, Column, Document, Figure, Section, Table

# What the page calls of the bundled libraries.
_NAMES = "window.vegaEmbed = vegaEmbed;"
_TEMPLATES = files("towtank.report") / "templates"
# The blank between a number and the unit at the end of a cell.
_UNIT = re.compile(r"(?<=\d) (?=[^\s\d\[]+$)")
_NAME_LETTERS = 24
# About a screen of rows; a longer table would hide what follows. [1]
_OPEN_ROWS = 24
# Columns whose alignment the style sheet knows by their place. [1]
_NUMBERED_COLUMNS = 16
_HULL = "M1 9h14l-3 4H4zM7 2h2v6H7z"
_ICON = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="{_HULL}" fill="#0a58a8"/></svg>'
# Vega numbers its clip paths and gradients from one in every picture; several pictures in one page
# need names of their own.
_OWN_ID = re.compile(r'(\bid="|url\(#|href="#)')
# Every text has the one font of all figures. Classes and the like are for the scripts of an interactive view.
_TAG = re.compile(r"<[^<>]+>")
_NEEDLESS = re.compile(rf' (?:font-family="{re.escape(theme.FONT)}"|class="[^"]*"|pointer-events="none"|opacity="1")')
_COLOUR = re.compile(r"rgb\((\d+), (\d+), (\d+)\)")
_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height|points|viewBox)="[^"]*"')
_LONG = re.compile(r"(\.\d\d)\d+")
# Some it numbers from one in the life of its runtime: a second report would have other bytes.
_COUNTED_ID = re.compile(r'(?<=\bid=")(?:gradient_|clip)\d+|(?<=url\(#)(?:gradient_|clip)\d+')


def render(document: Document) -> str:
    """Render a document as one self-contained HTML page, with a statement in place of a figure that failed."""
    document = replace(document, sections=tuple(_drawn(section) for section in document.sections))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals["picture"] = picture
    environment.globals["specification"] = specification
    environment.filters |= {
        "tied": tied,
        "style": style,
        "numeric": numeric,
        "short": theme.short,
        "css": css_string,
        "is_folded": is_folded,
        "bidi": bidi.marked,
        "plain": bidi.plain,
    }
    tables = [block for section in document.sections for block in section.blocks if isinstance(block, Table)]
    numbers = {id(table): number for number, table in enumerate(tables, 1)}
    environment.globals["table_number"] = lambda table: numbers[id(table)]
    template = environment.from_string(_read("report.html"))
    is_live = any(figure.spec for figure in document.figures())
    scripts = (*((_bundle(), _read("report.js")) if is_live else ()), _read("sharing.js"))
    return template.render(
        document=document,
        numbering=numbering(document.sections),
        figure_numbers={figure.name: number for number, figure in enumerate(document.figures(), 1)},
        style=Markup(_read("report.css")),
        icon=base64.b64encode(_ICON.encode()).decode(),
        scripts=[Markup(script) for script in scripts],
        script_hashes=Markup(" ".join(map(_hash, scripts))),
    )


def _hash(script: str) -> str:
    """The script as the page's own policy names it: no other one is run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def tied(cell: str) -> str:
    """A cell in which a number stays on one line with its unit: `1.5 MiB/s`; before an interval it may be broken."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", cell)


def style(cell: str, column: Column, number: int) -> Markup:
    """Return the class of a cell that its table does not give: a short name is not broken at its dashes."""
    if column.numeric:
        return Markup(' class="number"' if number > _NUMBERED_COLUMNS else "")
    return Markup(' class="name"' if len(cell) <= _NAME_LETTERS and " " not in cell else "")


def numeric(table: Table) -> Markup:
    """Return the classes of a table that set its columns of numbers to the right."""
    places = [f"n{number}" for number, column in enumerate(table.columns[:_NUMBERED_COLUMNS], 1) if column.numeric]
    return Markup(f' class="{" ".join(places)}"' if places else "")


def is_folded(table: Table) -> bool:
    """Return whether a table is closed until the reader opens it: a detail, or one of more than two dozen rows."""
    return table.is_detail or len(table.rows) > _OPEN_ROWS


def css_string(text: str) -> Markup:
    """Text between the quotation marks of a style sheet, which nothing in it can end."""
    return Markup("".join(each if each.isalnum() or each in " .,:" else f"\\{ord(each):06x}" for each in text))


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
    isolated = replace(figure, spec=bidi.of_specification(figure.spec))
    specification(isolated)
    return replace(isolated, svg=isolated.svg or static_svg(isolated.spec or {}))


def picture(figure: Figure) -> Markup:
    """The SVG of a figure. Both writers of SVG, Vega's and the drawing's, escape the texts in it."""
    svg = lean(figure.svg or static_svg(figure.spec or {}))
    counted = {name: number for number, name in enumerate(dict.fromkeys(_COUNTED_ID.findall(svg)))}
    svg = _COUNTED_ID.sub(lambda found: f"{found[0].rstrip('0123456789')}{counted[found[0]]}", svg)
    svg = _OWN_ID.sub(rf"\g<1>{figure.name}-", svg)
    return Markup(svg)


def lean(svg: str) -> str:
    """The SVG in few bytes: its font once, at its root, places to a hundredth of a pixel, no marks for scripts."""
    svg = _TAG.sub(_lean_tag, svg)
    return svg.replace("<svg ", f'<svg font-family="{theme.FONT}" ', 1)


def _lean_tag(found: re.Match[str]) -> str:
    tag = _COLOUR.sub(lambda colour: "#{:02x}{:02x}{:02x}".format(*map(int, colour.groups())), found[0])
    return _PLACES.sub(lambda places: _LONG.sub(r"\1", places[0]), _NEEDLESS.sub("", tag))


def static_svg(spec: dict[str, Any]) -> str:
    """Draw a Vega-Lite specification as SVG; nothing may be loaded on the way."""
    return vl_convert.vegalite_to_svg(spec, vl_version=theme.VEGA_LITE_VERSION, allowed_base_urls=[])


def specification(figure: Figure) -> Markup:
    """The specification as JSON that may stand in a script element: no `<` can end the element early."""
    shown = json.dumps(figure.spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(shown.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def kept_runtime() -> str:
    """Return the name of the file in which the package keeps the Vega runtime of these versions of its parts."""
    versions = (vl_convert.get_vega_version(), theme.VEGA_LITE_VERSION, vl_convert.get_vega_embed_version())
    return f"vega-{'-'.join(versions)}.js.gz"


def make_runtime() -> str:
    """Make the Vega runtime as one script, which takes two seconds of CPU."""
    runtime: str = vl_convert.javascript_bundle(_NAMES, vl_version=theme.VEGA_LITE_VERSION)
    return runtime


@lru_cache(maxsize=1)
def _bundle() -> str:
    """The Vega runtime as one script; it holds no closing script tag, which would end its element.

    `make setup` writes the file; without it, or with a library of other versions, the runtime is made.
    """
    kept = _TEMPLATES / kept_runtime()
    runtime = gzip.decompress(kept.read_bytes()).decode() if kept.is_file() else make_runtime()
    return runtime.replace("</script", "<\\/script")


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")
