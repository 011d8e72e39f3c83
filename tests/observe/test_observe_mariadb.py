"""Status variables of MariaDB: values by series, names as in the reference page, and invalid responses."""

from __future__ import annotations

import pytest
from metric_tables import metric_names

from towtank.observe import MariadbScraper, ScrapeError
from towtank.observe.mariadb import parse

# Some status variables of MariaDB 10.11 after a short load.
TOLD = {
    "Threads_connected": "3",
    "Questions": "1200",
    "Com_commit": "40",
    "Handler_write": "400",
    "Innodb_buffer_pool_read_requests": "90210",
    "Innodb_buffer_pool_reads": "210",
    "Innodb_os_log_written": "65536",
    "Innodb_row_lock_time": "1500",
    "Innodb_deadlocks": "2",
    "Uptime": "9",
}


def test_variables_become_series_in_base_units() -> None:
    assert parse(TOLD) == {
        "mariadb_connections": 3,
        "mariadb_statements_total": 1200,
        "mariadb_commits_total": 40,
        "mariadb_rows_inserted_total": 400,
        "mariadb_blocks_read_total": 210,
        "mariadb_blocks_hit_total": 90000,
        "mariadb_wal_bytes_total": 65536,
        "mariadb_lock_wait_seconds_total": 1.5,
        "mariadb_deadlocks_total": 2,
    }


def test_all_that_is_asked_for_stands_in_the_reference_and_the_other_way_round() -> None:
    from towtank.observe import mariadb  # noqa: PLC0415 - its private names are needed once

    reported = {**dict.fromkeys(mariadb._VARIABLES, "1"), mariadb._LOOKED_FOR: "2"}
    assert set(parse(reported)) == metric_names("MariaDB")
    assert all(f"'{name}'" in mariadb._QUERY for name in reported)


@pytest.mark.parametrize("reported", [{}, {"Uptime": "9"}, {"Questions": "many"}])
def test_an_invalid_answer_is_reported(reported: dict[str, str]) -> None:
    with pytest.raises(ScrapeError, match="must"):
        parse(reported)


def test_an_absent_server_is_reported_each_time() -> None:
    scraper = MariadbScraper("database", "mysql://towtank@127.0.0.1:1/towtank")
    for _ in range(2):
        with pytest.raises(ScrapeError, match="OperationalError"):
            scraper.scrape()
    scraper.close()
    scraper.close()
