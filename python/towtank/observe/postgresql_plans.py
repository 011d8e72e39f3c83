"""Examines the plans of the SQL statements that took the most time, and recommends indexes.

`pg_stat_statements` stores statements without the values of their parameters. `EXPLAIN` therefore returns generic
plans, as PostgreSQL makes them for prepared statements (`plan_cache_mode = force_generic_plan`). Without `ANALYZE`,
`EXPLAIN` does not execute the statement.

A generic plan cannot use a partial index whose condition depends on a parameter, although the executed plan may use it.
An index is therefore recommended only if full scans of the table were about as frequent as calls of the statement.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import DictRow

    Connection = psycopg.Connection[DictRow]

STATEMENTS = 10
"""Largest number of SQL statements whose execution plans are examined. [1]"""
MANY_ROWS = 1000
"""Fewest rows of a table for which an index is recommended. A full scan of a smaller table is as fast. [1]"""
FEW_ROWS_SHARE = 0.1
"""Largest fraction of a table's rows that a condition may select for an index to be recommended. [1]"""
_WITHIN_S = 5.0
_QUERY_CHARACTERS = 400
_LINE_CHARACTERS = 160
_EXPLAINED = re.compile(r"(?is)\s*(?:/\*.*?\*/\s*)*(?:SELECT|INSERT|UPDATE|DELETE|WITH|MERGE|VALUES)\b")
_CATALOGUE = re.compile(r"\bpg_(?:stat|catalog|class|extension|database|prepared)", re.IGNORECASE)
_PARAMETER = re.compile(r"\$(\d+)")
# Totals of each statement of the database.
_CALLS = """
    SELECT s.queryid, s.query, s.calls, s.total_exec_time / 1000 AS seconds, s.rows
    FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid
    WHERE d.datname = current_database() AND s.toplevel AND s.queryid IS NOT NULL"""
# Columns of a table.
_COLUMNS = """
    SELECT a.attname AS name FROM pg_attribute AS a
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped"""
# First columns of the indexes of a table that cover all its rows.
_LEADING = """
    SELECT DISTINCT a.attname AS name FROM pg_index AS i
    JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = %s::regclass AND i.indisvalid AND i.indpred IS NULL"""
# Object id and number of rows of a table.
_TABLE = """
    SELECT c.oid::bigint AS number,
        CASE WHEN c.reltuples >= 0 THEN c.reltuples ELSE coalesce(s.n_live_tup, 0) END::float AS rows
    FROM pg_class AS c LEFT JOIN pg_stat_user_tables AS s ON s.relid = c.oid WHERE c.oid = %s::regclass"""
_SCANS = "SELECT relid::bigint AS number, seq_scan AS scans, seq_tup_read AS rows FROM pg_stat_user_tables"
SCANS_PER_CALL = 0.5
"""Smallest number of full table scans per call of a statement at which an index is recommended. With fewer scans,
PostgreSQL probably executed another plan than the generic one. [1]

The value is below 1, because statistics arrive up to a second late, and because some calls may precede the first
reading of the statistics. Scans by other statements are counted as well.
"""


@dataclass(frozen=True)
class Scans:
    """Number of full scans of a table, and number of rows that these scans read. [1]"""

    scans: int
    rows: int


@dataclass(frozen=True)
class Before:
    """Statistics of the database at the first scrape: totals of each statement by its id, and full scans of each table
    by its object id.
    """

    statements: Mapping[int, Calls]
    scans: Mapping[int, Scans]


@dataclass(frozen=True)
class Calls:
    """Calls, execution time [s] and rows of a statement, in total since the server reset its statistics."""

    query: str
    calls: int
    seconds: float
    rows: int


def look(connection: Connection) -> Before:
    """Read the current statistics of statements and full table scans."""
    return Before(calls(connection), _scans_by_table(connection))


def _scans_by_table(connection: Connection) -> dict[int, Scans]:
    rows = connection.execute(_SCANS.encode())
    return {int(row["number"]): Scans(int(row["scans"] or 0), int(row["rows"] or 0)) for row in rows}


def calls(connection: Connection) -> dict[int, Calls]:
    """Return the totals of all statements of the database, by id of the statement."""
    return {
        row["queryid"]: Calls(str(row["query"]), int(row["calls"]), float(row["seconds"]), int(row["rows"]))
        for row in connection.execute(_CALLS.encode())
    }


def examine(connection: Connection, before: Before) -> dict[str, object]:
    """Examine the SQL statements that took the most time since `before` was read.

    Parameters
    ----------
    connection : psycopg.Connection
        Connection that returns rows as mappings, in autocommit mode.
    before : Before
        Statistics at the beginning of the examined time.

    Returns
    -------
    dict
        `statements` with their plans, in descending order of time; `advice`, the recommended indexes; `seconds`, the
        total time of all statements. [s]
    """
    deadline = time.monotonic() + _WITHIN_S
    since = _since(calls(connection), before.statements)
    ordered = sorted(since.items(), key=lambda entry: entry[1].seconds, reverse=True)
    connection.execute("SET plan_cache_mode = force_generic_plan")
    statements, advice = [], []
    for number, statement in ordered[:STATEMENTS]:
        plan, why = (
            _plan(connection, statement.query)
            if time.monotonic() < deadline
            else (None, "the time limit of the examination was reached")
        )
        query = " ".join(statement.query.split())
        query = query if len(query) <= _QUERY_CHARACTERS else query[: _QUERY_CHARACTERS - 1] + "…"
        counts = {
            "queryid": str(number),
            "query": query,
            "calls": statement.calls,
            "seconds": statement.seconds,
            "rows": statement.rows,
        }
        statements.append({**counts, "plan": None if plan is None else list(lines(plan)), "no_plan_because": why})
        if plan is not None:
            found = _advice(connection, plan, before.scans, statement.calls)
            advice += [{**index, "queryid": str(number)} for index in found]
    return {
        "statements": statements,
        "advice": advice,
        "seconds": sum(statement.seconds for statement in since.values()),
    }


def _since(now: Mapping[int, Calls], before: Mapping[int, Calls]) -> dict[int, Calls]:
    """Return the increase of each statement's totals since an earlier reading of the statistics.

    Statements on the system catalogue are left out, because Towtank's scrapers send them.
    """
    fewer = [number for number, old in before.items() if number not in now or now[number].calls < old.calls]
    # If most totals have decreased, the database was killed and lost its statistics, so all totals count from zero.
    if 2 * len(fewer) > len(before):
        before = {}
    found = {}
    for number, statement in now.items():
        old = before.get(number)
        # If only the totals of this statement have decreased, its entry was dropped and created again.
        if old is None or statement.calls < old.calls or statement.seconds < old.seconds:
            old = Calls("", 0, 0.0, 0)
        added = Calls(
            statement.query, statement.calls - old.calls, statement.seconds - old.seconds, statement.rows - old.rows
        )
        if added.calls > 0 and not _CATALOGUE.search(statement.query):
            found[number] = added
    return found


def _plan(connection: Connection, query: str) -> tuple[Mapping[str, Any] | None, str]:
    """Return the generic plan of a statement and an empty text, or None and why the statement has no plan."""
    import psycopg  # noqa: PLC0415 - an extra: needed only for the observation of PostgreSQL

    if not _EXPLAINED.match(query):
        return None, "this kind of statement has no plan"
    count = max((int(number) for number in _PARAMETER.findall(query)), default=0)
    values = f"({', '.join(['NULL'] * count)})" if count else ""
    try:
        connection.execute(f"PREPARE towtank_examined AS {query}".encode())
    except psycopg.Error as error:
        return None, str(error).strip().splitlines()[0]
    try:
        row = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE towtank_examined{values}".encode()).fetchone()
    except psycopg.Error as error:
        return None, str(error).strip().splitlines()[0]
    finally:
        connection.execute("DEALLOCATE towtank_examined")
    document = next(iter(row.values())) if row else []
    return (document[0]["Plan"], "") if document else (None, "PostgreSQL returned an empty plan")


def lines(plan: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield an execution plan as text: one line for each node, indented more than the line of its parent node."""
    where = f" on {plan['Relation Name']}" if "Relation Name" in plan else ""
    by = f" using {plan['Index Name']}" if "Index Name" in plan else ""
    conditions = [f"{key.lower()}: {plan[key]}" for key in ("Index Cond", "Hash Cond", "Filter") if key in plan]
    rest = f" ({'; '.join(conditions)})" if conditions else ""
    head = f"{plan['Node Type']}{by}{where}, rows {plan['Plan Rows']}, cost {plan['Total Cost']}"
    yield f"{'  ' * depth}{head}{rest if len(rest) <= _LINE_CHARACTERS else rest[:_LINE_CHARACTERS] + ' …'}"
    for child in plan.get("Plans", ()):
        yield from lines(child, depth + 1)


def _scans(plan: Mapping[str, Any], processes: int = 1) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Yield each full table scan with a filter condition, and the estimated number of rows that it returns."""
    processes = int(plan.get("Workers Planned", processes - 1)) + 1
    if plan["Node Type"] == "Seq Scan" and "Filter" in plan:
        yield plan, float(plan["Plan Rows"]) * (processes if plan.get("Parallel Aware") else 1)
    for child in plan.get("Plans", ()):
        yield from _scans(child, processes)


def _advice(
    connection: Connection, plan: Mapping[str, Any], before: Mapping[int, Scans], called: int
) -> Iterator[dict[str, object]]:
    """Yield each recommended index that would replace a full table scan of the plan, with the reasons as numbers."""
    now = _scans_by_table(connection)
    for scan, kept in _scans(plan):
        name = scan["Relation Name"]
        quoted = '"' + name.replace('"', '""') + '"'
        table = connection.execute(_TABLE, [quoted]).fetchone()
        if table is None or table["rows"] < MANY_ROWS or kept > FEW_ROWS_SHARE * table["rows"]:
            continue
        seen = _scanned(int(table["number"]), before, now)
        if seen.scans < SCANS_PER_CALL * called:
            continue
        known = [str(row["name"]) for row in connection.execute(_COLUMNS, [quoted])]
        columns = condition_columns(scan["Filter"], known)
        leading = {str(row["name"]) for row in connection.execute(_LEADING, [quoted])}
        # If an index begins with one of these columns, the planner has rejected this index.
        if columns and not leading & set(columns):
            yield {
                "table": name,
                "columns": columns,
                "condition": scan["Filter"],
                "rows": table["rows"],
                "rows_kept": kept,
                "sequential_scans": seen.scans,
                "sequential_rows": seen.rows,
                "statement": f"CREATE INDEX ON {_name(name)} ({', '.join(map(_name, columns))})",
            }


def _scanned(table: int, before: Mapping[int, Scans], now: Mapping[int, Scans]) -> Scans:
    """Return the number of full scans of a table between two readings, and the number of rows that they read."""
    nothing = Scans(0, 0)
    old, new = before.get(table, nothing), now.get(table, nothing)
    return Scans(new.scans - old.scans, new.rows - old.rows)


def _name(name: str) -> str:
    """Return the SQL identifier of a table or column, in quotes if necessary."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def condition_columns(condition: str, known: list[str]) -> list[str]:
    """Return the columns of an index that would serve an SQL condition, as printed by `EXPLAIN`.

    Columns that are compared for equality come first, followed by at most one column with a range comparison.

    Examples
    --------
    >>> known = ["kind", "created", "size"]
    >>> condition_columns("((created > $1) AND ((kind)::text = 'a'::text) AND (size <> 0))", known)
    ['kind', 'created']
    >>> condition_columns("((kind = $1) OR (created = $2))", known)
    []
    """
    # A single index cannot serve both operands of OR.
    if re.search(r"\bOR\b", condition):
        return []
    equal, ranged = [], []
    for name in known:
        column = rf'(?<![\w"])(?:\w+\.)?"?{re.escape(name)}"?\)*(?:::[\w ]+)?\)*\s*'
        if re.search(column + r"=(?!=)", condition):
            equal.append(name)
        elif re.search(column + r"(?:<=|>=|<(?!>)|>)", condition):
            ranged.append(name)
    return [*equal, *ranged[:1]]
