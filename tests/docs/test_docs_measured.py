"""Numbers in the sections `Measured here` of the studies must be in `measured.json` beside the page.

`scripts/measured` writes this file from a results folder; a study without the file has no such section. A number agrees
with a value if it is the value rounded to the printed digit, in the unit of the file or a usual multiple of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT

_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]*\d)")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\([^()\s]+\)")
_SCALES = (1.0, 1e3, 1e6, 1e2, 1e-3, 1e-6)
_DIGITS = 3


def section_of(text: str) -> str:
    """Return the section `Measured here` of a page; empty if there is none."""
    return text.partition("\n## Measured here\n")[2].partition("\n## ")[0]


def place_of(text: str) -> float:
    """Return the place value of the last digit of a number that counts.

    Zeros at the end of a whole number do not count after the first `_DIGITS` digits, because they may be rounded.

    Examples
    --------
    >>> place_of("3,650"), place_of("120"), place_of("0.93"), place_of("20,925")
    (10.0, 1.0, 0.01, 1.0)
    """
    whole, _, decimals = text.replace(",", "").partition(".")
    if decimals:
        return 10.0 ** -len(decimals)
    zeros = len(whole) - len(whole.rstrip("0"))
    return 10.0 ** max(0, min(zeros, len(whole) - _DIGITS))


def is_printed(text: str, values: list[float]) -> bool:
    """Return True if a number of the page is one of the values, in one of the units."""
    plain, half = float(text.replace(",", "")), 0.5 * place_of(text) * (1 + 1e-9)
    return any(abs(abs(value) * scale - plain) <= half for value in values for scale in _SCALES)


def leaves(document: object) -> Iterator[float]:
    if isinstance(document, Mapping | list):
        for part in document.values() if isinstance(document, Mapping) else document:
            yield from leaves(part)
    elif re.fullmatch(r"\d+(?:\.\d+)?", text := str(document)) or isinstance(document, float):
        yield float(text)


def rows(section: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the cells of the head and of each row of the tables of a section."""
    head: list[str] = []
    for line in section.splitlines():
        if not line.startswith("|"):
            head = []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if head and not set(line) <= set("|- "):
            yield head, cells
        head = head or cells


def faults_of(section: str, document: Mapping[str, Any]) -> list[str]:
    """Return the numbers, verdicts and runs of a section that the file does not have."""
    day = date.fromisoformat(document["date"])
    found = [*_of_head(section, document, day), *_of_invalid(section, document)]
    prose = "\n".join(line for line in section.splitlines() if not line.startswith("|"))
    dates_and_runs = [day.day, day.year, sum(document["runs"].values())]
    everything = [*leaves({**document, "not_measured": None}), *dates_and_runs]
    found += _missing(prose, everything, document)
    by_number = {str(claim["number"]): claim for claim in document["claims"]}
    for head, cells in rows(section):
        if head[0] == "no.":
            found += _of_claim(dict(zip(head, cells, strict=True)), by_number.get(cells[0]))
        else:
            found += [f"{' | '.join(cells[:2])}: {fault}" for fault in _of_row(head, cells, document)]
    return found


def _missing(text: str, values: list[float], document: Mapping[str, Any]) -> list[str]:
    plain = _LINK.sub("]", _CODE.sub("", text))
    numbers = [number for number in _NUMBER.findall(plain) if number not in document["not_measured"]]
    return [f"{number} is not in the file" for number in numbers if not is_printed(number, values)]


def _of_head(section: str, document: Mapping[str, Any], day: date) -> Iterator[str]:
    maker = re.match(r"\w+", document["machine"]["cpu_model"])
    for words in (f"{day.day} {day:%B %Y}", maker[0] if maker else ""):
        if words not in section:
            yield f"{words} is not on the page"
    for level, count in document["runs"].items():
        if any(int(shown) != count for shown in re.findall(rf"(\d+) {level}\b", section)) or (
            count and not re.search(rf"\b{count} {level}\b", section)
        ):
            yield f"{count} {level} runs"


def _of_invalid(section: str, document: Mapping[str, Any]) -> Iterator[str]:
    used = {run for each in (*document["claims"], *document["quantities"]) for run in each["runs"]}
    for run in sorted(set(document["invalid"]) & (used | set(_CODE.findall(section)))):
        yield f"{run} is invalid"


def _of_claim(cells: Mapping[str, str], claim: Mapping[str, Any] | None) -> Iterator[str]:
    if claim is None:
        yield f"claim {cells['no.']} is not in the file"
        return
    about = f"claim {cells['no.']}: "
    verdict = {"undecided": "not decided"}.get(claim["verdict"], claim["verdict"])
    expected = {"must be": claim["holds"], "blocks": str(claim["decided_after"] or "–")}
    yield from (f"{about}{name} must be {value}" for name, value in expected.items() if cells[name] != value)
    if not cells["verdict"].startswith(verdict):
        yield f"{about}the verdict must be {verdict}"
    if sorted(_CODE.findall(cells["verdict"])) != claim["suspect_runs"]:
        yield f"{about}it leans on {claim['suspect_runs']}"
    values = [claim[name] for name in ("value", "low", "high") if claim[name] is not None]
    yield from (f"{about}{number}" for number in _NUMBER.findall(cells["found"]) if not is_printed(number, values))


def _of_row(head: list[str], cells: list[str], document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the numbers of a row that no quantity at the levels of the row has."""
    levels = {str(level) for each in document["quantities"] for level in each["at"].values()}
    of_row = {code for cell in cells for code in _CODE.findall(cell)} & levels
    for title, cell in zip(head, cells, strict=True):
        own = of_row | ({*_CODE.findall(title)} & levels)
        quantities = [each for each in document["quantities"] if own <= set(map(str, each["at"].values()))]
        values = [*leaves(quantities), *(float(len(each["runs"])) for each in quantities)]
        yield from _missing(cell, values, document)


def kept() -> list[Path]:
    return sorted(ROOT.glob("studies/*/measured.json"))


def read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("path", kept(), ids=lambda path: path.parent.name)
def test_numbers_of_a_study_are_those_of_its_file(path: Path) -> None:
    section = section_of((path.parent / "README.md").read_text("utf-8"))
    assert faults_of(section, read(path)) == []


@pytest.mark.parametrize("path", kept(), ids=lambda path: path.parent.name)
def test_numbers_that_were_not_measured_have_a_meaning(path: Path) -> None:
    document, text = read(path), (path.parent / "README.md").read_text("utf-8")
    assert all(document["not_measured"].values())
    assert [number for number in document["not_measured"] if number not in section_of(text)] == []


def test_each_study_with_measured_values_has_its_file() -> None:
    pages = [path for path in ROOT.glob("studies/*/README.md") if section_of(path.read_text("utf-8"))]
    without = {path.parent.name for path in pages if not (path.parent / "measured.json").exists()}
    assert without == set()


EXAMPLE: dict[str, Any] = {
    "date": "2026-11-29",
    "machine": {"cpu_model": "Example CPU", "cpus": 2},
    "minutes": 7,
    "runs": {"valid": 3, "suspect": 1, "invalid": 1},
    "invalid": ["r005"],
    "claims": [
        {
            "number": 1,
            "holds": "> 1.2",
            "verdict": "confirmed",
            "decided_after": 2,
            "suspect_runs": ["r004"],
            "runs": ["r001", "r004"],
            "value": 1.5149,
            "low": 1.31,
            "high": 1.7,
        }
    ],
    "quantities": [
        {"of": "throughput", "at": {"link": "veth"}, "value": 3654.2, "low": 3510.0, "high": 3798.0, "runs": ["r001"]},
        {"of": "throughput", "at": {"link": "tun"}, "value": 212.3, "low": 209.0, "high": 215.0, "runs": ["r002"]},
    ],
    "not_measured": {"12.3": "Gbit/s in the reference"},
}
PAGE = """
Two CPUs of an Example, 29 November 2026, 5 runs in 7 min: 3 valid, 1 suspect, 1 invalid. The reference has 12.3 Gbit/s.

| `link` | throughput [1/s] |
|---|---|
| `veth` | 3,650 [3,510, 3,800] |
| `tun` | 212 [209, 215] |

| no. | claim | must be | found | blocks | verdict |
|---|---|---|---|---|---|
| 1 | It is 9 times as fast | > 1.2 | 1.51 [1.31, 1.7] | 2 | confirmed, leans on `r004` |
"""


def test_a_page_with_the_numbers_of_its_file_has_no_fault() -> None:
    assert faults_of(PAGE, EXAMPLE) == []


@pytest.mark.parametrize(
    ("text", "other", "fault"),
    [
        ("3,650", "3,660", "`veth` | 3,660 [3,510, 3,800]: 3,660 is not in the file"),
        ("| 212 [", "| 3,650 [", "`tun` | 3,650 [209, 215]: 3,650 is not in the file"),
        ("1.51 [", "1.52 [", "claim 1: 1.52"),
        ("> 1.2 |", "> 1.3 |", "claim 1: must be must be > 1.2"),
        ("confirmed,", "refuted,", "claim 1: the verdict must be confirmed"),
        ("`r004`", "`r003`", "claim 1: it leans on ['r004']"),
        ("3 valid", "4 valid", "3 valid runs"),
        ("29 November", "28 November", "29 November 2026 is not on the page"),
        ("of an Example", "of another", "Example is not on the page"),
        ("5 runs", "6 runs", "6 is not in the file"),
        ("12.3", "12.4", "12.4 is not in the file"),
        ("The reference", "Run `r005`: the reference", "r005 is invalid"),
    ],
)
def test_a_number_that_the_file_does_not_have_is_a_fault(text: str, other: str, fault: str) -> None:
    assert text in PAGE
    assert fault in faults_of(PAGE.replace(text, other, 1), EXAMPLE)


def test_a_value_of_an_invalid_run_is_a_fault() -> None:
    quantity = {**EXAMPLE["quantities"][0], "runs": ["r005"]}
    assert "r005 is invalid" in faults_of(PAGE, {**EXAMPLE, "quantities": [quantity]})
