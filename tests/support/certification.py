"""Rows of `docs/certification.md`: a quantity as it is known, beside what Towtank shows of it.

A test marked `certify` takes the fixture `certified` and calls `certified(...)` once for each row. The call fails
where the two differ by more than the tolerance. `make certify` sets TOWTANK_CERTIFICATION, and the rows are written.
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
what Towtank shows of them. `make certify` measures them and writes this page; a row outside its tolerance fails.
"""
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_COLUMNS = "| case | quantity | truth | shown | difference | tolerance |\n|---|---|---:|---:|---:|---|\n"


@dataclass(frozen=True)
class Row:
    """One row of a section."""

    case: str
    quantity: str
    truth: float
    shown: float
    unit: str
    relative: float
    absolute: float

    @property
    def holds(self) -> bool:
        """Whether what is shown is within the larger of both tolerances."""
        return abs(self.shown - self.truth) <= max(self.relative * abs(self.truth), self.absolute)

    def line(self) -> str:
        """The row in the page."""
        difference = f"{(self.shown / self.truth - 1) * 100:+.2f} %" if self.truth else f"{self.shown:+,.6g}"
        unit = f" {self.unit}" if self.unit else ""
        allowed = f"{self.relative * 100:g} %" + (f" or {self.absolute:,g}{unit}" if self.absolute else "")
        cells = (f"{self.truth:,.5g}{unit}", f"{self.shown:,.5g}{unit}", difference, allowed)
        return f"| {self.case} | {self.quantity} | {' | '.join(cells)} |\n"


ROWS: dict[str, list[Row]] = {}
"""By section."""
Certified = Callable[..., None]


@pytest.fixture
def certified(request: pytest.FixtureRequest) -> Iterator[Certified]:
    """Judge a row and keep it for the page; all rows of a test are judged before it fails."""
    wrong: list[str] = []

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
        ROWS.setdefault(section, []).append(row)
        if not row.holds:
            wrong.append(row.line().strip())

    yield judge
    assert not wrong, "\n" + "\n".join(wrong)


def pytest_sessionfinish() -> None:
    """Write the sections that were measured; others stay."""
    if ROWS and FILE in os.environ:
        path = Path(os.environ[FILE])
        path.write_text(page(path.read_text("utf-8") if path.exists() else ""), "utf-8")


def page(before: str) -> str:
    """Return the page with the sections that were measured in place of what they were before."""
    sections = {name: body.strip("\n") + "\n" for name, body in _SECTION.findall(before)}
    machine = f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} CPUs"
    for name, rows in ROWS.items():
        sections[name] = f"\nMeasured on {machine}.\n\n{_COLUMNS}" + "".join(row.line() for row in rows)
    return _HEAD + "".join(
        f"\n## {name}\n{body if body.startswith(chr(10)) else chr(10) + body}" for name, body in sections.items()
    )
