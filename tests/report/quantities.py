"""Collects the numbers of a report from sentences, tables and figures, with the quantity of each number."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import quantities_of_models as models

from towtank.report.document import Bullets, Callout, Document, Figure, Paragraph, Table, Text
from towtank.report.source import Results

_NUMBER = r"[+−-]?[\d,]+(?:\.\d+)?"
_UNIT = r"(?:µs|ms|s|/s|transactions/s|CPUs|users|%|×)"
_FACTORS = {
    "%": 1.0,
    "×": 1.0,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "/s": 1.0,
    "transactions/s": 1.0,
    "CPUs": 1.0,
    "users": 1.0,
    "": 1.0,
}
_INTERVAL = r"(?: [\[(][^\])]*[\])])?"
# Pattern of numbers with a unit and, if there is one, an interval: `54.4 (48 to 60.7) /s`, `311 ms`, `54.4 [48, 60.7]
# /s`.
_VALUE = rf"(?P<number>{_NUMBER}){_INTERVAL} (?P<unit>{_UNIT})"
_CELL = re.compile(rf"^(?P<number>{_NUMBER}){_INTERVAL}\s?(?P<unit>{_UNIT})?(?: †)?$")
Key = tuple[str, str, float]
"""Identification of a number in a report: its quantity, its configuration and its load."""


@dataclass(frozen=True)
class Number:
    """A number shown in a report.

    Attributes
    ----------
    place : str
        Sentence, table or figure that contains the number.
    value : float
        Value in base units.
    half_digit : float
        Half a unit of the last printed digit: the largest error of rounding.
    """

    place: str
    value: float
    half_digit: float

    def agrees(self, other: Number) -> bool:
        """Return True if both numbers may be roundings of the same value."""
        return abs(self.value - other.value) <= (self.half_digit + other.half_digit) * (1 + 1e-6) + 1e-12


def _number(place: str, number: str, unit: str) -> Number:
    digits = number.replace(",", "").replace("−", "-").rstrip(".")
    decimals = len(digits.partition(".")[2])
    step = 10.0**-decimals
    if "." not in digits and digits.strip("-0"):
        # Trailing zeros of a whole number may be the result of rounding, so `1,230` has three significant digits.
        step = 10.0 ** (len(digits) - len(digits.rstrip("0")))
    return Number(place, float(digits) * _FACTORS[unit], step / 2 * _FACTORS[unit])


# Patterns of sentences with numbers, by name of the quantity. They begin with the text after the name of the
# configuration.
_AT = rf"at (?P<load>{_NUMBER}) users"
# Before the throughput, the headline may state results about objectives.
_ANSWER = r"(?:, the system [^;]*;|,)"
_SENTENCES: tuple[tuple[str, str], ...] = (
    ("throughput", rf"{_ANSWER} throughput reaches {_VALUE} {_AT}"),
    ("response time", rf"{_ANSWER} throughput reaches [^;]*?{_AT} with a mean response time of {_VALUE}"),
    ("throughput", rf", throughput grows from {_VALUE} {_AT}"),
    ("throughput", rf", throughput grows from .*? users to {_VALUE} {_AT}"),
    ("response time", rf", the mean response time changes from {_VALUE} {_AT}"),
    ("response time", rf", the mean response time changes from .*? users to {_VALUE} {_AT}"),
    ("p95", rf", the mean response time changes from .*? users to .*? {_AT}, .*?; p95 is {_VALUE} there"),
    ("CPUs of {tier}", rf", {_AT} (?P<tier>\S+) uses {_VALUE}, "),
    ("CPU demand at {tier}", rf", {_AT} (?P<tier>\S+) uses [^;]*?, {_VALUE} of CPU time per transaction"),
    ("highest throughput", rf", the limit is .*?; the highest throughput seen is {_VALUE}"),
    ("knee by demands", rf", the demands at the lowest load put the knee \(D \+ Z\) / D_max at {_VALUE}"),
)
_NO_LOAD = -1.0
_WITH = r"With (?P<configuration>[^;:]+?)"
_COMPARED = re.compile(
    rf"At (?P<load>{_NUMBER}) users, (?P<factor>\S+) (?P<to>\S+) instead of (?P<from>\S+) changes "
    rf"(?:throughput|the mean response time of (?P<transaction>\S+)|"
    rf"the CPU demand of a transaction at (?!the )(?P<tier>\S+)) from "
    rf"(?P<a>{_NUMBER}){_INTERVAL} (?P<au>{_UNIT}) to "
    rf"(?P<b>{_NUMBER}){_INTERVAL} (?P<bu>{_UNIT})"
)


def _of_sentence(place: str, sentence: str, labels: list[str]) -> Iterator[tuple[Key, Number]]:
    # Sentences write levels as in the study file, and labels of tables and figures with a blank.
    sentence = sentence.replace(" = ", " ")
    for quantity, pattern in (*_SENTENCES, *models.SENTENCES):
        for found in re.finditer(_WITH + pattern, sentence):
            if found["configuration"] in labels:
                groups = found.groupdict()
                load = float(groups["load"].replace(",", "")) if groups.get("load") else _NO_LOAD
                name = quantity.format(tier=groups.get("tier"))
                number = _number(place, found["number"], found["unit"])
                if name.startswith("100 - "):
                    name, number = name.removeprefix("100 - "), replace(number, value=100 - number.value)
                yield (name, found["configuration"], load), number
    for found in _COMPARED.finditer(sentence):
        transaction, tier = found["transaction"], found["tier"]
        quantity = f"response time of {transaction}" if transaction else "throughput"
        quantity = f"CPU demand at {tier}" if tier else quantity
        for level, number, unit in (("from", "a", "au"), ("to", "b", "bu")):
            label = f"{found['factor']} {found[level]}"
            if label in labels:
                load = float(found["load"].replace(",", ""))
                yield (quantity, label, load), _number(place, found[number], found[unit])


# Quantity for each name in a column of statistics.
_STATISTICS = {
    "mean": "response time",
    "median": "p50",
    "90th percentile": "p90",
    "95th percentile": "p95",
    "99th percentile": "p99",
}
# For each table caption: the quantity in each column, or the column that contains the names of the quantities.
_TABLES: dict[str, dict[str, str]] = {
    "Results by configuration and load": {
        "Throughput": "throughput",
        "Mean response": "response time",
        "95th percentile": "p95",
        "CPUs used, content": "CPUs of content",
    },
    "Limit of the system in the range measured": {
        "Knee": "knee by demands",
        "Highest throughput": "highest throughput",
    },
    "Results in brief": {"Carries": "throughput", "p95 there": "p95"},
    "Percentiles of the response time": {"Median": "p50", "90th percentile": "p90", "99th percentile": "p99"},
    "Throughput of completed transactions": {"Throughput": "throughput"},
    "Throughput and response time": {
        "Throughput": "throughput",
        "Mean response time": "response time",
        "95th percentile of response time": "p95",
    },
    "Fitted curve and measured values by level": {
        "Throughput measured": "throughput",
        "Response time measured": "response time",
    },
    "Response time of all transactions together": {"Response time": "Statistic"},
    "Percentiles by load": {"Response time": "Statistic"},
    "Mean response time per transaction": {"Mean response time": "Transaction"},
}
_LOADS = ("Virtual users", "At", "Users")


def _cells(titles: list[str], row: tuple[str, ...]) -> dict[str, str]:
    """Return the cells of a table row by column title. If several columns have the same title, the first column is
    used.
    """
    cells: dict[str, str] = {}
    for title, cell in zip(titles, row, strict=True):
        cells.setdefault(title, cell)
    return cells


def _of_models(table: Table, results: Results) -> Iterator[tuple[Key, Number]]:
    """Yield the numbers in the tables of models, of percentages and of knees of the throughput curve."""
    titles, ends, place = [column.title for column in table.columns], models.ends(results), f"table {table.caption}"
    alone = results.configurations[0].label if len(results.configurations) == 1 else ""
    for row in table.rows:
        cells = _cells(titles, row)
        label = cells.get("Configuration", alone).removesuffix(" †")
        shown_load = next((cells[name] for name in _LOADS if name in cells), f"{_NO_LOAD:g}").removesuffix(" †")
        found_load = float(shown_load.replace(",", "")) if re.fullmatch(_NUMBER, shown_load) else _NO_LOAD
        if table.caption.startswith("Limit of the system"):
            said = f"With {label}, the limit is {cells['Limited by']}: {cells['Evidence']}"
            yield from _of_sentence(place, said, [label])
        for name, number in models.used(cells.get("Utilization measured, predicted", "")):
            yield (name, label, found_load), _number(place, number, "%")
        for column, quantity, own in models.names(table, cells):
            found = _CELL.match(cells[column].replace("\N{NO-BREAK SPACE}", " "))
            load = found_load if own is None else own
            if quantity[-2:] in (" <", " >"):
                load = ends[label][quantity.endswith(">")]
            if found is not None:
                yield (quantity.rstrip(" <>"), label, load), _number(place, found["number"], found["unit"] or "")


def _derived(numbers: dict[Key, list[Number]]) -> Iterator[tuple[Key, Number]]:
    """Derive further quantities from the numbers of a report.

    These are the highest utilization and the largest held-out error over all load levels, the growth of response time
    as a number without a load, and the CPUs of each part of a tier in per cent of the CPUs of this part and the tier's
    rest together.
    """
    of_levels = {"utilization of ": "highest utilization of ", "held-out error": "largest held-out error"}
    largest: dict[Key, Number] = {}
    for (name, label, _), shown in numbers.items():
        if name == "growth of response time":
            yield ("growth of response time of the levels", label, _NO_LOAD), shown[0]
    for (name, label, load), shown in numbers.items():
        for start, whole in of_levels.items():
            if name.startswith(start) and load != _NO_LOAD:
                # The number in the figure is preferred, because it is not rounded.
                exact = min(shown, key=lambda number: number.half_digit)
                key = (whole + name.removeprefix(start), label, _NO_LOAD)
                worst = largest.get(key)
                if worst is None or abs(exact.value) > abs(worst.value):
                    largest[key] = exact
        tier, _, part = name.removeprefix("CPUs of ").partition(": ")
        rest = numbers.get((f"CPUs of {tier}: rest", label, load))
        if name.startswith("CPUs of ") and part not in ("", "rest") and rest and shown:
            first, other = shown[0], rest[0]
            total = first.value + other.value
            error = (first.half_digit * other.value + other.half_digit * first.value) / total**2
            yield (f"share of {part}", label, load), Number(first.place, 100 * first.value / total, 100 * error)
    yield from largest.items()


def _of_table(table: Table) -> Iterator[tuple[Key, Number]]:
    titles = [column.title for column in table.columns]
    if table.caption == "Comparison of configurations at equal load":
        yield from _of_comparisons(table)
        return
    at_load = re.match(rf"Transactions at (?P<load>{_NUMBER}) ", table.caption)
    columns = {"Mean response": "Transaction"} if at_load else _TABLES.get(table.caption)
    if columns is None:
        return
    for row in table.rows:
        cells = _cells(titles, row)
        label = cells["Configuration"].removesuffix(" †")
        found_load = next((cells[name] for name in _LOADS if name in cells), f"{_NO_LOAD:g}")
        shown_load = at_load["load"] if at_load else found_load
        for column, quantity in columns.items():
            found = _CELL.match(cells.get(column, "").replace("\N{NO-BREAK SPACE}", " "))
            if found is None or not re.match(_NUMBER, shown_load):
                continue
            names = {
                "Statistic": _STATISTICS.get(cells.get("Statistic", "")),
                "Transaction": f"response time of {cells.get('Transaction')}",
            }
            name = names.get(quantity) or quantity
            load = float(shown_load.removesuffix(" †").replace(",", ""))
            yield (name, label, load), _number(f"table {table.caption}", found["number"], found["unit"] or "")


_QUANTITIES = (
    (r"throughput", "throughput"),
    (r"mean of the response time", "response time"),
    (r"mean of the response time of (\S+)", r"response time of \1"),
    (r"CPU demand of (\S+)", r"CPU demand at \1"),
)


def _of_comparisons(table: Table) -> Iterator[tuple[Key, Number]]:
    """Yield both compared values of each row in the table of comparisons."""
    for row in table.rows:
        shown, at, change, *values = (cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row)
        patterns = ((re.fullmatch(pattern, shown), name) for pattern, name in _QUANTITIES)
        name = next((found.expand(name) for found, name in patterns if found), None)
        changed = re.fullmatch(r"(\S+) (\S+) → (\S+)", change)
        if name is None or changed is None:
            continue
        for level, value in zip(changed.groups()[1:], values, strict=False):
            found = _CELL.match(value)
            if found is not None:
                key = (name, f"{changed[1]} {level}", float(at.replace(",", "")))
                yield key, _number(f"table {table.caption}", found["number"], found["unit"] or "")


def _panels(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return spec.get("hconcat") or spec.get("vconcat") or [spec]


def _of_figure(figure: Figure) -> Iterator[tuple[Key, Number]]:
    """Yield the numbers of the points in figures of throughput, response time and percentiles."""
    place = f"figure {figure.name}"
    for key_of_model, value in models.of_figure(figure):
        # Loads of knees are rounded to three digits in figures.
        error = 0.5 * 10 ** (math.floor(math.log10(abs(value))) - 2) if value else 0.0
        yield key_of_model, Number(place, value, error)
    for panel in _panels(figure.spec or {}):
        rows = (panel.get("data") or {}).get("values") or ()
        words = str(panel)
        unit = next((found[1] for found in re.finditer(r"time \[(µs|ms|s)\]", words)), "s")
        for row in rows:
            shown = row.get("value", row.get("cpus"))
            if row.get("state") == "invalid" or "load" not in row or shown is None:
                continue
            key: str | None = None
            if figure.name == "throughput" and "throughput [1/s]" in words:
                key, factor = "throughput", 1.0
            elif figure.name in ("throughput", "response-time"):
                key, factor = ("p95" if "95th percentile of" in words else "response time"), _FACTORS[unit]
            elif figure.name == "percentiles":
                key, factor = _STATISTICS[row["statistic"]], _FACTORS[unit]
            elif figure.name == "cpu-by-tier" and ":" not in row["part"]:
                key, factor = f"CPUs of {row['part']}", 1.0
            elif figure.name == "transactions" and "transaction" in row and row.get("configuration"):
                unit = next((found[1] for found in re.finditer(r"time \[(µs|ms|s)\]", words)), "s")
                key, factor = f"response time of {row['transaction']}", _FACTORS[unit]
            if key is not None:
                value = float(shown) * factor
                yield (key, str(row["configuration"]), float(row["load"])), Number(place, value, 1e-9 * abs(value))


def _plain(content: Text) -> str:
    return "".join(run.text for run in content)


def _sentences(document: Document) -> Iterator[tuple[str, str]]:
    for section in document.sections:
        for block in section.blocks:
            texts: list[str] = []
            if isinstance(block, Paragraph):
                texts = [_plain(block.content)]
                # The patterns expect sentences that begin with `With` and a configuration. A sentence about a model
                # begins with the configuration itself.
                texts += [f"With {texts[0]}"] if section.name == "trust" else []
            elif isinstance(block, Callout):
                texts = [_plain(content) for content in block.content]
                texts += [f"With {block.title}, {text}" for text in texts if block.title]
            elif isinstance(block, Bullets):
                texts = [_plain(item) for item in block.items]
            for text in texts:
                yield f"sentence of {section.name}: {text}", text


def collect(document: Document, results: Results) -> dict[Key, list[Number]]:
    """Return all numbers of a report whose quantity, configuration and load are known."""
    labels = [configuration.label for configuration in results.configurations]
    found: dict[Key, list[Number]] = defaultdict(list)
    for place, sentence in _sentences(document):
        for key, number in _of_sentence(place, sentence, labels):
            found[key].append(number)
    for section in document.sections:
        for block in section.blocks:
            tables = [block] if isinstance(block, Table) else []
            if isinstance(block, Figure):
                tables += [block.table] if block.table else []
                for key, number in _of_figure(block):
                    found[key].append(number)
            for table in tables:
                for key, number in (*_of_table(table), *_of_models(table, results)):
                    found[key].append(number)
    for key, number in list(_derived(found)):
        found[key].append(number)
    return found


def disagreements(numbers: dict[Key, list[Number]]) -> list[str]:
    """Return all pairs of numbers that state the same quantity but cannot be roundings of the same value."""
    return [
        f"{key}: {first.value:g} in {first.place}, {second.value:g} in {second.place}"
        for key, shown in numbers.items()
        for index, first in enumerate(shown)
        for second in shown[index + 1 :]
        if not first.agrees(second)
    ]
