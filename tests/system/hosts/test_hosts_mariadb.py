"""MariaDB on a host with limits and a disk. Clients reach the server over the virtual network."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pymysql
import pytest
from host_support import requires, virtual_host

from towtank.system.build import build_system, make_service
from towtank.system.model import load_system

pytestmark = pytest.mark.waits

SYSTEM = """
schema: towtank/system/1
name: database-on-a-host
hosts:
  data: {provider: namespaces, cpus: 1, memory: 512 MiB, disks: {disk: {size: 400 MiB, file_system: ext4}}}
services:
  database:
    kind: mariadb
    host: data
    disk: disk
    port: 3306
    settings: {innodb_buffer_pool_size: 32 MiB, innodb_log_file_size: 16 MiB}
    population: {script: population.sql}
start_timeout: 2 min
"""


@pytest.mark.mariadb
@pytest.mark.timeout(300)
def test_its_data_lies_on_the_disk_of_its_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requires(virtual_host(cpus=1.0, memory="512 MiB", disks={"disk": {"size": "400 MiB"}}))
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    path = tmp_path / "system.yaml"
    path.write_text(SYSTEM)
    (tmp_path / "population.sql").write_text("create table t (n int); insert into t values (1), (2);\n")
    file = load_system(path)
    if missing := make_service("database", file.services["database"], tmp_path).missing():
        pytest.skip(missing)
    with build_system(file, tmp_path, tmp_path / "logs") as system:
        endpoints = system.up()
        (address,) = endpoints.addresses["database"]
        parts = urlsplit(address)
        where = {"host": parts.hostname, "port": parts.port, "database": "towtank"}
        where |= {"user": parts.username, "password": parts.password}
        with closing(pymysql.connect(**where)) as connection, connection.cursor() as cursor:
            cursor.execute("select sum(n), @@hostname from t")
            assert cursor.fetchone() == (3, "data")
        service = next(candidate for candidate in system._services if candidate.name == "database")
        assert list(service.host.outside(service.host.disk("disk")).glob("towtank-mariadb-*/data/ibdata1"))
        for scraper in endpoints.scrapers:
            assert scraper.scrape(), scraper.service
            scraper.close()
        assert system.ended() == []
