"""The report shortens SQL statements: it replaces only long lists of values."""

from __future__ import annotations

import pytest

from towtank.report.content.databases import _cut

COLUMNS = ", ".join(f"o.column_{number}" for number in range(12))


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        (
            f"SELECT o.number, {COLUMNS} FROM object o WHERE o.id = $1",
            "SELECT o.number, … FROM object o WHERE o.id = $1",
        ),
        (
            f"SELECT o.number, (SELECT q.id FROM object q WHERE q.number = o.parent), {COLUMNS} FROM object o",
            "SELECT o.number, … FROM object o",
        ),
        ("SELECT a, b FROM t", "SELECT a, b FROM t"),
        ("SELECT count(*) FROM t", "SELECT count(*) FROM t"),
        ("UPDATE t SET a = $1", "UPDATE t SET a = $1"),
        ("INSERT INTO t VALUES ($1, $2, $3, $4)", "INSERT INTO t VALUES ($1, $2, …)"),
    ],
)
def test_long_lists_are_left_out(query: str, shown: str) -> None:
    assert _cut(query) == shown


def test_what_is_cut_says_so() -> None:
    assert _cut("SELECT " + "x" * 200).endswith("x …")
