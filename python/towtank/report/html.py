"""HTML writer: one self-contained file that makes no requests and is readable without scripts, on paper and on screens.

Every figure is included twice: as a finished SVG for print and for browsers without scripts, and as a specification.
From the specification, the Vega runtime makes an interactive view after the page has loaded. The runtime is included
only once. Scripts add the buttons that save figures and copy tables, so a page without scripts has no such buttons.
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

from towtank.report import bidi, theme
from towtank.report.document import Block, Callout, Column, Document, Figure, Section, Table, numbering
from towtank.report.drawn import drawn
from towtank.report.pictures import Pictures

# Script line that gives the page access to the bundled library.
_NAMES = "window.vegaEmbed = vegaEmbed;"
_TEMPLATES = files("towtank.report") / "templates"
# Matches the blank between a number and its unit at the end of a table cell.
_UNIT = re.compile(r"(?<=\d) (?=[^\s\d\[]+$)")
_NAME_LETTERS = 24
# A table with more rows than this is folded, because it would fill the screen. [1]
_OPEN_ROWS = 24
# Number of table columns that the style sheet can align by their position. [1]
_NUMBERED_COLUMNS = 16
_HULL = "M1 9h14l-3 4H4zM7 2h2v6H7z"
_ICON = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="{_HULL}" fill="#0a58a8"/></svg>'
# Vega numbers clip paths and gradients in each picture, starting from 1. On a page with several pictures, a prefix
# makes the names unique.
_OWN_ID = re.compile(r'(\bid="|url\(#|href="#)')
# `_NEEDLESS` matches text that is removed from the SVG: the font, which all figures share, and attributes such as
# classes, which only interactive views use.
_TAG = re.compile(r"<[^<>]+>")
_NEEDLESS = re.compile(rf' (?:font-family="{re.escape(theme.FONT)}"|class="[^"]*"|pointer-events="none"|opacity="1")')
_COLOUR = re.compile(r"rgb\((\d+), (\d+), (\d+)\)")
_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height|points|viewBox)="[^"]*"')
_LONG = re.compile(r"(\.\d\d)\d+")
# Vega numbers gradients and clip paths across pictures. They are renumbered, so that repeated reports have identical
# bytes.
_COUNTED_ID = re.compile(r'(?<=\bid=")(?:gradient_|clip)\d+|(?<=url\(#)(?:gradient_|clip)\d+')


def render(document: Document, pictures: Pictures | None = None) -> str:
    """Render a document as one self-contained HTML page. If a figure cannot be made, a statement of this failure
    replaces it.
    """
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
    """Return the hash of a script. The security policy of the page lists it, and browsers block scripts without a
    listed hash.
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def tied(cell: str) -> str:
    """Return a table cell in which lines cannot break between a number and its unit, such as `1.5 MiB/s`."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", cell)


def style(cell: str, column: Column, number: int) -> Markup:
    """Return the HTML class of a table cell; empty if the cell needs no class.

    Numbers in columns that the style sheet does not align by position need a class. Short names have a class that
    prevents line breaks.
    """
    if column.numeric:
        return Markup(' class="number"' if number > _NUMBERED_COLUMNS else "")
    return Markup(' class="name"' if len(cell) <= _NAME_LETTERS and " " not in cell else "")


def numeric(table: Table) -> Markup:
    """Return the HTML classes of a table by which its columns of numbers are aligned to the right."""
    places = [f"n{number}" for number, column in enumerate(table.columns[:_NUMBERED_COLUMNS], 1) if column.numeric]
    return Markup(f' class="{" ".join(places)}"' if places else "")


def is_folded(table: Table) -> bool:
    """Return True if a table is folded when the page opens, because it shows details or has more than 24 rows."""
    return table.is_detail or (table.shown is None and len(table.rows) > _OPEN_ROWS)


def is_lead(block: Block) -> bool:
    """Return True if a block of the first screen has the full width of the page: question, answer or expectation."""
    return block.kind == "paragraph" or (isinstance(block, Callout) and block.level == "headline")


def first_rows(table: Table) -> Table:
    """Return a table with only the rows that are not folded, and with all its footnotes."""
    return replace(table, rows=table.rows[: table.shown])


def further_rows(table: Table) -> Table | None:
    """Return a table with only the folded rows, without footnotes; None if no row is folded."""
    if table.shown is None or len(table.rows) <= table.shown:
        return None
    return replace(table, rows=table.rows[table.shown :], footnotes=())


def rows(number: int, kind: str = "") -> str:
    """Return a number of rows in words, such as `1 row` or `1,381 further rows`."""
    return f"{number:,} {kind}{'row' if number == 1 else 'rows'}"


def in_parts(sections: tuple[Section, ...]) -> list[tuple[str, list[Section]]]:
    """Group consecutive sections by the part of the report that contains them."""
    return [(part, list(grouped)) for part, grouped in groupby(sections, key=lambda section: section.part)]


def css_string(text: str) -> Markup:
    """Return text for a CSS string. Special characters are escaped, so that the text cannot end the string."""
    return Markup("".join(each if each.isalnum() or each in " .,:" else f"\\{ord(each):06x}" for each in text))


def picture(figure: Figure) -> Markup:
    """Return the SVG of a figure. All its texts are escaped already, by Vega or by the code that wrote the SVG."""
    svg = lean(figure.svg or "")
    counted = {name: number for number, name in enumerate(dict.fromkeys(_COUNTED_ID.findall(svg)))}
    svg = _COUNTED_ID.sub(lambda found: f"{found[0].rstrip('0123456789')}{counted[found[0]]}", svg)
    svg = _OWN_ID.sub(rf"\g<1>{figure.name}-", svg)
    return Markup(svg)


def lean(svg: str) -> str:
    """Make an SVG smaller.

    The font is set only at the root, coordinates have at most two decimals, and attributes for scripts are removed.
    """
    svg = _TAG.sub(_lean_tag, svg)
    return svg.replace("<svg ", f'<svg font-family="{theme.FONT}" ', 1)


def _lean_tag(found: re.Match[str]) -> str:
    tag = _COLOUR.sub(lambda colour: "#{:02x}{:02x}{:02x}".format(*map(int, colour.groups())), found[0])
    return _PLACES.sub(lambda places: _LONG.sub(r"\1", places[0]), _NEEDLESS.sub("", tag))


def specification(figure: Figure) -> Markup:
    """Return the specification as JSON for a script element, escaped so that no `<` can end the element."""
    shown = json.dumps(figure.spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(shown.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def kept_runtime() -> str:
    """Return the file name of the packaged Vega runtime. The name contains the versions of the libraries in the
    runtime.
    """
    versions = (vl_convert.get_vega_version(), theme.VEGA_LITE_VERSION, vl_convert.get_vega_embed_version())
    return f"vega-{'-'.join(versions)}.js.gz"


def make_runtime() -> str:
    """Build the Vega runtime as one script. This takes about two seconds of CPU time."""
    runtime: str = vl_convert.javascript_bundle(_NAMES, vl_version=theme.VEGA_LITE_VERSION)
    return runtime


@lru_cache(maxsize=1)
def _bundle() -> str:
    """Return the Vega runtime as one script. It contains no closing script tag, which would end the script element too
    early.

    `make setup` writes the runtime to a file. If this file is missing or has other versions, the runtime is built here.
    """
    kept = _TEMPLATES / kept_runtime()
    runtime = gzip.decompress(kept.read_bytes()).decode() if kept.is_file() else make_runtime()
    return runtime.replace("</script", "<\\/script")


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")
