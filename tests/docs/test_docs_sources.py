"""Each measured number on a page has a named source file.

A number is measured if its section describes a measurement, or if it has an interval in brackets. The source is a file
of the repository that the section names, or a file of the results folder that a command on the page writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pages import ROOT, Page, page, pages, parse
from test_docs_figures import figures, is_printed, numbers_of
from test_docs_figures import sections as sections_with_raw_runs

_INTERVAL = re.compile(r"\d[\d.,]*(?: [^\s\d\[|]{1,12})? ?\[[−-]?\d[\d.,]*, [−-]?\d[\d.,]*\]")
_NUMBER = re.compile(r"\d[\d.,]* ?(?:%|ms|µs|s|/s|MiB|GiB|bytes|times)(?![\w/])")
_MEASURED = re.compile(r"\bMeasured (?:on|once|with)\b|\bwas measured here\b|\bmeasured on (?:one|two|\d)")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+|[\w-]+\.(?:csv|json|yaml|svg|py)")
_DATA = (".json", ".csv", ".svg", ".ipynb")
RESULTS = ("study-summary.json", "claims.json", "model.json", "prediction.json", "summary.json", "run.json")
"""Files of a results folder that contain numbers; `docs/reference/run-folder.md` describes them."""
_COMMAND = re.compile(r"towtank (?:run|drive|judge|rate|fit|model|size) ")
MADE = {"docs/certification.md": "make certify", "docs/reference/python.md": None}
"""Pages that a program writes completely, each with the command that the page names. The value is None if the page
shows function signatures and no numbers.
"""


@dataclass(frozen=True)
class Section:
    """Section of a page: its heading, and its lines of prose."""

    page: str
    line: int
    heading: str
    text: str

    @property
    def plain(self) -> str:
        """Text of a section without its inline code."""
        return re.sub(r"(`+)(?!`).+?\1", "", self.text)

    @property
    def is_measured(self) -> bool:
        """Return True if the section contains measured numbers."""
        about = self.heading.startswith("Measured") or _MEASURED.search(self.plain)
        return bool(_INTERVAL.search(self.plain) or (about and _NUMBER.search(self.plain)))

    def sources(self) -> list[str]:
        """Return the data files of the repository that a section names."""
        named = {path for text in re.findall(r"`([^`]+)`|\]\(([^()\s]+)\)", self.text) for path in _paths(text)}
        folder = (ROOT / self.page).parent
        kept = [
            path for path in named if path.endswith(_DATA) and ((ROOT / path).is_file() or (folder / path).is_file())
        ]
        return sorted(kept)

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.heading}"


def _paths(texts: tuple[str, ...]) -> Iterator[str]:
    for text in texts:
        yield from _PATH.findall(text)


def sections(found: Page) -> Iterator[Section]:
    """Split a page at its headings of level 2 and below."""
    start, heading, lines = 1, "", []
    for number, line in found.prose:
        if re.match(r"#{2,6} ", line):
            yield Section(found.name, start, heading, "\n".join(lines))
            start, heading, lines = number, line.lstrip("# "), []
        else:
            lines.append(line)
    yield Section(found.name, start, heading, "\n".join(lines))


def measured() -> list[Section]:
    """Return all sections of the pages that contain measured numbers."""
    return [
        section for found in pages() if found.name not in MADE for section in sections(found) if section.is_measured
    ]


def written_by_a_command(name: str) -> list[str]:
    """Return the files of a results folder that a page names; empty if no command of the page writes results."""
    text = (ROOT / name).read_text("utf-8")
    return [file for file in RESULTS if f"`{file}`" in text] if _COMMAND.search(text) else []


@pytest.mark.parametrize("section", measured(), ids=str)
def test_a_measured_number_names_its_file(section: Section) -> None:
    assert section.sources() or written_by_a_command(section.page), (
        "the section must name the file that contains its numbers"
    )


@pytest.mark.parametrize("name", MADE)
def test_pages_that_a_program_writes_say_so(name: str) -> None:
    made = MADE[name]
    assert made is None or f"`{made}`" in (ROOT / name).read_text("utf-8")


def test_files_of_results_are_described() -> None:
    text = (ROOT / "docs" / "reference" / "run-folder.md").read_text("utf-8")
    assert [name for name in RESULTS if name not in text] == []


def section_of(text: str) -> Section:
    return next(each for each in sections(parse("docs/README.md", text)) if each.heading)


@pytest.mark.parametrize(
    ("text", "is_measured", "sources"),
    [
        ("## A\nIt carries 566 [501, 659]/s.", True, []),
        (
            "## A\nIt answers in 1.12 [0.96, 1.36] s, see `tests/data/imports/users.csv`.",
            True,
            ["tests/data/imports/users.csv"],
        ),
        ("## A\nIt answers in 308 ms [121, 480], see `benches/nothing.json`.", True, []),
        ("## Measured here\nIt takes 12.8 s, see `README.md` and `benches/hiccups.c`.", True, []),
        ("## A\nMeasured once with nothing else at work: 9 % too high.", True, []),
        ("## A\nA value `1.5 [1.1, 2.0]`, default 100 ms, in [0, 1].", False, []),
    ],
)
def test_measured_numbers_and_their_sources_are_found(text: str, is_measured: bool, sources: list[str]) -> None:
    found = section_of(text)
    assert (found.is_measured, found.sources()) == (is_measured, sources)


_CELL = re.compile(r"(search_index \w+)\s+([\d,]+)\s+([\d,.]+) \[([\d,.]+), ([\d,.]+)\] /s")
_VALUE = re.compile(r"virtual users: ([\d,]+); throughput \[1/s\]: ([\d.,]+); configuration: ([\w ]+); dash")
_ENDS = re.compile(r"virtual users: ([\d,]+); [^\"]*configuration: ([\w ]+); high: ([\d.,]+); low: ([\d.,]+)\"")


def test_the_table_of_the_readme_is_that_of_its_figure() -> None:
    """The table and the figure of the README show the same run of the study.

    The throughput and the interval of each level agree to the printed digits.
    """
    figure = (ROOT / "docs/figures/content-users.svg").read_text("utf-8")
    values = {(name, _plain(users)): _plain(value) for users, value, name in _VALUE.findall(figure)}
    ends = {(name, _plain(users)): (_plain(low), _plain(high)) for users, name, high, low in _ENDS.findall(figure)}
    table = next(
        block.text for block in page("README.md").blocks if "configuration" in block.text and "[" in block.text
    )
    rows = _CELL.findall(table)
    assert len(rows) == len(values) == len(ends)
    for name, users, *shown in rows:
        key = name, _plain(users)
        # The three numbers of a row are rounded to the same digit. In a row rounded to tens, each may differ by five
        # from the figure's value.
        place = max(unit for unit in (1, 10, 100) if all(_plain(text) % unit == 0 for text in shown))
        for text, drawn in zip(shown, (values[key], *ends[key]), strict=True):
            assert _plain(text) == pytest.approx(drawn, abs=0.5 * place + 0.5), (key, text)


def _plain(text: str) -> float:
    return float(text.replace(",", ""))


NOT_MEASURED = {"1,024": "requests under way for which the engine has memory before the load begins"}
"""Numbers in the text of the performance page that are not measured, so the raw data do not contain them; each with its
meaning.
"""
_RAW = re.compile(r"`(benches/raw/[\w.-]+\.json)`")


@pytest.mark.parametrize("heading", sections_with_raw_runs())
def test_the_text_about_performance_has_the_numbers_of_its_raw_files(heading: str) -> None:
    """Numbers of three or more digits in the text, outside of code, are checked in the same way as those in tables.

    See `test_docs_figures.py`.
    """
    text = sections_with_raw_runs()[heading]
    values = [value for path in _RAW.findall(text) for value in numbers_of(path)]
    prose = [re.sub(r"`[^`]*`", "", line) for line in text.splitlines() if not line.startswith("|")]
    found = [number for line in prose for number in figures(f"| {line}")]
    assert [number for number in found if number not in NOT_MEASURED and not is_printed(number, values)] == []
