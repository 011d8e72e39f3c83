"""The most expensive statements of a PostgreSQL server, with their plans. An index is advised only if it would speed up
a statement.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from towtank.engine import binary
from towtank.errors import EngineError
from towtank.observe import PostgresqlScraper
from towtank.observe.postgresql_plans import condition_columns
from towtank.system import model
from towtank.system.services.postgresql import INSTALL_HINT, Postgresql, program
from towtank.system.system import System

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'psycopg[binary]'")

pytestmark = [
    pytest.mark.waits,
    pytest.mark.postgresql,
    pytest.mark.skipif(program("postgres") is None, reason=f"PostgreSQL is not installed: {INSTALL_HINT}"),
]

BY_KIND = "SELECT count(*) FROM document WHERE kind = %s"
BY_NUMBER = "SELECT kind FROM document WHERE number = %s"
BY_SIZE = "SELECT count(*) FROM document WHERE size > %s"


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """DSN of a database with 20,000 documents of 200 kinds. Only the document number has an index."""
    try:
        binary()
    except EngineError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("plans")
    database = Postgresql("database", model.Postgresql(kind="postgresql", host="here"), folder)
    if not database.has_statements():
        pytest.skip("pg_stat_statements is not installed: apt-get install postgresql")
    database.ready_within_s = 60.0
    with System([database], folder / "data", folder / "logs") as system:
        system.up()
        with psycopg.connect(database.dsn, autocommit=True) as client:
            client.execute("CREATE TABLE document (number integer PRIMARY KEY, kind text, size integer)")
            client.execute("INSERT INTO document SELECT n, 'kind ' || n %% 200, n FROM generate_series(1, 20000) n", [])
            client.execute("ANALYZE document")
        yield database.dsn


def conclude(dsn: str, statements: list[tuple[str, str | int]]) -> dict:
    """Execute statements between the scraper's first scrape and its end; return the scraper's conclusion about them."""
    scraper = PostgresqlScraper("database", dsn)
    try:
        scraper.scrape()
        with psycopg.connect(dsn, autocommit=True) as client:
            for statement, value in statements:
                client.execute(statement, [value])
            # This call makes PostgreSQL add scan counts to its statistics now, rather than up to a second later.
            client.execute("SELECT pg_stat_force_next_flush()")
        return scraper.conclude()
    finally:
        scraper.close()


def test_a_statement_that_reads_a_whole_table_for_few_rows_gets_advice(dsn: str) -> None:
    reported = conclude(dsn, [(BY_KIND, "kind 7")] * 3 + [(BY_NUMBER, 5)] * 2 + [(BY_SIZE, 10)])
    by_query = {entry["query"]: entry for entry in reported["statements"]}
    kind = by_query["SELECT count(*) FROM document WHERE kind = $1"]
    assert (kind["calls"], kind["rows"]) == (3, 3)
    assert any("Seq Scan on document" in line for line in kind["plan"])
    assert any("Index" in line for line in by_query["SELECT kind FROM document WHERE number = $1"]["plan"])
    assert reported["seconds"] == pytest.approx(sum(statement["seconds"] for statement in reported["statements"]))
    # `number` already has an index. An index on `size` would not help, because the planner expects that a third of the
    # rows meet the condition on `size`.
    assert [(index["table"], index["columns"], index["queryid"]) for index in reported["advice"]] == [
        ("document", ["kind"], kind["queryid"])
    ]
    advice = reported["advice"][0]
    assert advice["statement"] == "CREATE INDEX ON document (kind)"
    assert advice["rows"] == 20000
    assert advice["rows_kept"] == pytest.approx(100, rel=0.05)
    assert advice["sequential_scans"] >= 3


def test_earlier_statements_are_left_out_and_the_index_ends_the_advice(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as client:
        client.execute("CREATE INDEX by_kind ON document (kind)")
        try:
            reported = conclude(dsn, [(BY_KIND, "kind 7")])
        finally:
            client.execute("DROP INDEX by_kind")
    assert [(statement["query"], statement["calls"]) for statement in reported["statements"]] == [
        ("SELECT count(*) FROM document WHERE kind = $1", 1)
    ]
    assert any("by_kind" in line for line in reported["statements"][0]["plan"])
    assert reported["advice"] == []


def test_a_partial_index_that_the_generic_plan_cannot_use_ends_the_advice_where_it_is_used(dsn: str) -> None:
    # psycopg sends the statement with its values, but the statistics contain the statement with placeholders.
    statement = "SELECT count(*) FROM document WHERE kind = 'kind 7' AND size > 0"
    with psycopg.connect(dsn, autocommit=True) as client:
        client.execute("CREATE INDEX of_one_kind ON document (size) WHERE kind = 'kind 7'")
        try:
            scraper = PostgresqlScraper("database", dsn)
            scraper.scrape()
            with psycopg.connect(dsn, autocommit=True) as other:
                for _ in range(4):
                    other.execute(statement)
            reported = scraper.conclude()
            scraper.close()
        finally:
            client.execute("DROP INDEX of_one_kind")
    assert reported["statements"][0]["calls"] == 4
    assert any("Seq Scan" in line for line in reported["statements"][0]["plan"])
    assert reported["advice"] == []


def test_a_statement_without_a_plan_says_why(dsn: str) -> None:
    scraper = PostgresqlScraper("database", dsn)
    scraper.scrape()
    with psycopg.connect(dsn, autocommit=True) as client:
        client.execute("CREATE TABLE short_lived (number integer)")
        client.execute("SELECT number FROM short_lived")
        client.execute("DROP TABLE short_lived")
    reported = {statement["query"]: statement for statement in scraper.conclude()["statements"]}
    scraper.close()
    assert "does not exist" in reported["SELECT number FROM short_lived"]["no_plan_because"]
    assert reported["DROP TABLE short_lived"]["no_plan_because"] == "this kind of statement has no plan"


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("(kind = $1)", ["kind"]),
        ("((d.kind)::text = ($1)::text)", ["kind"]),
        ("((size >= $1) AND (size < $2) AND (kind = 'a'::text))", ["kind", "size"]),
        ("(kind ~~ 'a%'::text)", []),
        ("(kind IS NULL)", []),
        ("(lower(other_kind) = $1)", []),
    ],
)
def test_columns_that_an_index_could_find_rows_by(condition: str, columns: list[str]) -> None:
    assert condition_columns(condition, ["kind", "size"]) == columns
