"""Dear statements of databases with their plans, and advice on indexes with its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from towtank.report import format as people
from towtank.report.document import Block, Callout, Column, Listing, Section, Table, paragraph, text
from towtank.report.source import Json, Results, RunResult

_SHOWN = 5
_QUERY_CHARACTERS = 160
_COLUMNS_CHARACTERS = 40
_VALUES = re.compile(r"\((\$\d+, \$\d+), \$\d+[^)]*\)")


def build(results: Results) -> Section | None:
    """Statements of the run with the highest load for each database; None where no database tells."""
    runs = [run for run in results.measured if run.summary.get("databases")]
    if not runs:
        return None
    told = (
        "Statements counted by the database itself from the first look at it to the end of the load, ramp-up included. "
        "Plans are generic ones, asked for when the load had ended: made without the values of parameters, and not "
        "executed."
    )
    blocks: list[Block] = [paragraph(told), *_advice(runs)]
    for name in dict.fromkeys(name for run in runs for name in run.summary["databases"]):
        having = [run for run in runs if name in run.summary["databases"]]
        blocks += _database(name, max(having, key=lambda run: float(run.load or 0)))
    return Section("databases", "Statements of databases", tuple(blocks))


def _advice(runs: list[RunResult]) -> Iterator[Callout]:
    """Each index that was advised, once, with the runs in which it was."""
    found: dict[str, list[tuple[RunResult, Json, Json]]] = {}
    for run in runs:
        for database in run.summary["databases"].values():
            for advice in database.get("advice", ()):
                statement = next(one for one in database["statements"] if one["queryid"] == advice["queryid"])
                found.setdefault(advice["statement"], []).append((run, advice, statement))
    for index, seen in found.items():
        run, advice, statement = max(seen, key=lambda one: float(one[2]["seconds"]))
        scans, calls = people.count(advice["sequential_scans"]), people.count(statement["calls"])
        named = people.listing(list(dict.fromkeys(one.run_id for one, _, _ in seen)))
        evidence = (
            f"In {run.run_id} the plan of a statement that was called {calls} times and took "
            f"{people.seconds(statement['seconds'])} reads all of about {people.count(round(advice['rows']))} rows of "
            f"{advice['table']} and is expected to keep {people.count(round(advice['rows_kept']))} of them by "
            f"{advice['condition']}. The table was read as a whole {scans} times. No "
            "index of all its rows begins with a column of this condition."
        )
        again = f"Advised in {named}. An index costs writes and memory: only a run with it shows what it gives."
        yield Callout("note", f"An index may help: {index}", (text(evidence), text(again)))


def _database(name: str, run: RunResult) -> Iterator[Block]:
    told: Json = run.summary["databases"][name]
    columns = (
        Column("Statement"),
        Column("Calls", numeric=True),
        Column("Time", numeric=True),
        Column("Mean", numeric=True),
        Column("Of all", numeric=True),
        Column("Rows", "of a call", numeric=True),
    )
    rows = tuple(
        (
            _cut(one["query"]),
            people.count(one["calls"]),
            people.seconds(one["seconds"]),
            people.seconds(one["seconds"] / one["calls"]),
            people.share(one["seconds"] / told["seconds"] if told.get("seconds") else None),
            people.number(one["rows"] / one["calls"]),
        )
        for one in told["statements"]
    )
    yield Table(f"Statements of {name} that took the most time, in {run.run_id}", columns, rows)
    for number, one in enumerate(told["statements"][:_SHOWN], start=1):
        plan = one["plan"] or [f"No plan: {one['no_plan_because']}."]
        yield Listing(f"Plan of statement {number} of {name}: {_cut(one['query'])}", tuple(plan))


def _cut(query: str) -> str:
    """A statement by what tells it from others: long lists of columns and values are left out."""
    query = _without_columns(_VALUES.sub(r"(\1, …)", query))
    return query if len(query) <= _QUERY_CHARACTERS else query[:_QUERY_CHARACTERS] + " …"


def _without_columns(query: str) -> str:
    """The first column alone of a long list of them; columns that are queries of their own are left out whole."""
    if not query.upper().startswith("SELECT "):
        return query
    depth, first = 0, 0
    for place, letter in enumerate(query):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and letter == "," and not first:
            first = place
        if depth == 0 and query[place : place + 6].upper() == " FROM ":
            long = first and place - first > _COLUMNS_CHARACTERS
            return f"{query[: first + 1]} …{query[place:]}" if long else query
    return query
