"""Defines the document model: the content of a report without its appearance.

    Document
    └── Section            numbered by the writer; an appendix is a section with `appendix` set
        ├── Paragraph      plain text, code and strong text
        ├── Callout        an important statement with a level
        ├── Bullets        a list of texts
        ├── Definitions    terms and their texts
        ├── Table          a caption, columns with units, rows of text, footnotes
        ├── Figure         a Vega-Lite specification or a finished SVG, its description and its data as a table
        └── Listing        unchanged text, for commands and hashes

The package `content` builds the document, and a writer (`html` or `paper`) renders it. All texts are plain text, which
the writer escapes for its format.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from towtank.report.vega import Specification


@dataclass(frozen=True)
class Run:
    """Text in one style (`plain`, `code` or `strong`), as an element of a longer text."""

    text: str
    style: str = "plain"


Text = tuple[Run, ...]
FOUND, SURE, TO_DO = "Found", "How sure", "What to do"
"""First words of the paragraphs of an answer: statements, certainty, and next steps."""
NOT_ANSWERED = "Not answered"
"""First words of the paragraph of an answer about the first part of the question without an answer."""
ALSO_NOT_ANSWERED = "Also open"
"""First words of the paragraph of an answer about the other parts without an answer."""


def text(*parts: str | Run) -> Text:
    return tuple(part if isinstance(part, Run) else Run(part) for part in parts)


def code(part: str) -> Run:
    """Return text in the style of code, for commands and the content of files."""
    return Run(part, "code")


def strong(part: str) -> Run:
    return Run(part, "strong")


@dataclass(frozen=True)
class Paragraph:
    content: Text
    kind: str = field(default="paragraph", init=False)


def paragraph(*parts: str | Run) -> Paragraph:
    return Paragraph(text(*parts))


@dataclass(frozen=True)
class Callout:
    """Important statement in a box; its level is `headline`, `valid`, `suspect`, `invalid` or `note`.

    A headline has no title. `below` has words on narrow screens, in place of the paragraphs that follow the verdict
    there; it is empty for other callouts.
    """

    level: str
    title: str
    content: tuple[Text, ...]
    below: str = ""
    kind: str = field(default="callout", init=False)


@dataclass(frozen=True)
class Bullets:
    items: tuple[Text, ...]
    kind: str = field(default="bullets", init=False)


@dataclass(frozen=True)
class Definitions:
    """List of terms, each with an explanation."""

    items: tuple[tuple[str, Text], ...]
    kind: str = field(default="definitions", init=False)


@dataclass(frozen=True)
class Column:
    """Heading of a table column; `unit` is empty if the cells contain their units.

    Phones leave out a column that is secondary.
    """

    title: str
    unit: str = ""
    numeric: bool = False
    is_secondary: bool = False


def headings(*titles: str | Column) -> tuple[Column, ...]:
    """Return the columns of a table from their titles. A column of numbers has `#` before its title; ` | ` precedes its
    unit.

    Examples
    --------
    >>> headings("Run", "#Time | s")[1]
    Column(title='Time', unit='s', numeric=True, is_secondary=False)
    """
    return tuple(title if isinstance(title, Column) else _column(title) for title in titles)


def _column(heading: str) -> Column:
    title, _, unit = heading.removeprefix("#").partition(" | ")
    return Column(title, unit, numeric=heading.startswith("#"))


@dataclass(frozen=True)
class Table:
    """Table of texts, with a cell for each column; the first cell of each row is the heading of the row.

    A writer may collapse a table with `is_detail`, because the report also contains its summary. It must show the first
    `shown` rows (None for all), and may collapse or omit the other rows.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    footnotes: tuple[str, ...] = ()
    is_detail: bool = False
    shown: int | None = None
    kind: str = field(default="table", init=False)


@dataclass(frozen=True)
class Figure:
    """Figure with a Vega-Lite specification or a finished SVG, with its numbers as a table.

    The name identifies it within the document: lower case letters, digits and dashes. The description is for readers
    who cannot see the figure; the note below the figure explains symbols and intervals. A writer may collapse a figure
    with `is_detail`.
    """

    name: str
    title: str
    description: str
    note: str = ""
    spec: Specification | None = None
    svg: str | None = None
    table: Table | None = None
    is_detail: bool = False
    kind: str = field(default="figure", init=False)


@dataclass(frozen=True)
class Listing:
    """Preformatted text, line by line."""

    caption: str
    lines: tuple[str, ...]
    kind: str = field(default="listing", init=False)


Block = Paragraph | Callout | Bullets | Definitions | Table | Figure | Listing


@dataclass(frozen=True)
class Section:
    """Titled section of the document; the name identifies it within the document.

    An appendix documents the measurement, and is not needed for the answer. A writer may collapse a section with
    `is_detail`. `part` names the part of the report to which the section belongs; empty if the report has no parts.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]
    appendix: bool = False
    is_detail: bool = False
    part: str = ""


@dataclass(frozen=True)
class Document:
    """Whole report, with the question of the study, the answer, and the verdict on the measurement.

    `parts` has the answers to the claims of the study, each in one or more sentences. `made_with` is a sentence that
    names the programs that wrote the report and the results folder. `front` names the part of the report that is shown
    as the first screen or page.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    made_with: str = ""
    answer: str = ""
    question: str = ""
    verdict: str = ""
    parts: tuple[str, ...] = ()
    front: str = ""

    @property
    def page_title(self) -> str:
        """Title of the HTML page: title and verdict of the study."""
        return f"{self.title}: {self.verdict}" if self.verdict else self.title

    @property
    def summary_text(self) -> str:
        """Text that the copy button copies: question, answer, answers to the claims, and verdict."""
        of_claims = "\n".join(f"{number}. {part}" for number, part in enumerate(self.parts, 1))
        verdict = f"{self.verdict}." if self.verdict else ""
        parts = (self.title, self.question, self.answer, of_claims, verdict, self.subtitle)
        return "\n\n".join(part for part in parts if part)

    def figures(self) -> list[Figure]:
        return [block for section in self.sections for block in section.blocks if isinstance(block, Figure)]


def numbering(sections: tuple[Section, ...]) -> dict[str, str]:
    """Return the number of each section, 1, 2, ..., or A, B, ... for appendices, by the section's name."""
    plain = [section for section in sections if not section.appendix]
    appended = [section for section in sections if section.appendix]
    return {
        **{section.name: str(number) for number, section in enumerate(plain, 1)},
        **{section.name: chr(ord("A") + index) for index, section in enumerate(appended)},
    }
