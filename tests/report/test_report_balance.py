from __future__ import annotations

from typing import Any

from report_synthetic import estimate

from towtank.report.content import balance, databases, spread
from towtank.report.document import Callout, Listing, Table
from towtank.report.source import Results, RunResult

PLAN = ["Aggregate, rows 1, cost 379.26", "  Seq Scan on document, rows 100, cost 379.0 (filter: (kind = $1))"]
STATEMENT = {
    "queryid": "7",
    "query": "SELECT count(*) FROM document WHERE kind = $1",
    "calls": 50,
    "seconds": 2.0,
    "rows": 50,
}
ADVICE = {
    "table": "document",
    "columns": ["kind"],
    "condition": "(kind = $1)",
    "rows": 20000.0,
    "rows_kept": 100.0,
    "sequential_scans": 50,
    "sequential_rows": 1000000,
    "statement": "CREATE INDEX ON document (kind)",
    "queryid": "7",
}


def results(**summary: Any) -> Results:
    manifest = {"settings": {"gateway": {"policy": "round_robin"}}, "tiers": {"gateway": {"kind": "nginx"}}}
    whole = {"run": "r001", "factors": {"users": "50", "cache": "on"}, "users": {"asked": 50}, **summary}
    return Results("res", {}, {}, (RunResult("r001", manifest, whole),))


def members(first: float, second: float) -> dict[str, Any]:
    both = {"web-1": first, "web-2": second}
    return {
        "members": {
            name: {"requests": count, "share": estimate(count / (first + second))} for name, count in both.items()
        },
        "requests": first + second,
        "even_share": 0.5,
        "fairness": (first + second) ** 2 / (2 * (first**2 + second**2)),
    }


def test_each_member_has_a_row_and_the_least_even_run_is_told() -> None:
    section = balance.build(results(balance={"gateway": members(750.0, 250.0)}))
    assert section is not None
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert table.rows[0][1:7] == ("cache on", "50", "gateway (nginx)", "round robin", "web-1", "750")
    assert table.rows[1][5:7] == ("web-2", "250")
    assert table.rows[0][8] == "0.8000"
    assert "fairness 0.8000 over 2 members" in str(section.blocks[1])


def test_advice_comes_with_its_evidence_and_statements_with_their_plans() -> None:
    recorded = {"statements": [{**STATEMENT, "plan": PLAN, "no_plan_because": ""}], "advice": [ADVICE], "seconds": 4.0}
    section = databases.build(results(databases={"database": recorded}))
    assert section is not None
    advice = next(block for block in section.blocks if isinstance(block, Callout))
    assert advice.title == "An index may help: CREATE INDEX ON document (kind)"
    assert "called 50 times" in str(advice.content)
    assert "reads all of about 20,000 rows of document. The condition" in str(advice.content)
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert table.rows[0][1:5] == ("50", "2.00 s", "40.0 ms", "50.0 %")
    listing = next(block for block in section.blocks if isinstance(block, Listing))
    assert listing.lines == tuple(PLAN)


def test_databases_of_both_kinds_have_a_row_each_with_what_they_counted() -> None:
    def counter(per_s: float) -> dict[str, Any]:
        return {"kind": "counter", "per_s": per_s}

    mariadb = {
        "mariadb_commits_total": counter(40.0),
        "mariadb_rows_read_total": counter(900.0),
        "mariadb_rows_inserted_total": counter(10.0),
        "mariadb_rows_updated_total": counter(20.0),
        "mariadb_rows_deleted_total": counter(2.0),
        "mariadb_blocks_hit_total": counter(750.0),
        "mariadb_blocks_read_total": counter(250.0),
        "mariadb_wal_bytes_total": counter(2.0 * 2**20),
        "mariadb_deadlocks_total": counter(0.0),
        "mariadb_connections": {"kind": "gauge", "mean": 3.0, "max": 5.0},
    }
    postgresql = {"pg_stat_database_commits_total": counter(7.0), "pg_stat_database_blocks_hit_total": counter(1.0)}
    section = databases.build(results(services={"orders": mariadb, "users": postgresql, "web": {"requests": {}}}))
    assert section is not None
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    first, second = table.rows
    assert first[3:] == ("orders", "40.0", "900", "32.0", "75.0 %", "250", "2.00 MiB/s", "0", "5")
    assert second[3:] == ("users", "7.00", "–", "–", "–", "–", "–", "–", "–"), (
        "a value that was not recorded is shown as a dash, not as zero"
    )


def test_long_lists_of_columns_and_values_are_left_out() -> None:
    query = (
        f"SELECT number, {', '.join(f'column_{n}' for n in range(9))} FROM document WHERE number IN ($1, $2, $3, $4)"
    )
    recorded = {"statements": [{**STATEMENT, "query": query, "plan": PLAN, "no_plan_because": ""}], "seconds": 4.0}
    section = databases.build(results(databases={"database": recorded}))
    assert section is not None
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert table.rows[0][0] == "SELECT number, … FROM document WHERE number IN ($1, $2, …)"


def test_without_balancers_and_databases_there_is_nothing_to_say() -> None:
    assert balance.build(results()) is None
    assert databases.build(results(balance={}, databases={})) is None


def test_services_that_users_stay_with_have_a_row_each_and_one_alone_none() -> None:
    def recorded(*names: str) -> dict[str, Any]:
        member = {"transactions": 9.0, "throughput_per_s": estimate(4.5), "share": estimate(0.5), "errors_share": 0.0}
        return {"orders": {"members": dict.fromkeys(names, member), "even_share": 0.5, "fairness": estimate(0.9, 0.0)}}

    section = spread.build(results(spread=recorded("database-1", "database-2")))
    assert section is not None
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert [row[5] for row in table.rows] == ["database-1", "database-2"]
    assert table.rows[0][:4] == ("r001", "cache on", "50", "orders")
    assert table.rows[0][4].startswith("0.9")
    assert table.rows[0][6].startswith("4.5")
    assert table.rows[1][:5] == ("",) * 5
    many = spread.build(results(spread=recorded(*(f"database-{number}" for number in range(1, 41)))))
    assert many is not None
    assert len(next(block for block in many.blocks if isinstance(block, Table)).rows) == 12
    assert spread.build(results(spread=recorded("database-1"))) is None
    assert spread.build(results()) is None
