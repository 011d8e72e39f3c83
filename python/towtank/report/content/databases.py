"""Builds the section on databases: their work, their most expensive statements with plans, and recommended indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from towtank.analysis import NO_METRIC, DatabaseWork, IndexAdvice, Metric, SqlStatement
from towtank.documents import record_of
from towtank.report import format as people
from towtank.report.document import Block, Callout, Listing, Section, Table, headings, paragraph, text
from towtank.report.source import Results, RunResult

_SHOWN = 5
_QUERY_CHARACTERS = 160
_COLUMNS_CHARACTERS = 40
_VALUES = re.compile(r"\((\$\d+, \$\d+), \$\d+[^)]*\)")


@dataclass(frozen=True)
class _Series:
    """Names of the counters for each quantity in a database product, such as PostgreSQL."""

    commits: str
    rows_read: str
    rows_changed: tuple[str, ...]
    found: str
    missed: str
    log: str
    deadlocks: str
    connections: str


_UNKNOWN = SqlStatement("", "", 0.0, 0.0, 0.0)
"""Statement whose entry was malformed, so that it was left out."""
_CHANGES = ("inserted", "updated", "deleted")
_KINDS = (
    _Series(
        "pg_stat_database_commits_total",
        "pg_stat_database_rows_returned_total",
        tuple(f"pg_stat_database_rows_{change}_total" for change in _CHANGES),
        "pg_stat_database_blocks_hit_total",
        "pg_stat_database_blocks_read_total",
        "pg_stat_wal_bytes_total",
        "pg_stat_database_deadlocks_total",
        "pg_stat_database_connections",
    ),
    _Series(
        "mariadb_commits_total",
        "mariadb_rows_read_total",
        tuple(f"mariadb_rows_{change}_total" for change in _CHANGES),
        "mariadb_blocks_hit_total",
        "mariadb_blocks_read_total",
        "mariadb_wal_bytes_total",
        "mariadb_deadlocks_total",
        "mariadb_connections",
    ),
)


def build(results: Results) -> Section | None:
    """Build the section on databases; None if no run recorded data of a database."""
    blocks = [*_work(results), *_statements(results)]
    return Section("databases", "Databases", tuple(blocks)) if blocks else None


def _work(results: Results) -> list[Block]:
    """Build the table of database counters in the measured window, with a row for each database in each run."""
    rows = tuple(row for run in results.measured for row in _rows(run))
    if not rows:
        return []
    columns = headings(
        "Run",
        "Configuration",
        f"#{results.load_factor.capitalize()}",
        "Database",
        "#Commits | /s",
        "#Rows read | /s",
        "#Rows changed | /s",
        "#Blocks found | in memory",
        "#Blocks read | /s",
        "#Log",
        "#Deadlocks | /s",
        "#Connections | at most",
    )
    said = (
        "Counters of each database in the steady window, including queries of the observer. Commits of MariaDB are its "
        "COMMIT statements; commits of PostgreSQL are all transactions. A block that is not in the memory of the "
        "database is read from the operating system, which may have the block in its page cache."
    )
    return [paragraph(said), Table("Work of databases", columns, rows)]


def _rows(run: RunResult) -> Iterator[tuple[str, ...]]:
    is_first = True
    for name, values in sorted(run.record.services.items()):
        series = next((kind for kind in _KINDS if kind.commits in values), None)
        if series is None:
            continue
        head = (run.run_id, run.configuration, people.plain(run.load)) if is_first else ("", "", "")
        is_first = False
        found, missed = _rate(values, series.found), _rate(values, series.missed)
        asked = None if found is None or missed is None else found + missed
        changed = [value for each in series.rows_changed if (value := _rate(values, each)) is not None]
        yield (
            *head,
            name,
            people.number(_rate(values, series.commits)),
            people.number(_rate(values, series.rows_read)),
            people.number(sum(changed) if changed else None),
            people.share(found / asked if found is not None and asked else None),
            people.number(missed),
            people.size_rate(_rate(values, series.log)),
            people.number(_rate(values, series.deadlocks)),
            people.plain(values.get(series.connections, NO_METRIC).max),
        )


def _rate(values: Mapping[str, Metric], name: str) -> float | None:
    return values.get(name, NO_METRIC).per_s


def _statements(results: Results) -> list[Block]:
    """Build the tables of SQL statements in the run with the highest load, and recommendations of indexes."""
    found = {run.run_id: _databases(run) for run in results.measured if run.record.databases}
    runs = [run for run in results.measured if run.run_id in found]
    if not runs:
        return []
    sentence = (
        "Statements as counted by the database, from the first sample to the end of the load, ramp-up included. Plans "
        "are generic: requested after the load, made without the values of parameters, and not executed."
    )
    blocks: list[Block] = [paragraph(sentence), *_advice(found)]
    for name in dict.fromkeys(name for databases in found.values() for name in databases):
        run = max((run for run in runs if name in found[run.run_id]), key=lambda run: float(run.load or 0))
        blocks += _database(name, found[run.run_id][name], run.run_id)
    return blocks


def _databases(run: RunResult) -> dict[str, DatabaseWork]:
    return {name: record_of(DatabaseWork, database) for name, database in run.record.databases.items()}


def _advice(found: Mapping[str, Mapping[str, DatabaseWork]]) -> Iterator[Callout]:
    """Yield a callout for each recommended index, with the evidence and the runs that recommend it."""
    by_index: dict[str, list[tuple[str, IndexAdvice, SqlStatement]]] = {}
    for run, databases in found.items():
        for database in databases.values():
            known = {each.queryid: each for each in reversed(database.statements)}
            for advice in database.advice:
                statement = known.get(advice.queryid, _UNKNOWN)
                by_index.setdefault(advice.statement, []).append((run, advice, statement))
    for index, seen in by_index.items():
        run, advice, statement = max(seen, key=lambda row: row[2].seconds)
        named = people.listing(list(dict.fromkeys(seen_in for seen_in, _, _ in seen)))
        work = f"that was called {people.count(statement.calls)} times and took {people.seconds(statement.seconds)}"
        evidence = (
            f"In {run} the plan of a statement {work if statement is not _UNKNOWN else 'without a readable record'} "
            f"reads all of about {people.count(advice.rows)} rows of "
            f"{advice.table}. The condition {advice.condition} is expected to keep "
            f"{people.count(advice.rows_kept)} of these rows. The table was read completely "
            f"{people.count(advice.sequential_scans)} times. No index on all rows begins with a column of this "
            "condition."
        )
        again = f"Advised in {named}. An index costs writes and memory: only a run with the index shows its benefit."
        yield Callout("note", f"An index may help: {index}", (text(evidence), text(again)))


def _database(name: str, database: DatabaseWork, run: str) -> Iterator[Block]:
    columns = headings("Statement", "#Calls", "#Time", "#Mean", "#Of all", "#Rows | of a call")
    rows = tuple(
        (
            _cut(each.query),
            people.count(each.calls),
            people.seconds(each.seconds),
            people.seconds(each.seconds / each.calls),
            people.share(each.seconds / database.seconds if database.seconds else None),
            people.number(each.rows / each.calls),
        )
        for each in database.statements
    )
    yield Table(f"Statements of {name} that took the most time, in {run}", columns, rows)
    for number, statement in enumerate(database.statements[:_SHOWN], start=1):
        plan = statement.plan or (f"No plan: {statement.no_plan_because}.",)
        yield Listing(f"Plan of statement {number} of {name}: {_cut(statement.query)}", plan)


def _cut(query: str) -> str:
    """Shorten an SQL statement: truncate long lists of columns and values, and the statement."""
    query = _without_columns(_VALUES.sub(r"(\1, …)", query))
    return query if len(query) <= _QUERY_CHARACTERS else query[:_QUERY_CHARACTERS] + " …"


def _without_columns(query: str) -> str:
    """Shorten a long list of selected columns to its first column; other statements stay unchanged."""
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
