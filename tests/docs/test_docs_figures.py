"""Numbers in the tables of the performance page must agree with the raw data of the runs.

A number may be a value of a run, or the difference or ratio of two generators in a round. Medians over rounds are also
possible. Numbers of one or two digits are not checked, because they would match too easily.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from typing import Any

import pytest
from pages import ROOT, page

_NUMBER = re.compile(r"(?<![\w.−-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]*\d)")
_BENCH = re.compile(r"`python benches (?:--\S+ (?:\d+ )?)*(\w+)`")
_RAW = re.compile(r"`(benches/raw/[\w.-]+\.json)`")
_DIGITS = 3
# Factors from stored units to printed units: seconds to milliseconds or microseconds, shares to percent, counts to
# millions.
_SCALES = (1.0, 1e3, 1e6, 1e2, 1e-3, 1e-6)


@cache
def sections() -> dict[str, str]:
    """Return the text of each section of the page, by heading."""
    found: dict[str, str] = {}
    heading = ""
    for _, line in page("docs/performance.md").prose:
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif heading:
            found[heading] = f"{found.get(heading, '')}{line}\n"
    return {heading: text for heading, text in found.items() if _BENCH.search(text)}


def leaves(document: Any) -> Iterator[float]:
    if isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from leaves(part)
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield float(document)


def numbers_of(path: str) -> list[float]:
    """Return the numbers that can be derived from a raw file of measurements."""
    document = json.loads((ROOT / path).read_text("utf-8"))
    found = list(leaves(document))
    rows = document.get("runs")
    runs = [run for run in rows if isinstance(run, dict)] if isinstance(rows, list) else []
    rounds: dict[Any, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for run in runs:
        name = " ".join(str(value) for value in run.values() if isinstance(value, str))
        for key, value in run.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                rounds[run.get("round")][key][name] = float(value)
    grouped: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for by_key in rounds.values():
        for key, by_name in by_key.items():
            for name, value in by_name.items():
                grouped[key, name].append(value)
            for (own, first), (other, second) in permutations(by_name.items(), 2):
                grouped[key, own, other, "difference"].append(first - second)
                if second:
                    grouped[key, own, other, "ratio"].append(first / second)
                    grouped[key, own, other, "change"].append(first / second - 1)
    for values in grouped.values():
        found += [*values, statistics.median(values)]
    return [*found, *bytes_per_user(runs)]


def bytes_per_user(runs: list[dict[str, Any]]) -> Iterator[float]:
    """Yield the memory of the engine per user. [bytes]

    It is the maximum over a run divided by the number of users. For runs with few and with many users, it is the
    additional memory divided by the number of additional users.
    """
    for run in runs:
        if "samples" in run:
            yield max(sample["engine_bytes"] for sample in run["samples"]) / run["crowd"]["users"]
    sizes = {(run["round"], run["users"]): run["rss_bytes"] for run in runs if "rss_bytes" in run and "users" in run}
    if sizes:
        few, many = min(users for _, users in sizes), max(users for _, users in sizes)
        rounds = {number for number, _ in sizes}
        yield statistics.median((sizes[each, many] - sizes[each, few]) / (many - few) for each in rounds)


def is_printed(number: str, values: list[float]) -> bool:
    """Return True if a number on the page is the printed form of a value in one of the units."""
    plain = number.replace(",", "")
    half = 0.5 * 10.0 ** -len(plain.partition(".")[2]) * (1 + 1e-9)
    return any(abs(value * scale - float(plain)) <= half for value in values for scale in _SCALES)


def figures(text: str) -> list[str]:
    """Return the numbers in the tables of a section that have enough digits to be checked."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    found = [number for row in rows for number in _NUMBER.findall(row)]
    return [number for number in found if len(re.sub(r"\D", "", number)) >= _DIGITS]


@pytest.mark.parametrize("heading", sections())
def test_tables_have_the_numbers_of_their_raw_files(heading: str) -> None:
    text = sections()[heading]
    named = _RAW.findall(text)
    assert named, f"{heading}: this section names no file in benches/raw"
    values = [value for path in named for value in numbers_of(path)]
    assert [number for number in figures(text) if not is_printed(number, values)] == []


def test_benches_exist() -> None:
    benches = {path.stem for path in (ROOT / "benches").glob("*.py")}
    assert {bench for text in sections().values() for bench in _BENCH.findall(text)} <= benches


def test_another_number_is_not_found() -> None:
    assert is_printed("7.27", [0.00727])
    assert not is_printed("7.27", [0.00734, 0.0719])
    assert figures("| a 12 | 1,234 and 0.815 |\nnot 567\n") == ["1,234", "0.815"]
