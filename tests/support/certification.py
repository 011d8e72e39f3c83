"""Writes the sections of `docs/certification.md`, which compare known values with the values that Towtank shows.

A test marked `certify` uses one of three fixtures. `certified` is called once for each quantity whose true value is
known. `tabled` is called for each line of another table, such as shares over many series. `tried` is called once for
each attack or fault that must do no harm. In `certified` and `tabled`, the test fails if a shown value is outside its
tolerance.
If `make certify` sets TOWTANK_CERTIFICATION, the sections are written.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

FILE = "TOWTANK_CERTIFICATION"
_HEAD = """# Certification

Quantities whose truth is known, as programs count them themselves or as they follow from their construction, beside
what Towtank shows of them. `make certify` measures them and writes this page; a row outside of what is allowed fails.
"""
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_QUANTITIES = "case | quantity | truth | shown | difference | tolerance"


@dataclass(frozen=True)
class Section:
    """Section of the certification page, with one table.

    Attributes
    ----------
    name : str
        Title of the section.
    columns : str
        Titles of the columns, separated by ` | `.
    about : str
        Description of the method and of the tolerance.
    """

    name: str
    columns: str
    about: str = ""

    def text(self, lines: list[str]) -> str:
        """Return the text below the title of the section: description, machine and table."""
        machine = f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} CPUs"
        about = f"{self.about} " if self.about else ""
        rule = "|".join("---" for _ in self.columns.split(" | "))
        return f"{about}Measured on {machine}.\n\n| {self.columns} |\n|{rule}|\n" + "".join(lines)


@dataclass(frozen=True)
class Row:
    """A quantity: its known true value, and the value that Towtank shows."""

    case: str
    quantity: str
    truth: float
    shown: float
    unit: str
    relative: float
    absolute: float

    @property
    def holds(self) -> bool:
        """Return True if the shown value differs from the true value by at most the relative or the absolute tolerance,
        whichever is larger.
        """
        return abs(self.shown - self.truth) <= max(self.relative * abs(self.truth), self.absolute)

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the cells of this row for the table of the page."""
        difference = f"{(self.shown / self.truth - 1) * 100:+.2f} %" if self.truth else f"{self.shown:+,.6g}"
        unit = f" {self.unit}" if self.unit else ""
        allowed = " or ".join(
            [
                *([f"{self.relative * 100:g} %"] if self.relative else []),
                *([f"{self.absolute:,.3g}{unit}"] if self.absolute else []),
            ]
        )
        return self.case, self.quantity, f"{self.truth:,.5g}{unit}", f"{self.shown:,.5g}{unit}", difference, allowed


_HARMS = Section(
    "Bad and hostile input",
    "what | times | without harm",
    "Attacks, faults and bad data that must do no harm; the tests state what harm is in each case.",
)
_LINES: dict[Section, list[str]] = {}
_TRIED: dict[str, tuple[int, int]] = {}
"""For each kind of attack or fault: the number of attempts, and the number of attempts that did no harm."""
Certified = Callable[..., None]
Tabled = Callable[..., None]
Tried = Callable[..., None]


@pytest.fixture
def tabled() -> Iterator[Tabled]:
    """Store lines of a table of the certification page. The test fails at its end if a line is outside its
    tolerance.
    """
    wrong: list[str] = []

    def record(section: Section, *cells: str, holds: bool) -> None:
        assert len(cells) == len(section.columns.split(" | ")), section
        line = f"| {' | '.join(cells)} |\n"
        _LINES.setdefault(section, []).append(line)
        if not holds:
            wrong.append(line.strip())

    yield record
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.fixture
def certified(tabled: Tabled) -> Certified:
    """Compare a shown quantity with its true value, and store the comparison as a row of the certification page."""

    def judge(
        section: str,
        case: str,
        quantity: str,
        *,
        truth: float,
        shown: float,
        unit: str,
        relative: float = 0.02,
        absolute: float = 0.0,
    ) -> None:
        row = Row(case, quantity, truth, shown, unit, relative, absolute)
        tabled(Section(section, _QUANTITIES), *row.cells, holds=row.holds)

    return judge


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Tried:
    """Count the attacks and faults that a test tries. If the test passes, all of them count as harmless."""

    def count(what: str, times: int = 1) -> None:
        request.node.user_properties.append((_HARMS.name, (what, times)))

    return count


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the counted attempts of a test to the counts of all tests."""
    if report.when != "call":
        return
    for name, value in report.user_properties:
        if name == _HARMS.name:
            what, times = value  # type: ignore[misc]
            tries, harmless = _TRIED.get(what, (0, 0))
            _TRIED[what] = tries + times, harmless + times * report.passed


def percent(share: float) -> str:
    """Format a share in per cent, as a cell of a table."""
    return f"{100 * share:.1f} %"


def pytest_sessionfinish() -> None:
    """Write the sections of the certification page that were measured. All other sections remain unchanged."""
    if _TRIED:
        rows = [(what, f"{tries:,}", f"{harmless:,}") for what, (tries, harmless) in sorted(_TRIED.items())]
        _LINES[_HARMS] = [f"| {' | '.join(row)} |\n" for row in rows]
    if _LINES and FILE in os.environ:
        path = Path(os.environ[FILE])
        path.write_text(page(path.read_text("utf-8") if path.exists() else ""), "utf-8")


def page(before: str) -> str:
    """Return the certification page, with new texts for the measured sections."""
    sections = {name: body.strip("\n") + "\n" for name, body in _SECTION.findall(before)}
    sections |= {section.name: section.text(lines) for section, lines in _LINES.items()}
    return _HEAD + "".join(f"\n## {name}\n\n{body}" for name, body in sections.items())
