"""The document model: the content of a report without its appearance.

    Document
    └── Section            numbered by the writer; an appendix is a section with `appendix` set
        ├── Paragraph      pieces of plain text, code and strong text
        ├── Callout        an important statement with a level
        ├── Bullets        a list of texts
        ├── Definitions    terms and their texts
        ├── Table          a caption, columns with units, rows of text, footnotes
        ├── Figure         a Vega-Lite specification or a finished SVG, its description and its data as a table
        └── Listing        unchanged text, for commands and hashes

The package `content` builds the document, and a writer (`html`) renders it. All texts are plain text, which the writer
escapes for its format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Run:
    """Piece of text in one style.

    Attributes
    ----------
    text : str
        Plain text.
    style : str
        `plain`, `code` or `strong`.
    """

    text: str
    style: str = "plain"


Text = tuple[Run, ...]


def text(*parts: str | Run) -> Text:
    """Join plain strings and styled pieces into one text."""
    return tuple(part if isinstance(part, Run) else Run(part) for part in parts)


def code(part: str) -> Run:
    """Return a piece of text in the style of code, for commands and the content of files."""
    return Run(part, "code")


def strong(part: str) -> Run:
    """Return a piece of emphasized text."""
    return Run(part, "strong")


@dataclass(frozen=True)
class Paragraph:
    """Paragraph of text."""

    content: Text
    kind: str = field(default="paragraph", init=False)


def paragraph(*parts: str | Run) -> Paragraph:
    """Build a paragraph from plain strings and styled pieces."""
    return Paragraph(text(*parts))


@dataclass(frozen=True)
class Callout:
    """Important statement in a box.

    Attributes
    ----------
    level : str
        `headline`, `valid`, `suspect`, `invalid` or `note`.
    title : str
        Subject of the statement; empty for a headline.
    content : tuple of Text
        Paragraphs of the statement.
    """

    level: str
    title: str
    content: tuple[Text, ...]
    kind: str = field(default="callout", init=False)


@dataclass(frozen=True)
class Bullets:
    """List of texts in no particular order."""

    items: tuple[Text, ...]
    kind: str = field(default="bullets", init=False)


@dataclass(frozen=True)
class Definitions:
    """Terms and the texts that explain them."""

    items: tuple[tuple[str, Text], ...]
    kind: str = field(default="definitions", init=False)


@dataclass(frozen=True)
class Column:
    """Head of a table column; `unit` is empty if each cell of the column contains a unit of its own."""

    title: str
    unit: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table of texts; the first cell of each row is its head.

    Attributes
    ----------
    caption : str
        Title.
    columns : tuple of Column
        Heads.
    rows : tuple of tuple of str
        Cells, one for each column.
    footnotes : tuple of str
        Notes below the table.
    is_detail : bool
        True if a writer may fold the table, because another part of the report contains its summary.
    shown : int or None
        Number of rows that a writer must show; the writer may fold the others. None for all rows.
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
    """Figure, with a table of the numbers that the figure shows.

    Attributes
    ----------
    name : str
        Identifier within the document: lower case letters, digits and dashes.
    title : str
        Title of the figure.
    description : str
        Description of the picture in words, for readers who cannot see it.
    note : str
        Explanation of symbols and intervals, for the text below the picture.
    spec : dict or None
        Vega-Lite specification.
    svg : str or None
        Finished SVG; None with a specification.
    table : Table or None
        Numbers that the figure shows.
    is_detail : bool
        True if a writer may fold the figure.
    """

    name: str
    title: str
    description: str
    note: str = ""
    spec: dict[str, Any] | None = None
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
    """Titled section of the document.

    Attributes
    ----------
    name, title : str
        Identifier within the document, and heading.
    blocks : tuple of Block
        Content.
    appendix : bool
        True if the section documents the measurement and does not contribute to the answer.
    is_detail : bool
        True if a writer may fold the section.
    part : str
        Part of the report that contains the section; empty without parts.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]
    appendix: bool = False
    is_detail: bool = False
    part: str = ""


@dataclass(frozen=True)
class Document:
    """Whole report.

    Attributes
    ----------
    title, subtitle : str
        Title and subtitle of the first page.
    answer : str
        Answer in one sentence.
    question : str
        Question of the study.
    verdict : str
        Verdict on the measurement.
    parts : tuple of str
        Answers to the parts of the question, each of one or more sentences.
    made_with : str
        Sentence that names the programs that wrote the report and the results folder.
    front : str
        Part of the report that is laid out as the first screen.
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
        """Title of the HTML page, which includes the verdict of the study."""
        return f"{self.title}: {self.verdict}" if self.verdict else self.title

    @property
    def summary_text(self) -> str:
        """Text for the copy button: question, answer, answers to the parts of the question, and verdict."""
        of_claims = "\n".join(f"{number}. {part}" for number, part in enumerate(self.parts, 1))
        verdict = f"{self.verdict}." if self.verdict else ""
        parts = (self.title, self.question, self.answer, of_claims, verdict, self.subtitle)
        return "\n\n".join(part for part in parts if part)

    def figures(self) -> list[Figure]:
        """Return all figures of the document, in the order in which they appear."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Figure)]


def numbering(sections: tuple[Section, ...]) -> dict[str, str]:
    """Return the number of each section by name: 1, 2, ..., and A, B, ... for appendices."""
    plain = [section for section in sections if not section.appendix]
    appended = [section for section in sections if section.appendix]
    return {
        **{section.name: str(number) for number, section in enumerate(plain, 1)},
        **{section.name: chr(ord("A") + index) for index, section in enumerate(appended)},
    }
