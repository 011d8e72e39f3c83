"""Renders a report as one HTML file that makes no requests, and is readable without scripts and on paper.

Every figure is included twice: as SVG, for paper and browsers without scripts, and as a Vega-Lite specification. After
the page has loaded, the Vega runtime in the file makes an interactive view from the specification. Scripts also add the
buttons that save figures and copy tables.
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
from itertools import groupby

import vl_convert
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from towtank.conclusion_words import FURTHER, SURER
from towtank.report import bidi, theme
from towtank.report.document import (
    ALSO_NOT_ANSWERED,
    NOT_ANSWERED,
    Block,
    Callout,
    Column,
    Document,
    Figure,
    Section,
    Table,
    Text,
    numbering,
)
from towtank.report.drawn import drawn
from towtank.report.pictures import Pictures

# Script that makes the bundled library available to other scripts of the page.
_NAMES = "window.vegaEmbed = vegaEmbed;"
_TEMPLATES = files("towtank.report") / "templates"
# Matches the blank between a number and its unit at the end of a table cell.
_UNIT = re.compile(r"(?<=\d) (?=[^\s\d\[]+$)")
_NAME_LETTERS = 24
# Largest number of rows of a table that is not collapsed. [1]
_OPEN_ROWS = 24
# Number of table columns that the style sheet can align by their position. [1]
_NUMBERED_COLUMNS = 16
_HULL = "M1 9h14l-3 4H4zM7 2h2v6H7z"
_ICON = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="{_HULL}" fill="#0a58a8"/></svg>'
# Identifiers, such as of clip paths, and references to identifiers. Each figure gets its own prefix, because Vega uses
# the same identifiers in every figure.
_OWN_ID = re.compile(r'(\bid="|url\(#|href="#)')
# `_NEEDLESS` matches attributes that are removed from the SVG: the font, which is set at the root instead, and
# attributes that only scripts use.
_TAG = re.compile(r"<[^<>]+>")
_NEEDLESS = re.compile(rf' (?:font-family="{re.escape(theme.FONT)}"|class="[^"]*"|pointer-events="none"|opacity="1")')
_COLOUR = re.compile(r"rgb\((\d+), (\d+), (\d+)\)")
_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height|points|viewBox)="[^"]*"')
_LONG = re.compile(r"(\.\d\d)\d+")
# Identifiers of gradients and clip paths, which Vega numbers across figures. They are renumbered in each figure, so
# that the same results give the same bytes.
_COUNTED_ID = re.compile(r'(?<=\bid=")(?:gradient_|clip)\d+|(?<=url\(#)(?:gradient_|clip)\d+')


def render(document: Document, pictures: Pictures | None = None) -> str:
    """Render a document as one self-contained HTML page."""
    document = drawn(document, pictures or Pictures(), specification)
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
        "first_rows": first_rows,
        "further_rows": further_rows,
        "rows": rows,
        "in_parts": in_parts,
        "bidi": bidi.marked,
        "plain": bidi.plain,
    }
    environment.tests["lead"] = is_lead
    environment.tests["later"] = is_later
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
    """Return the hash of a script for the page's security policy, because browsers block scripts without a listed
    hash.
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def tied(cell: str) -> str:
    """Prevent a line break between a number and its unit at the end of a table cell, such as `1.5 MiB/s`."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", cell)


def style(cell: str, column: Column, number: int) -> Markup:
    """Return the HTML class attribute of a table cell; empty if the cell needs no class.

    The style sheet aligns numbers in the first 16 columns; numbers in further columns need a class. Short names have a
    class that prevents line breaks, and cells that phones leave out a class of their own.
    """
    if column.is_secondary:
        return Markup(' class="secondary"')
    if column.numeric:
        return Markup(' class="number"' if number > _NUMBERED_COLUMNS else "")
    return Markup(' class="name"' if len(cell) <= _NAME_LETTERS and " " not in cell else "")


def numeric(table: Table) -> Markup:
    """Return the HTML class attribute of a table, which selects the columns to align to the right."""
    places = [f"n{number}" for number, column in enumerate(table.columns[:_NUMBERED_COLUMNS], 1) if column.numeric]
    return Markup(f' class="{" ".join(places)}"' if places else "")


def is_folded(table: Table) -> bool:
    """Return True if a table is collapsed when the page opens, because it contains details or many rows."""
    return table.is_detail or (table.shown is None and len(table.rows) > _OPEN_ROWS)


def is_lead(block: Block) -> bool:
    """Return True if a block of the first screen extends over the full width of the page."""
    return block.kind == "paragraph" or (isinstance(block, Callout) and block.level == "headline")


def is_later(content: Text) -> bool:
    """Return True if a paragraph of the answer follows the verdict on narrow screens: that of further claims, and
    those of the parts without an answer, and the runs that would make an answer surer.
    """
    later = (FURTHER, SURER, f"{NOT_ANSWERED}. ", f"{ALSO_NOT_ANSWERED}. ")
    return bool(content) and content[0].text.startswith(later)


def first_rows(table: Table) -> Table:
    """Return a table with the rows that are always visible, and its footnotes."""
    return replace(table, rows=table.rows[: table.shown])


def further_rows(table: Table) -> Table | None:
    """Return a table with the collapsed rows, without footnotes; None if no row is collapsed."""
    if table.shown is None or len(table.rows) <= table.shown:
        return None
    return replace(table, rows=table.rows[table.shown :], footnotes=())


def rows(number: int, kind: str = "") -> str:
    """Render a number of rows, such as `1 row` or `1,381 further rows`."""
    return f"{number:,} {kind}{'row' if number == 1 else 'rows'}"


def in_parts(sections: tuple[Section, ...]) -> list[tuple[str, list[Section]]]:
    """Group consecutive sections by the part of the report to which they belong."""
    return [(part, list(grouped)) for part, grouped in groupby(sections, key=lambda section: section.part)]


def css_string(text: str) -> Markup:
    """Escape a text for a CSS string."""
    return Markup("".join(each if each.isalnum() or each in " .,:" else f"\\{ord(each):06x}" for each in text))


def picture(figure: Figure) -> Markup:
    """Return the SVG of a figure as safe markup, because the program that made the SVG has escaped all texts."""
    svg = lean(figure.svg or "")
    counted = {name: number for number, name in enumerate(dict.fromkeys(_COUNTED_ID.findall(svg)))}
    svg = _COUNTED_ID.sub(lambda found: f"{found[0].rstrip('0123456789')}{counted[found[0]]}", svg)
    svg = _OWN_ID.sub(rf"\g<1>{figure.name}-", svg)
    return Markup(svg)


def lean(svg: str) -> str:
    """Make an SVG smaller: set the font at the root, round coordinates to two decimals, and remove needless
    attributes.
    """
    svg = _TAG.sub(_lean_tag, svg)
    return svg.replace("<svg ", f'<svg font-family="{theme.FONT}" ', 1)


def _lean_tag(found: re.Match[str]) -> str:
    tag = _COLOUR.sub(lambda colour: "#{:02x}{:02x}{:02x}".format(*map(int, colour.groups())), found[0])
    return _PLACES.sub(lambda places: _LONG.sub(r"\1", places[0]), _NEEDLESS.sub("", tag))


def specification(figure: Figure) -> Markup:
    """Return the specification of a figure as JSON, escaped for a script element."""
    shown = json.dumps(figure.spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(shown.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def kept_runtime() -> str:
    """Return the file name of the packaged Vega runtime, which contains the versions of its libraries."""
    versions = (vl_convert.get_vega_version(), theme.VEGA_LITE_VERSION, vl_convert.get_vega_embed_version())
    return f"vega-{'-'.join(versions)}.js.gz"


def make_runtime() -> str:
    """Build the Vega runtime as one script, which takes about two seconds of CPU time."""
    runtime: str = vl_convert.javascript_bundle(_NAMES, vl_version=theme.VEGA_LITE_VERSION)
    return runtime


@lru_cache(maxsize=1)
def _bundle() -> str:
    """Return the Vega runtime as one script, without closing script tags.

    `make setup` writes the runtime to a file. If there is no file for the present versions, the runtime is built here.
    """
    kept = _TEMPLATES / kept_runtime()
    runtime = gzip.decompress(kept.read_bytes()).decode() if kept.is_file() else make_runtime()
    return runtime.replace("</script", "<\\/script")


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")
