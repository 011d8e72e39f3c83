"""Open-file limits of services: the soft limit is raised to the hard limit, and the resulting limits are recorded."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from towtank.system.limits import PORTS, limits_below, parse_limits, parse_ports, ports_here, read_here
from towtank.system.process import ProcessSpec, ServiceProcess, log_tail, run_to_end
from towtank.system.service import Place, Service
from towtank.system.system import System

pytestmark = pytest.mark.waits

SOFT = 256
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             63432                unlimited            processes
Max open files            1024                 524288               files
Max locked memory         unlimited            unlimited            bytes
"""


@pytest.fixture
def login_limit() -> Iterator[int]:
    """Set a low soft limit of open files, like that of a login session; yield the hard limit."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, before[1]))
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def printed_limit(folder: Path, stated: int | None = None) -> int:
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    spec = ProcessSpec("worker", [sys.executable, "-c", code], open_files=stated)
    run_to_end(ServiceProcess(spec, folder / "worker.log"))
    return int(log_tail(folder / "worker.log")[-1])


def test_service_gets_its_hard_limit_of_open_files(tmp_path: Path, login_limit: int) -> None:
    assert printed_limit(tmp_path) == min(login_limit, 524_288)


def test_service_gets_the_limit_that_its_kind_states(tmp_path: Path, login_limit: int) -> None:
    assert printed_limit(tmp_path, stated=300) == 300
    assert printed_limit(tmp_path, stated=login_limit + 1) == login_limit


class Sleeper(Service):
    """A service with one idle process. The service is ready when its log contains a line."""

    def processes(self, place: Place) -> list[ProcessSpec]:
        self.log = place.logs / f"{self.name}.log"
        code = "import time; print('ready', flush=True); time.sleep(600)"
        return [ProcessSpec(self.name, [sys.executable, "-c", code])]

    def ready(self) -> str | None:
        return None if log_tail(self.log) else "it said nothing yet"


def test_limits_in_force_are_among_the_facts_of_a_tier(tmp_path: Path, login_limit: int) -> None:
    with System([Sleeper("sleeper")], tmp_path / "data", tmp_path / "logs") as system:
        limits = system.up().tiers["sleeper"].limits
    assert limits["open_files"] == min(login_limit, 524_288)
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    assert limits["processes"] == (None if most == resource.RLIM_INFINITY else most)
    first, last = map(int, Path(PORTS).read_text().split())
    assert limits["ports"] == last - first + 1


def test_limits_are_read_as_the_kernel_writes_them() -> None:
    assert parse_limits(LIMITS) == {"open_files": 1024, "processes": 63432}
    assert parse_limits(LIMITS.replace("63432     ", "unlimited ")) == {"open_files": 1024, "processes": None}
    assert parse_limits("") == {}


def test_limits_of_a_process_that_ended_are_unknown() -> None:
    assert limits_below(2**22 + 1, read_here) == {}
    files = {"/proc/7/task/7/children": "8 9 ", "/proc/8/limits": LIMITS}
    assert limits_below(7, files.get)["open_files"] == 1024
    assert "ports" not in limits_below(7, files.get)
    assert limits_below(7, files.get, {8: "1024 2047"}.get)["ports"] == 1024


@pytest.mark.skipif(os.geteuid() != 0, reason="a separate network namespace needs root")
def test_the_range_of_local_ports_is_that_of_the_network_of_the_process() -> None:
    script = "echo 40000 40999 >/proc/sys/net/ipv4/ip_local_port_range && echo set && exec sleep 60"
    command = ["unshare", "-n", "sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "set\n":
            pytest.skip("this kernel does not allow a port range in a new network namespace")
        assert parse_ports(ports_here(process.pid) or "") == 1000
        assert parse_ports(ports_here(os.getpid()) or "") != 1000
        process.kill()
