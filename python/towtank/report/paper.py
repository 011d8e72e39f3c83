"""Renders a report as PDF that conforms to PDF/UA-1 (ISO 14289-1).

Typst makes the pages: the template `templates/report.typ` reads the document as JSON, so that no text of a study is
ever executed as Typst code.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from importlib.util import find_spec
from typing import Final, TypeVar

from towtank.errors import ReportError
from towtank.installing import PDF_LIBRARY, pip_install
from towtank.report import bidi, paper_tables, theme
from towtank.report.document import (
    Block,
    Bullets,
    Callout,
    Definitions,
    Document,
    Figure,
    Listing,
    Paragraph,
    Run,
    Table,
    Text,
    numbering,
)
from towtank.report.drawn import drawn
from towtank.report.pictures import Pictures

_B = TypeVar("_B", Table, Figure)

PAPERS = ("a4", "letter")
"""Paper sizes that `--paper` accepts."""
_NO_TITLE = "report"
_TEMPLATE = files("towtank.report") / "templates" / "report.typ"
_STANDARD: Final = "ua-1"
# Width of the text on A4, the narrowest paper: 210 mm minus two margins of 18 mm. [pt]
_TEXT_PT = 174 / 25.4 * 72
# Largest length of the title, and of the verdict, in the footer of each page. [letters]
_FOOT_LETTERS = (70, 150)
# Largest number of rows of a table that is printed completely, and number of rows printed of a longer table. [1]
_MOST_ROWS, _FIRST_ROWS = 100, 24
# Largest length of a text in a brief, and of its title and the cells of its tables. [letters]
_TEXT_LETTERS, _CELL_LETTERS = 1000, 300
# Statements of the first part about other sections, and the words for them in a brief.
_POINTERS = {
    "see the section on limits": "see the full report on limits",
    "see the limits of the conclusions": "see the full report on limits of the conclusions",
    "The section on claims has": "The full report has",
    "that this report states": "that the full report states",
}
# Length above which a line may break within a word, in texts and in commands: after signs, and after so many letters.
# [letters]
_WORD_LETTERS, _COMMAND_LETTERS = 18, 80
_SIGN = re.compile(r"(?<=[/_\-.:=&?@,])(?=\w)")
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef]")
# Letters that the fonts of Typst contain: ASCII, Latin-1, and signs that Towtank writes.
_USUAL = re.compile(
    "[\n -~\xa0-\xac\xae-\xff\u200b\u2013\u2014\u2018\u2019\u2020\u2026\u2068\u2069\u2212\u2264\u2265]+"
)
_UNDISPLAYED = re.compile(r'the text `"(.*?)"` could not be displayed')
_ESCAPED = re.compile(r"\\u\{([0-9a-f]+)\}")
# Typst document with a paragraph for each given letter. Typst refuses it if no font contains a letter.
_SAMPLE = b"""#set document(title: "sample")
#set text(font: "Libertinus Serif", lang: "en")
#for letter in json(bytes(sys.inputs.letters)) { par[#letter] }"""


@dataclass(frozen=True)
class _Numbered:
    """Section as the template reads it."""

    title: str
    number: str
    appendix: bool
    part: str
    blocks: tuple[_Shown, ...]


@dataclass(frozen=True)
class _PaperTable:
    """Table as the template reads it; a wide table consists of several parts."""

    number: int
    caption: str
    parts: tuple[paper_tables.Part, ...]
    footnotes: tuple[str, ...]
    kind: str = "table"


@dataclass(frozen=True)
class _PaperFigure:
    """Figure as the template reads it."""

    number: int
    title: str
    note: str
    description: str
    svg: str
    is_detail: bool
    kind: str = "figure"


_Shown = Block | _PaperTable | _PaperFigure


@dataclass(frozen=True)
class _Paper:
    """Document as the template reads it."""

    paper: str
    one_page: bool
    title: str
    subtitle: str
    verdict: str
    foot: str
    made_with: str
    front: str
    sections: tuple[_Numbered, ...]


def brief(document: Document) -> Document:
    """Return the first part of a report: question, answer, main figure, results in brief and verdict.

    Statements about other sections point to the full report, and very long texts are cut.
    """
    sections = tuple(
        replace(section, blocks=tuple(map(_of_brief, section.blocks)))
        for section in document.sections
        if section.part == document.front
    )
    return replace(document, title=_cut(document.title, _CELL_LETTERS), sections=sections)


def _of_brief(block: Block) -> Block:
    if isinstance(block, Paragraph):
        return Paragraph(_text_of_brief(block.content))
    if isinstance(block, Callout):
        return replace(block, content=tuple(map(_text_of_brief, block.content)))
    if isinstance(block, Table):
        rows = tuple(tuple(_cut(cell, _CELL_LETTERS) for cell in row) for row in block.rows)
        return replace(block, rows=rows, footnotes=tuple(map(_words_of_brief, block.footnotes)))
    return block


def _text_of_brief(content: Text) -> Text:
    return tuple(Run(_words_of_brief(run.text), run.style) for run in content)


def _words_of_brief(words: str) -> str:
    for pointer, instead in _POINTERS.items():
        words = words.replace(pointer, instead)
    return _cut(words, _TEXT_LETTERS)


def to_pdf(
    document: Document, pictures: Pictures | None = None, *, paper: str = PAPERS[0], one_page: bool = False
) -> bytes:
    """Render a document as PDF.

    Parameters
    ----------
    document : Document
        Report, or its first part.
    pictures : Pictures, optional
        Cache of drawings.
    paper : str
        `a4` or `letter`.
    one_page : bool
        Whether to fit the document on a single page, with letters and figure as large as possible.

    Returns
    -------
    bytes
        PDF file; the same document gives the same bytes.

    Raises
    ------
    ReportError
        If Typst is not installed or refuses the document.
    """
    refuse_without_typst()
    import typst  # noqa: PLC0415 - the extra may be absent

    shown = content(document, pictures, paper=paper, one_page=one_page)
    for letter in sorted(_undisplayed(shown)):
        shown = shown.replace(letter, f"[U+{ord(letter):04X}]")
    try:
        made = typst.compile(
            _TEMPLATE.read_bytes(), format="pdf", pdf_standards=_STANDARD, sys_inputs={"document": shown}, timestamp=0
        )
    except typst.TypstError as error:
        raise ReportError(f"the report could not be written as PDF: {error.message}") from error
    return bytes(made)


def refuse_without_typst() -> None:
    """Raise an error with the command that installs Typst if this package is missing."""
    if find_spec("typst") is None:
        raise ReportError(
            f"a report as PDF needs the Python package {PDF_LIBRARY}, which is not installed",
            hint=pip_install(PDF_LIBRARY),
        )


def content(
    document: Document, pictures: Pictures | None = None, *, paper: str = PAPERS[0], one_page: bool = False
) -> str:
    """Return the content of a document as JSON, in the form that the template reads; see `to_pdf`."""
    document = drawn(document, pictures or Pictures())
    numbers = numbering(document.sections)
    tables = {id(block): number for number, block in enumerate(_of_kind(document, Table), 1)}
    figures = {id(block): number for number, block in enumerate(_of_kind(document, Figure), 1)}

    def shown(block: Block) -> _Shown:
        if isinstance(block, Table):
            return _table(block, tables[id(block)], one_page=one_page)
        return _figure(block, figures[id(block)]) if isinstance(block, Figure) else _safe_block(block)

    sections = tuple(
        _Numbered(
            title=safe(section.title),
            number=numbers[section.name],
            appendix=section.appendix,
            part=section.part,
            blocks=tuple(map(shown, section.blocks)),
        )
        for section in document.sections
    )
    written = _Paper(
        paper=paper,
        one_page=one_page,
        # PDF/UA-1 requires a title.
        title=safe(document.title).strip() or _NO_TITLE,
        subtitle=safe(document.subtitle),
        verdict=safe(document.verdict),
        foot=safe(": ".join(filter(None, map(_cut, (document.title, document.verdict), _FOOT_LETTERS)))),
        made_with=safe(document.made_with),
        front=document.front,
        sections=sections,
    )
    return json.dumps(asdict(written), ensure_ascii=False, allow_nan=False)


def safe(text: str, longest: int = _WORD_LETTERS) -> str:
    r"""Return text for paper: right-to-left words are isolated, and long words have opportunities for line breaks.

    Control characters are removed.

    Examples
    --------
    >>> safe("a\x00b"), safe("towtank_reads_every_file").split("\u200b")
    ('ab', ['towtank_', 'reads_', 'every_', 'file'])
    """
    words = (_broken(word, longest) for word in re.split(r"( |\n)", bidi.plain(text)))
    return _CONTROLS.sub("", "".join(words))


def _broken(word: str, longest: int) -> str:
    if len(word) <= longest:
        return word
    pieces = _SIGN.split(word)
    return "\u200b".join(piece[at : at + longest] for piece in pieces for at in range(0, len(piece), longest))


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def _table(table: Table, number: int, *, one_page: bool) -> _PaperTable:
    """Return a table for paper, without the last rows if it is long. On a one-page report, it has only the first rows
    that every writer must show (at most `table.shown`).
    """
    columns = tuple(replace(column, title=safe(column.title), unit=safe(column.unit)) for column in table.columns)
    most = table.shown if one_page and table.shown is not None else _MOST_ROWS
    kept = table.rows if len(table.rows) <= most else table.rows[: min(most, _FIRST_ROWS)]
    rows = tuple(tuple(map(safe, row)) for row in kept)
    notes = [safe(note) for note in table.footnotes]
    if len(kept) < len(table.rows):
        whole = "full report" if len(table.rows) <= _MOST_ROWS else "report as HTML"
        notes.append(f"{len(kept)} of {len(table.rows):,} rows; the {whole} contains all of them.")
    parts = paper_tables.parts(replace(table, columns=columns, rows=rows), _TEXT_PT)
    return _PaperTable(number, safe(table.caption), parts, tuple(notes))


def _figure(figure: Figure, number: int) -> _PaperFigure:
    described = safe(theme.short(figure.description))
    return _PaperFigure(number, safe(figure.title), safe(figure.note), described, figure.svg or "", figure.is_detail)


def _of_kind(document: Document, kind: type[_B]) -> list[_B]:
    return [block for section in document.sections for block in section.blocks if isinstance(block, kind)]


def _safe_block(block: Block) -> Block:
    if isinstance(block, Paragraph):
        return Paragraph(_safe_text(block.content))
    if isinstance(block, Callout):
        return Callout(block.level, safe(block.title), tuple(map(_safe_text, block.content)))
    if isinstance(block, Bullets):
        return Bullets(tuple(map(_safe_text, block.items)))
    if isinstance(block, Definitions):
        return Definitions(tuple((safe(term), _safe_text(content)) for term, content in block.items))
    if isinstance(block, Listing):
        return Listing(safe(block.caption), tuple(safe(line, _COMMAND_LETTERS) for line in block.lines))
    return block


def _safe_text(content: Text) -> Text:
    return tuple(
        Run(safe(run.text, _COMMAND_LETTERS if run.style == "code" else _WORD_LETTERS), run.style) for run in content
    )


def _undisplayed(shown: str) -> set[str]:
    """Return the letters of a text for which no font is installed, in which Typst could write them."""
    import typst  # noqa: PLC0415 - the extra may be absent

    letters = set(_USUAL.sub("", shown))
    unknown: set[str] = set()
    # Typst may report only some of the letters.
    while letters:
        try:
            typst.compile(
                _SAMPLE, format="pdf", pdf_standards=_STANDARD, sys_inputs={"letters": json.dumps(sorted(letters))}
            )
        except typst.TypstError as error:
            found = {
                letter
                for quoted in _UNDISPLAYED.finditer(f"{error.message}\n{error.diagnostic}")
                for letter in _ESCAPED.sub(lambda code: chr(int(code[1], 16)), quoted[1])
            } & letters
            # After another error, it is unknown which letter causes it, so Typst must write none of the letters.
            unknown |= found or letters
            letters -= found or letters
        else:
            break
    return unknown
