"""Hosts in system files: all faults are reported at once with their lines, and conversion to JSON and back preserves
all values.
"""

from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.system.host_model import NamespacesHost
from towtank.system.model import load_system

pytestmark = pytest.mark.waits

HEAD = "schema: towtank/system/1\nname: x\n"


def faults(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "system.yaml"
    path.write_text(HEAD + text)
    with pytest.raises(StudyError) as caught:
        load_system(path)
    return [str(fault).removeprefix(f"{path}:") for fault in caught.value.faults]


def test_all_faults_are_reported_with_their_places(tmp_path: Path) -> None:
    reported = faults(
        tmp_path,
        "hosts:\n"
        "  a: {provider: namespace}\n"
        "  b: {provider: namespaces, cpus: 0, memory: 1 KiB, network: {mtu: 100}}\n"
        "  c: {provider: local, cpus: 2}\n"
        "  d: {provider: existing}\n"
        "  e: {provider: namespaces, disks: {data: {size: 64 MiB, rate: 1}}}\n"
        "  f: {}\n"
        "services:\n"
        "  one: {kind: null_server, host: d}\n"
        "  two: {kind: postgresql, host: e, disk: date}\n"
        "  three: {kind: postgresql, host: d, disk: data}\n",
    )
    expected = [
        "4:17: hosts.a.provider: must be a provider among local, namespaces",
        "5:35: hosts.b.cpus: must be above 0, got 0 instead",
        "5:46: hosts.b.memory: must be at least 4194304",
        "5:68: hosts.b.network.mtu: must be at least 576, got 100 instead",
        "6:24: hosts.c.cpus: ",
        "8:58: hosts.e.disks.data.rate: ",
        "9:6: hosts.f: must be a provider among local, namespaces",
        "11:34: services.one.host: must be a host on which Towtank can start a null_server, got 'd' "
        "instead, which is of provider existing",
        "12:42: services.two.disk: must be a disk of host e (data), got 'date' instead, did you mean 'data'?",
        "13:35: services.three.host: must be a host on which Towtank can start a postgresql",
        "13:44: services.three.disk: must be a disk of host d, which has none, got 'data' instead",
    ]
    assert [any(line.startswith(start) for line in reported) for start in expected] == [True] * len(expected), reported
    assert len(reported) == len(expected), reported


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("cpus: 0.005", "must have cpus of at least 0.01 with this cpu_period, got 0.005 instead"),
        ("cpu_period: 2 s", "must be at most 1"),
        ("timeslice: 1 s", "must be at most 0.1"),
        ("pinned: []", "must have at least 1 entries"),
        ("pinned: [-1]", "must be at least 0"),
        ("cpu_shares: 1", "must be at least 2"),
        ("disks: {d: {size: 100 MiB, file_system: xfs}}", "must have a size of at least 300 MiB for xfs"),
        (
            "disks: {d: {size: 100 MiB, file_system: ext2, journal: false}}",
            "must have file_system ext4 to be without a journal",
        ),
        (
            "disks: {d: {size: 400 MiB, file_system: xfs, inodes: 100}}",
            "must have file_system ext2, ext3 or ext4 to set inodes",
        ),
        ("disks: {d: {size: 200 MiB, file_system: btrfs, images: 2}}", "at least 218 MiB for btrfs in 2 images"),
        (
            "disks: {d: {size: 200 MiB, images: 2}}",
            "must have file_system btrfs to be striped over several images, got ext4",
        ),
        ("network: {rate: 100}", "must be a data rate in B/s"),
        ("network: {loss: 101 %}", "at most 100 %"),
    ],
)
def test_sizes_that_cannot_be(tmp_path: Path, keys: str, message: str) -> None:
    text = f"hosts: {{a: {{provider: namespaces, {keys}}}}}\nservices: {{s: {{kind: null_server, host: a}}}}\n"
    (fault,) = faults(tmp_path, text)
    assert message in fault


def test_a_host_comes_back_from_json(tmp_path: Path) -> None:
    keys: dict[str, Any] = {
        "provider": "namespaces",
        "cpus": 0.5,
        "cpu_period": "20 ms",
        "memory": "512 MiB",
        "disks": {"data": {"size": "1 GiB", "write_rate": "20 MB/s", "read_operations": "200 /s"}},
        "network": {"rate": "100 Mbit/s", "mtu": 8992, "delay": "5 ms", "loss": "0.1 %", "offloads": False},
    }
    part = NamespacesHost.model_validate(keys)
    assert NamespacesHost.model_validate(part.model_dump(mode="json")) == part
    assert part.network.rate == 12.5e6
