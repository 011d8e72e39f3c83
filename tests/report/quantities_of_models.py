"""Collects the numbers of models, percentages and knees of a report, with the quantity of each number.

If several methods estimate a quantity, it has one name for each method.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from towtank.report.content.methods import KNEES, VALUES
from towtank.report.document import Document, Figure, Table
from towtank.report.source import Results

Quantity = tuple[str, str, float]
NO_LOAD = -1.0
_KNEES = {
    "demands at the lowest load": "knee by demands",
    "objective": "knee by objective",
    "model, (D + Z) / D_max": "knee by model",
    "peak of the scalability law": "knee by peak",
    "efficiency, largest X / R": "knee by efficiency",
    "break between two lines": "knee by break",
}
# Rows of the table of values: pattern of the quantity, pattern of the method, and name of the quantity by this method.
_METHODS: tuple[tuple[str, str, str], ...] = (
    (r"highest throughput", r"measured", "highest throughput"),
    (r"highest throughput", r"limit of the curve \(\S+\)", "limit of the curve"),
    (r"highest throughput", r"limit of the network, at \S+", "limit of the network"),
    (
        r"throughput at (?P<load>\S+) \S+ relative to the throughput without waiting",
        r"line of ideal scaling, .*",
        "share of ideal",
    ),
    (
        r"throughput at \S+ \S+ relative to the throughput without waiting",
        r"line through the lowest level",
        "share of the lowest line",
    ),
    (r"CPU demand of (?P<of>.+) at (?P<load>\S+) \S+", r"CPU time divided by .*", "CPU demand at {of}"),
    (r"CPU demand of (?P<of>.+) at \S+ \S+", r"slope of utilization .*", "slope of the demand at {of}"),
)
FAMILIES: tuple[tuple[str, ...], ...] = (
    tuple(_KNEES.values()),
    ("highest throughput", "limit of the curve", "limit of the network"),
    ("share of ideal", "share of the lowest line"),
    ("CPU demand at content", "slope of the demand at content"),
)
"""Each group contains the names of one quantity, one name for each method. Sentences use the first name of a group."""
# Columns of tables by caption, in addition to those in `quantities`. Of two columns with the same title, only the first
# counts.
COLUMNS: dict[str, dict[str, str]] = {
    "Throughput relative to the lowest level": {
        "Relative throughput": "growth of throughput",
        "Share of ideal": "share of ideal",
    },
    "Fitted curve and measured values by level": {"Misses by": "residual of the curve"},
    "Residuals of the models": {"Residual of the throughput": "residual of the {Model}"},
    "Utilization by load": {"Measured": "utilization of {Resource}"},
    "Held-out levels: prediction of the curve and measurement": {
        "Throughput measured": "throughput",
        "Response time measured": "response time",
        "Error": "held-out error",
    },
    "Held-out levels: prediction of the network and measurement": {
        "Throughput measured": "throughput",
        "Response time measured": "response time",
    },
    "Held-out levels by transaction: prediction of the network and measurement": {
        "Response time measured": "response time of {Transaction}",
    },
    "CPU demand of one transaction, from the slope of CPU use against throughput": {
        "CPU demand per transaction": "slope of the demand at {Tier}",
    },
    "Demands of the mean transaction by resource": {
        "Demand, 95 % interval": "slope of the demand at {Resource}",
        "At lowest load": "CPU demand at {Resource} <",
        "At highest load": "CPU demand at {Resource} >",
    },
    "CPUs used by tier": {"CPUs used": "CPUs of {Tier or part}"},
    "Results by configuration and load": {"Errors": "share of failed transactions"},
}
_AT = r"at (?P<load>[\d,.]+) users"
_PERCENT = r"(?P<number>[\d,.]+)(?: [(][^)]*[)])? (?P<unit>%)"
_BARE = r"(?P<number>[\d,.]+)(?: [(][^)]*[)])?(?P<unit>) times"
_FACTOR = r"(?P<number>\d+(?:\.\d+)?)(?P<unit>)"
_SIGNED = r"(?P<number>[+−-]?[\d,.]+)(?: \[[^\]]*\])? (?P<unit>%)"
_RATE = r"(?P<number>[\d,.]+)(?: \[[^\]]*\])? (?P<unit>transactions/s)"
_CPU_LIMIT = rf", the limit is the CPU of \S+: {_AT} throughput is "
# Patterns of sentences that begin with a configuration. With the name `100 - NAME`, the quantity NAME is 100 minus the
# number.
SENTENCES: tuple[tuple[str, str], ...] = (
    ("growth of throughput", rf", throughput grows from .*? users to [^:]*?{_AT}: {_BARE} as much"),
    ("share of ideal", rf", throughput grows from .*? users to [^:]*?{_AT}: .*? the load, {_PERCENT} of ideal scaling"),
    ("growth of response time", rf", the mean response time changes from .*? users to .*? {_AT}, {_BARE} as long"),
    ("growth of response time of the levels", rf", .*?response time grew by a factor of {_FACTOR}"),
    ("100 - share of ideal", rf"{_CPU_LIMIT}{_PERCENT} below the ideal line"),
    ("utilization of {tier}", rf"{_CPU_LIMIT}.*? while (?P<tier>\S+) uses \S+ CPUs, {_PERCENT} of its CPUs"),
    ("share of {tier}", rf", {_AT} \S+ uses .*? of CPU time per transaction; {_PERCENT} of it in the (?P<tier>\w+)"),
    ("share of failed transactions", rf", {_AT} {_PERCENT} of the transactions fail"),
    ("highest utilization of {tier}",
     rf", .*?with the highest utilization is (?P<tier>\S+), {_PERCENT} at most"),
    ("limit of the curve", rf", .*?the limit of the curve is {_RATE}"),
    ("limit of the network", rf", network, .*?[Bb]ottleneck is \S+: \S+ serves {_RATE} at most"),
    ("100 - share of the lowest line",
     rf", .*?throughput is {_SIGNED} below the proportional line through the lowest load"),
    ("largest held-out error", rf": \d+ points? .*held-out error of the throughput {_SIGNED}"),
)  # fmt: skip


def names(table: Table, cells: Mapping[str, str]) -> Iterator[tuple[str, str, float | None]]:
    """Yield column, quantity and load of each number in a row. The load is `NO_LOAD` if the row states none."""
    if table.caption == KNEES:
        column = next(title for title in cells if title.endswith("95 % interval"))
        yield column, _KNEES[cells["Knee"]], NO_LOAD
    elif table.caption == VALUES:
        for quantity, method, name in _METHODS:
            asked = re.fullmatch(quantity, cells["Quantity"])
            if asked and re.fullmatch(method, cells["Method"]):
                of = asked.groupdict()
                yield "Value", name.format(**of), float(of["load"].replace(",", "")) if of.get("load") else NO_LOAD
    else:
        for column, name in COLUMNS.get(table.caption, {}).items():
            yield column, name.format(**cells), None


def used(cell: str) -> Iterator[tuple[str, str]]:
    """Yield the measured utilization of each resource from a cell with measured and predicted values."""
    for part in cell.replace("\N{NO-BREAK SPACE}", " ").split("; "):
        found = re.match(r"(?P<name>\S+) (?P<number>[\d.,]+)(?: \[[^\]]*\])? %, ", part)
        if found:
            yield f"utilization of {found['name']}", found["number"]


def _rows(part: Any) -> Iterator[dict[str, Any]]:
    """Yield all data rows of a specification, at any depth."""
    if isinstance(part, dict):
        data = part.get("data")
        yield from (data or {}).get("values") or () if isinstance(data, dict) else ()
        for value in part.values():
            yield from _rows(value)
    elif isinstance(part, list):
        for value in part:
            yield from _rows(value)


def of_figure(figure: Figure) -> Iterator[tuple[Quantity, float]]:
    """Yield the numbers in the data of a figure: knees, utilizations, residuals and growth of throughput."""
    for row in _rows(figure.spec or {}):
        label, load = str(row.get("configuration")), row.get("load")
        if figure.name == "throughput" and "foot" in row:
            yield ("knee by demands", label, NO_LOAD), float(row["load"])
        elif figure.name == "capacity-curve" and "kind" in row and "name" in row:
            yield (f"knee by {row['kind']}", label, NO_LOAD), float(row["load"])
        elif row.get("kind") == "measured" and "resource" in row and load is not None:
            yield (f"utilization of {row['resource']}", label, float(load)), float(row["value"])
        elif figure.name == "residuals" and load is not None:
            yield (f"residual of the {row['model']}", label, float(load)), float(row["value"])
        elif figure.name == "scaling" and "verdicts" not in row and row.get("state") in ("valid", "suspect"):
            yield ("growth of throughput", label, float(load or 0)), float(row["value"])


def ends(results: Results) -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest load with a run that is not invalid, for each configuration."""
    found = {}
    for configuration in results.configurations:
        loads = [point.level for point in configuration.usable]
        if loads:
            found[configuration.label] = (min(loads), max(loads))
    return found


def without_reason(document: Document, numbers: Mapping[Quantity, Sequence[Any]]) -> list[str]:
    """Return the quantities with values by several methods, unless a table lists the values and the reason for their
    difference.
    """
    tables = [
        block
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Table) and block.caption in (KNEES, VALUES)
    ]
    reasons: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for table in tables:
        titles = [column.title for column in table.columns]
        for row in table.rows:
            cells = dict(zip(titles, row, strict=True))
            for _, name, _ in names(table, cells):
                reasons[cells["Configuration"], name].append((table.caption, cells["Why it differs"]))
    faults = []
    for family in FAMILIES:
        for label in {label for _, label, _ in numbers}:
            shown = {name for name, of, _ in numbers if of == label and name in family}
            if len(shown) < 2:
                continue
            faults += [f"{name} of {label} stands in no table of methods" for name in shown if not reasons[label, name]]
            faults += [
                f"{name} of {label} has no reason"
                for name in shown - {family[0]}
                if any(not re.search(r"\w", why) for _, why in reasons[label, name])
            ]
            places = {place for name in shown for place, _ in reasons[label, name]}
            faults += [f"{family[0]} of {label} stands in several tables"] if len(places) > 1 else []
    return faults
