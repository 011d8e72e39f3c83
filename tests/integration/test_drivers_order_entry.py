"""Order-entry workload on real databases. After the load, totals in the database are consistent, and the database
contains one new order for each commit.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pymysql
import pytest
from integration_bench import Bench

from towtank.engine import binary
from towtank.results import segments
from towtank.study import load_study
from towtank.system.build import build_system
from towtank.system.services import mariadb
from towtank.system.services.postgresql import INSTALL_HINT, program

pytestmark = pytest.mark.waits

EXAMPLE = Path(__file__).parents[2] / "examples" / "order-entry"
ORDERS_AT_FIRST = 2000
"""Initial number of orders: two warehouses with ten districts each, and 100 orders per district."""

AGREE = {
    "paid to warehouses and districts": ("select sum(paid) from warehouse", "select sum(paid) from district"),
    "paid and noted": ("select sum(paid) from warehouse", "select coalesce(sum(amount), 0) from history"),
    "sold and ordered": (
        "select sum(sold) from stock",
        f"select sum(quantity) - 5 * 10 * {ORDERS_AT_FIRST} from order_line",
    ),
    "numbers and orders": ("select sum(next_order - 1) from district", "select count(*) from orders"),
    "orders to be delivered": ("select count(*) from new_order", "select count(*) from orders where carrier is null"),
    "lines of orders that are there": (
        "select count(*) from order_line",
        "select count(*) from order_line join orders on orders.key = order_line.order_key",
    ),
}

QUICK_COMMITS = {
    "study.yaml": {},
    "study-mariadb.yaml": {"services.database.settings.innodb_flush_log_at_trx_commit": "0"},
    "study-sqlite.yaml": {"services.database.settings.synchronous": "'off'"},
}
Ask = Callable[[str], int]


def asks_postgresql(address: str) -> Ask:
    def ask(query: str) -> int:
        psql = program("psql")
        assert psql is not None
        done = subprocess.run([psql, "-XAt", address, "-c", query], capture_output=True, text=True, check=True)
        return int(done.stdout)

    return ask


def asks_mariadb(address: str) -> Ask:
    parts = urlsplit(address)
    where = {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": parts.password,
        "database": parts.path.lstrip("/"),
    }

    def ask(query: str) -> int:
        with (
            closing(pymysql.connect(**where)) as database,
            database.cursor() as cursor,
        ):
            cursor.execute(query)
            return int(cursor.fetchone()[0])

    return ask


def asks_sqlite(address: str) -> Ask:
    def ask(query: str) -> int:
        with closing(sqlite3.connect(unquote(urlsplit(address).path))) as database:
            return int(database.execute(query).fetchone()[0])

    return ask


def drive(plan: dict[str, Any], folder: Path) -> dict[str, Any]:
    (folder / "plan.json").write_text(json.dumps(plan))
    ended = subprocess.run(
        [str(binary()), "load", str(folder / "plan.json")], capture_output=True, text=True, check=False, timeout=240
    )
    assert ended.returncode == 0, ended.stderr
    document: dict[str, Any] = json.loads((Path(plan["out"]) / "engine.json").read_text())
    return document


def committed(out: Path, step: str) -> int:
    """Return the number of successful executions of a step, from the engine's recordings."""
    recording = segments.read(out)
    index = list(segments.names_of(recording, "step")).index(step)
    each = [series for interval in recording.intervals for series in interval.series]
    return sum(series.ok for series in each if series.of == "step" and series.number == index)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("study", "asks"),
    [
        pytest.param(
            "study.yaml",
            asks_postgresql,
            id="postgresql",
            marks=[
                pytest.mark.postgresql,
                pytest.mark.skipif(program("postgres") is None, reason=INSTALL_HINT),
            ],
        ),
        pytest.param(
            "study-mariadb.yaml",
            asks_mariadb,
            id="mariadb",
            marks=[
                pytest.mark.mariadb,
                pytest.mark.skipif(mariadb.program("mariadbd") is None, reason=mariadb.INSTALL_HINT),
            ],
        ),
        pytest.param("study-sqlite.yaml", asks_sqlite, id="sqlite"),
    ],
)
@pytest.mark.parametrize("connections", [pytest.param("per_user", marks=pytest.mark.smoke), 2, "new_each_time"])
def test_sums_agree_and_orders_are_those_that_were_committed(
    bench: Bench, study: str, asks: Callable[[str], Ask], connections: str | int
) -> None:
    # On some disks a durable write takes seconds, so in this test commits need not survive a power failure.
    loaded = load_study(EXAMPLE / study, preset="quick", changes=QUICK_COMMITS[study])
    spec = next(spec for spec in loaded.design() if spec.users != 1)
    with build_system(spec.system, EXAMPLE, bench.folder / "logs") as system:
        endpoints = system.up()
        plan = spec.plan(bench.folder / "engine", endpoints.addresses, endpoints.exports, 1, []).document()
        mode = {"mode": "pool", "size": connections} if isinstance(connections, int) else {"mode": connections}
        plan["connections"] = mode
        plan["load"]["stages"] = [{**stage, "duration_s": 1.0} for stage in plan["load"]["stages"]]
        result = drive(plan, bench.folder)
        ask = asks(endpoints.addresses["database"][0])
        sums = {what: (ask(first), ask(other)) for what, (first, other) in AGREE.items()}
        orders = ask("select count(*) from orders")
    assert all(first == other for first, other in sums.values()), sums
    assert orders == ORDERS_AT_FIRST + committed(bench.folder / "engine", "new_order / commit the order")
    assert orders > ORDERS_AT_FIRST
    assert result["totals"]["failed"] == {}, result["calls"]
    assert result["totals"]["ok"] == result["totals"]["started"]
