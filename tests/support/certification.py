"""Writes the sections of `docs/certification.md`, which compare known true values with the values that Towtank reports.

A test marked `certify` uses one of three fixtures. `certified` compares a quantity with its known true value. `tabled`
adds a line to another table, such as the coverage of intervals. `tried` counts attacks and faults that must do no harm.
In `certified` and `tabled`, the test fails if a value is outside its tolerance.

The page is written only if the environment variable TOWTANK_CERTIFICATION is set, as `make certify` does.
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

Quantities with known true values, compared with the values that Towtank reports. The true values were counted by the
observed programs themselves, or follow from the construction of a case. `make certify` measures all quantities and
writes this page. A row outside its tolerance fails.
"""
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_QUANTITIES = "case | quantity | true value | reported value | difference | tolerance"


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
        """Return the text of the section without its title: description, machine and table."""
        machine = f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} CPUs"
        about = f"{self.about} " if self.about else ""
        rule = "|".join("---" for _ in self.columns.split(" | "))
        return f"{about}Measured on {machine}.\n\n| {self.columns} |\n|{rule}|\n" + "".join(lines)


@dataclass(frozen=True)
class Row:
    """A quantity: its known true value, and the value that Towtank reports."""

    case: str
    quantity: str
    truth: float
    shown: float
    unit: str
    relative: float
    absolute: float

    @property
    def holds(self) -> bool:
        """Return True if the difference from the true value is within the larger of the relative and the absolute
        tolerance.
        """
        return abs(self.shown - self.truth) <= max(self.relative * abs(self.truth), self.absolute)

    @property
    def cells(self) -> tuple[str, ...]:
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
    "attack or fault | attempts | without harm",
    "Attacks, faults and bad data that must do no harm; each test defines the possible harm.",
)
_LINES: dict[Section, list[str]] = {}
_TRIED: dict[str, tuple[int, int]] = {}
"""Number of attempts, and number of harmless attempts, for each kind of attack or fault."""
Certified = Callable[..., None]
Tabled = Callable[..., None]
Tried = Callable[..., None]


@pytest.fixture
def tabled() -> Iterator[Tabled]:
    """A function that stores a line of a table of the certification page. The test fails at its end if a line is
    outside its tolerance.
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
    """A function that compares a reported quantity with its true value, and stores the comparison as a row of the
    certification page.
    """

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
    """A function that counts attacks and faults. If the test passes, all of them count as harmless."""

    def count(what: str, times: int = 1) -> None:
        request.node.user_properties.append((_HARMS.name, (what, times)))

    return count


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the attempts that a test counted to the totals."""
    if report.when != "call":
        return
    for name, value in report.user_properties:
        if name == _HARMS.name:
            what, times = value  # type: ignore[misc]
            tries, harmless = _TRIED.get(what, (0, 0))
            _TRIED[what] = tries + times, harmless + times * report.passed


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def pytest_sessionfinish() -> None:
    """Write the measured sections of the certification page. All other sections remain unchanged."""
    if _TRIED:
        rows = [(what, f"{tries:,}", f"{harmless:,}") for what, (tries, harmless) in sorted(_TRIED.items())]
        _LINES[_HARMS] = [f"| {' | '.join(row)} |\n" for row in rows]
    if _LINES and FILE in os.environ:
        path = Path(os.environ[FILE])
        path.write_text(page(path.read_text("utf-8") if path.exists() else ""), "utf-8")


def page(before: str) -> str:
    """Return the new certification page; `before` is the text of the existing page."""
    sections = {name: body.strip("\n") + "\n" for name, body in _SECTION.findall(before)}
    sections |= {section.name: section.text(lines) for section, lines in _LINES.items()}
    return _HEAD + "".join(f"\n## {name}\n\n{body}" for name, body in sections.items())
