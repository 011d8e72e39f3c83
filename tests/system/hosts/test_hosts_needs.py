"""Requirements of a system file on the machine (programs, rights, CPUs), and the messages if the machine does not meet
them.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from host_support import virtual_host

from towtank.system.host_model import NamespacesHost
from towtank.system.hosts import capabilities
from towtank.system.hosts.capabilities import Capability
from towtank.system.hosts.needs import host_needs, lacking, swap_lacking

pytestmark = pytest.mark.waits

ALL = ("namespaces", "bridge", "ip", "tc", "tbf", "netem", "tap", "offloads", "cgroup", "cgroup cpu", "cgroup cpuset")
ALL += ("cgroup memory", "cgroup swap", "cgroup page cache", "cgroup io", "timeslice", "loop", "mkfs.ext4", "mkfs.xfs")


def offered(**absent: str) -> dict[str, Capability]:
    given = {name.replace("__", ".").replace("_", " "): why for name, why in absent.items()}
    return {name: Capability(name, given.get(name), "") for name in ALL}


def lines(keys: dict[str, Any], **absent: str) -> list[str]:
    part = NamespacesHost.model_validate({"provider": "namespaces", **keys})
    return lacking("hosts.web", host_needs(part), offered(**absent))


def test_nothing_is_missed_where_all_is_there() -> None:
    everything = {
        "cpus": 0.5,
        "cpu_shares": 512,
        "pinned": [0],
        "timeslice": "3 ms",
        "memory": "64 MiB",
        "swap": "64 MiB",
        "page_cache": "drop",
        "disks": {"data": {"size": "64 MiB", "write_rate": "8 MB/s"}},
        "network": {"rate": "1 Gbit/s", "delay": "1 ms", "offloads": False},
    }
    assert lines(everything) == []


@pytest.mark.parametrize(
    ("keys", "absent", "where"),
    [
        ({}, "namespaces", "provider"),
        ({"cpus": 1.0}, "cgroup_cpu", "cpus"),
        ({"memory": "64 MiB"}, "cgroup_memory", "memory"),
        ({"memory": "64 MiB", "swap": "1 MiB"}, "cgroup_swap", "swap"),
        ({"page_cache": "drop"}, "cgroup_page_cache", "page_cache"),
        ({"pinned": [0]}, "cgroup_cpuset", "pinned"),
        ({"timeslice": "3 ms"}, "timeslice", "timeslice"),
        ({"network": {"rate": "1 Gbit/s"}}, "tbf", "network.rate"),
        ({"network": {"offloads": False}}, "offloads", "network.offloads"),
        ({"disks": {"data": {"size": "64 MiB"}}}, "loop", "disks.data"),
        ({"disks": {"data": {"size": "64 MiB"}}}, "mkfs__ext4", "disks.data.file_system"),
        ({"disks": {"data": {"size": "64 MiB", "read_rate": "8 MB/s"}}}, "cgroup_io", "disks.data"),
    ],
)
def test_each_key_names_what_it_lacks(keys: dict[str, Any], absent: str, where: str) -> None:
    name = absent.replace("__", ".").replace("_", " ")
    assert lines(keys, **{absent: "gone"}) == [f"hosts.web.{where}: needs {name}, which is not available: gone"]
    plain = {} if keys else {"cpus": 1.0}
    assert bool(lines(plain, **{absent: "gone"})) == (absent == "namespaces")


def test_delay_needs_one_of_two() -> None:
    keys = {"network": {"delay": "5 ms"}}
    assert lines(keys, netem="unknown") == lines(keys, tap="unknown") == []
    assert lines(keys, netem="unknown", tap="no device") == [
        "hosts.web.network.delay: needs netem or tap, which is not available: no device"
    ]


def test_swap_needs_a_memory_limit_and_swap_space(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must have `memory` beside `swap`"):
        NamespacesHost.model_validate({"provider": "namespaces", "swap": "1 GiB"})
    swaps = tmp_path / "swaps"
    assert str(capabilities.no_swap(swaps)).startswith("this machine has no swap space")
    swaps.write_text("Filename Type Size Used Priority\n")
    assert str(capabilities.no_swap(swaps)).startswith("this machine has no swap space")
    swaps.write_text("Filename Type Size Used Priority\n/dev/sda2 partition 1048572 0 -2\n")
    assert capabilities.no_swap(swaps) is None
    swaps.write_text(f"{swaps.read_text()}/swapfile file 1048576 0 -3\n")
    assert capabilities.swap_bytes(swaps) == 1024 * (1048572 + 1048576)


@pytest.mark.parametrize(
    ("present_bytes", "fault"),
    [
        (2**29, "swap: must be at most the swap space of this machine, 512 MiB, got 1 GiB instead"),
        (2**30, None),
        (0, None),
    ],
)
def test_swap_beyond_that_of_the_machine_is_reported(present_bytes: int, fault: str | None) -> None:
    part = NamespacesHost.model_validate({"provider": "namespaces", "memory": "1 GiB", "swap": "1 GiB"})
    assert swap_lacking(part, present_bytes) == fault


def test_a_host_without_swap_needs_no_swap_space() -> None:
    part = NamespacesHost.model_validate({"provider": "namespaces", "memory": "1 GiB"})
    assert swap_lacking(part, 2**29) is None


def test_one_reason_is_reported_once() -> None:
    absent = dict.fromkeys(("namespaces", "bridge", "cgroup", "cgroup_cpu"), "needs root")
    assert len(lines({"cpus": 1.0}, **absent)) == 1


def test_a_missing_cpu_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "probe", offered)
    reported = virtual_host(pinned=[8191]).lacks()
    assert reported == [
        f"hosts.web.pinned: must name CPUs among {', '.join(map(str, sorted(os.sched_getaffinity(0))))}, "
        "got 8191 instead"
    ]


WITHOUT_ROOT = """
import encodings.idna, os, sys, towtank.observe  # nobody may not read the modules of Python itself
from pathlib import Path
from host_support import virtual_host
from towtank.system.build import build_system
from towtank.system.hosts.group import Hosts
from towtank.system.model import load_system
from towtank.system.reach import refuses_connection

folder = Path(sys.argv[1])
file = load_system(folder / "system.yaml")
system = build_system(file, folder, folder / "logs")
virtual = virtual_host(cpus=0.5)
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
print("lacks:", *virtual.lacks())
with system:
    endpoints = system.up()
    print("refuses:", refuses_connection(endpoints.addresses["web"][0]), endpoints.hosts["here"]["provider"])
"""
SYSTEM = """
schema: towtank/system/1
name: plain
hosts: {here: {provider: local}, there: {provider: existing}}
services:
  web: {kind: null_server, host: here}
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every operating-system user may enter. Other users cannot enter `tmp_path`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root rights, which the test then drops")
def test_without_root_local_works_and_the_rest_says_what_it_needs(open_folder: Path) -> None:
    (open_folder / "system.yaml").write_text(SYSTEM)
    environment = {**os.environ, "TOWTANK_STATE": str(open_folder / "state")}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOT, str(open_folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "lacks: hosts.web.provider: needs namespaces, which is not available: needs root",
        "refuses: None local",
    ]
