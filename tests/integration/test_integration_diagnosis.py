"""Diagnosis of a running application with a known bottleneck, by `towtank drive` and by a study that reads the
application's metrics.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from own_application import own_application, own_database
from waiting import until

from towtank.system import ConnectionScraper

pytestmark = [pytest.mark.waits, pytest.mark.alone, pytest.mark.xdist_group("own-application")]

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-application"
# CPU limit of a control group that the test creates if the machine allows it. [CPUs]
QUOTA = "0.5"


def towtank(*arguments: str, folder: Path) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "towtank", *arguments, "--json"],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def driven(url: str, folder: Path, *options: str) -> dict:
    """Return the diagnosis of `towtank drive`, which knows only the address of the server."""
    load = options or ("--users", "16")
    return towtank("drive", url, "--duration", "6s", "--ramp", "1s", *load, folder=folder)["diagnosis"]


def test_one_worker_at_its_cpu(tmp_path):
    with own_application("cpu-one") as app:
        found = driven(app.report, tmp_path)
    assert (found["cause"], found["place"]["tier"]) == ("cpu", "app")
    assert found["place"]["part"].startswith(("process", "thread"))
    assert str(app.workers[0]) in found["where"]


def test_all_workers_at_their_cpus(tmp_path):
    with own_application("cpu-all") as app:
        found = driven(app.report, tmp_path)
    assert (found["cause"], found["where"]) == ("cpu", "app")


def test_refusals_above_a_rate(tmp_path):
    with own_application("errors") as app:
        found = driven(app.report, tmp_path, "--users", "16", "--think", "50ms")
    assert found["cause"] == "errors"
    assert "status_5xx" in found["evidence"][0]


def test_a_load_below_the_knee(tmp_path):
    with own_application("none") as app:
        found = driven(app.report, tmp_path, "--users", "40", "--think", "2s")
    assert found["cause"] == "none"


def test_a_lock_that_shows_nowhere_is_not_guessed(tmp_path):
    with own_application("lock") as app:
        found = driven(app.report, tmp_path)
    assert (found["cause"], found["sure"]) == ("unknown", 0.0)
    assert found["settle"]


def test_the_connection_that_reads_postgresql_is_not_part_of_the_pool():
    psycopg = pytest.importorskip("psycopg")
    with own_database() as folder:
        leader = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        place = f"host={folder} user=shop dbname=postgres"
        sleeping = ["psql", place, "-Atc", "select pg_sleep(60)"]
        pool = [subprocess.Popen(sleeping, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
        scraper = ConnectionScraper(lambda: {"database": leader}, set())
        busy = 'server_connections_busy{to="database"}'
        try:
            with psycopg.connect(place):
                until(lambda: scraper.scrape().get(busy) == 4.0)
                assert scraper.scrape()['server_connections{to="database"}'] == 4.0
        finally:
            for client in pool:
                client.kill()
                client.wait()


@pytest.fixture
def half_a_cpu():
    """Create a control group with a limit of half a CPU. If this is not possible, skip the test."""
    root = Path("/sys/fs/cgroup")
    group = root / f"towtank-test-{os.getpid()}"
    version_1 = (root / "cpu").is_dir()
    if version_1:
        group = root / "cpu" / group.name
    try:
        group.mkdir()
        if version_1:
            (group / "cpu.cfs_quota_us").write_text("50000")
            (group / "cpu.cfs_period_us").write_text("100000")
        else:
            (group / "cpu.max").write_text("50000 100000")
    except OSError as error:
        shutil.rmtree(group, ignore_errors=True)
        pytest.skip(f"a control group with a CPU limit cannot be created: {error}")
    yield group
    group.rmdir()


def test_the_quota_of_a_control_group(tmp_path, half_a_cpu):
    enter = ("sh", "-c", f'echo $$ > {half_a_cpu}/cgroup.procs; exec "$@"', "sh")
    with own_application("cpu-all", wrapper=enter) as app:
        found = driven(app.report, tmp_path)
    assert (found["cause"], found["place"]["tier"]) == ("quota", "app")
    assert half_a_cpu.name in found["where"]


STUDY = """\
schema: towtank/study/1
name: limits
system: system.yaml
workload: workload.yaml
seed: 1
factors: {users: [1, 4, 16, 32]}
load:
  kind: closed
  stages: {ramp_up: 1 s, steady: 8 s, ramp_down: 500 ms}
"""


@pytest.mark.parametrize(
    ("limit", "cause", "part"),
    [("lock", "lock", "shop_report_lock_held_seconds_total"), ("pool", "pool", "shop_pool_connections_in_use")],
)
def test_a_study_with_a_page_of_metrics_names_lock_and_pool(limit, cause, part, tmp_path):
    with own_application(limit) as app:
        (tmp_path / "study.yaml").write_text(STUDY)
        (tmp_path / "workload.yaml").write_text((EXAMPLE / "workload.yaml").read_text())
        system = (EXAMPLE / "system.yaml").read_text().replace(":8080", f":{app.port}")
        (tmp_path / "system.yaml").write_text(system)
        towtank("run", "study.yaml", "--out", "results", folder=tmp_path)
    found = towtank("diagnose", "results", folder=tmp_path)
    assert (found["cause"], found["place"]["tier"], found["place"]["transaction"]) == (cause, "shop", "report")
    assert part in found["where"]
    assert found["sure"] >= 0.9
