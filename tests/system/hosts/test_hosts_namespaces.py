"""Hosts of the provider `namespaces`: isolation, and the effect of each resource limit."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from host_support import requires
from metric_tables import metric_names

from towtank.errors import TargetError
from towtank.system.host_model import NamespacesHost, Network
from towtank.system.hosts import cleaning
from towtank.system.hosts.cgroups import find_trees, throttled_devices
from towtank.system.hosts.host import HostSettings
from towtank.system.hosts.site import DEVICE, Site, in_network
from towtank.system.hosts.virtual import VirtualHost
from towtank.system.process import ProcessSpec, run_to_end

pytestmark = pytest.mark.waits

Make = Callable[..., VirtualHost]
SLICE = "from towtank.system.hosts.timeslice import slice_of; print(round(slice_of() * 1e6))"
BURN = "import time\nwhile time.process_time() < 0.2: pass"
MIB = 2**20
SIZES = {f"{size} MiB": size * MIB for size in (32, 128, 256, 300)}
FILL = "import sys\nheld = bytearray(int(sys.argv[1]))\nfor place in range(0, len(held), 4096): held[place] = 1"


def said(host: VirtualHost, *command: str) -> str:
    answer = host.execute(list(command))
    assert answer.status == 0, answer.output
    return answer.output.strip()


def scraped(host: VirtualHost) -> dict[str, float]:
    (scraper,) = host.watching().scrapers
    return dict(scraper.scrape())


def test_name_files_and_network_are_its_own(virtual: Make, tmp_path: Path) -> None:
    (tmp_path / "ours").write_text("kept")
    host = virtual()
    assert said(host, "hostname") == "web"
    assert os.uname().nodename != "web"
    assert f"{host.address} web" in said(host, "cat", "/etc/hosts")
    assert said(host, "cat", str(tmp_path / "ours")) == "kept"
    said(host, "touch", "/tmp/private", "/dev/shm/private")
    assert not Path("/tmp/private").exists()
    assert not Path("/dev/shm/private").exists()
    devices = said(host, "cat", "/proc/net/dev")
    assert f"{DEVICE}:" in devices
    assert [line.split(":")[0].strip() for line in devices.splitlines()[2:]] == ["lo", DEVICE]


def test_nobody_else_gets_into_the_folders_of_a_host(virtual: Make) -> None:
    host = virtual(disks={"data": {"size": "32 MiB"}})
    for folder in (host._site.folder, host._site.images):
        assert folder.stat().st_mode & 0o077 == 0
    # Services that do not run as root must be able to use the host's folders.
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    for folder in (host.temporary, host.disk("data")):
        assert said(host, *user, "sh", "-c", f"echo mine >{folder}/file && cat {folder}/file") == "mine"


def test_a_folder_that_is_there_already_is_not_taken(room: HostSettings) -> None:
    site = Site(["web"], Network(), 1500)
    host = VirtualHost("web", NamespacesHost(provider="namespaces"), site, Network())
    requires(host)
    site.folder.mkdir()
    try:
        with pytest.raises(TargetError, match="cannot be made: File exists"):
            host.prepare(room)
    finally:
        host.tear_down()
        site.finish()


def test_network_of_this_machine_is_as_before_but_for_one_device(virtual: Make) -> None:
    def seen() -> list[str]:
        shown = subprocess.run(["ip", "-brief", "address"], capture_output=True, text=True, check=True).stdout
        return shown.splitlines()

    def others() -> list[str]:
        return [line for line in seen() if not line.startswith("towtank-")]

    before = others()
    host = virtual()
    prefix = host._site.prefix
    assert len(prefix) <= 15
    assert sum(line.startswith(prefix) for line in seen()) == 1
    assert others() == before
    host.tear_down()
    assert not any(line.startswith(prefix) for line in seen())
    assert others() == before


def test_two_hosts_of_a_site_reach_each_other_by_name(room: HostSettings) -> None:
    part = NamespacesHost.model_validate({"provider": "namespaces"})
    site = Site(["web", "database"], Network(), 1500)
    hosts = [VirtualHost(name, part, site, Network()) for name in site.names]
    requires(hosts[0])
    try:
        for host in hosts:
            host.prepare(room)
        listen = "import socket, sys; socket.create_server(('', 7000)).accept()"
        server = hosts[1].process(ProcessSpec("server", [hosts[1].python(), "-c", listen]), room.folder / "log")
        server.start()
        connect = (
            "import socket, time\nfor _ in range(200):\n try: socket.create_connection(('database', 7000)); break\n"
            " except OSError: time.sleep(0.05)\nelse: raise SystemExit('not reached')"
        )
        said(hosts[0], hosts[0].python(), "-c", connect)
        assert server.wait(limit_s=20) == 0
        server.stop()
    finally:
        for host in hosts:
            host.tear_down()
    assert cleaning.leftovers(site.prefix) == []


def test_cpu_time_is_limited_once_confined(virtual: Make, tmp_path: Path) -> None:
    host = virtual(cpus=0.05, cpu_period="20 ms", cpu_shares=512)
    run_to_end(host.process(ProcessSpec("free", [host.python(), "-c", BURN]), tmp_path / "log"))
    assert scraped(host).get("host_throttled_periods_total", 0) == 0
    host.confine()
    run_to_end(host.process(ProcessSpec("held", [host.python(), "-c", BURN]), tmp_path / "log"))
    values = scraped(host)
    assert values["host_throttled_periods_total"] > 0
    assert values["host_throttled_seconds_total"] > 0
    assert values["host_cpu_limit"] == 0.05


def test_pinning_and_time_slice_reach_the_processes(virtual: Make) -> None:
    cpu = max(os.sched_getaffinity(0))
    host = virtual(pinned=[cpu])
    assert said(host, host.python(), "-c", "import os; print(os.sched_getaffinity(0))") == f"{{{cpu}}}"
    assert host.cpus == [cpu]


def test_time_slice_reaches_the_processes(virtual: Make, tmp_path: Path) -> None:
    host = virtual(timeslice="7 ms")
    run_to_end(host.process(ProcessSpec("asks", ["sh", "-c", f'"{host.python()}" -c "{SLICE}"']), tmp_path / "log"))
    assert (tmp_path / "log").read_text() == "7000\n"


def test_memory_is_limited(virtual: Make, tmp_path: Path) -> None:
    host = virtual(memory="48 MiB")
    process = host.process(ProcessSpec("fills", [host.python(), "-c", FILL, str(96 * 2**20)]), tmp_path / "log")
    process.start()
    assert process.wait() == 137
    process.stop()
    values = scraped(host)
    assert values["host_out_of_memory_kills_total"] == 1
    assert values["host_memory_bytes"] <= 48 * 2**20


def test_page_cache_is_counted_as_memory(virtual: Make) -> None:
    host = virtual(memory="32 MiB")
    said(host, "dd", "if=/dev/zero", "of=/tmp/big", "bs=1M", "count=64", "status=none")
    said(host, "cat", "/tmp/big", "/tmp/big")
    values = scraped(host)
    assert 8 * 2**20 < values["host_memory_cache_bytes"] <= values["host_memory_bytes"] <= 32 * 2**20
    # The program reads 64 MiB twice through less than 32 MiB of page cache, so most pages were evicted and read from
    # the disk again.
    assert values["host_page_cache_refaults_total"] > 32 * 2**20 / os.sysconf("SC_PAGE_SIZE")


def test_the_load_begins_with_an_empty_page_cache(virtual: Make) -> None:
    host = virtual(disks={"data": {"size": "64 MiB"}}, page_cache="drop")
    said(host, "dd", "if=/dev/zero", f"of={host.disk('data')}/big", "bs=1M", "count=32", "status=none")
    said(host, "cat", f"{host.disk('data')}/big")
    assert scraped(host)["host_memory_cache_bytes"] > 32 * 2**20
    host.confine()
    facts = host.facts()
    assert facts["sizes"]["page_cache"] == "drop"
    assert scraped(host)["host_memory_cache_bytes"] <= facts["page_cache_left_bytes"] + 2**20 < 8 * 2**20
    before = scraped(host)['host_disk_read_bytes_total{disk="data"}']
    said(host, "cat", f"{host.disk('data')}/big")
    assert scraped(host)['host_disk_read_bytes_total{disk="data"}'] - before >= 32 * 2**20


def test_a_host_swaps_if_it_may(virtual: Make) -> None:
    host = virtual(memory="32 MiB", swap="96 MiB")
    said(host, host.python(), "-c", f"{FILL}\nsum(held[::4096])", str(64 * 2**20))
    values = scraped(host)
    assert values["host_out_of_memory_kills_total"] == 0
    assert values["host_major_page_faults_total"] > 0


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ({"file_system": "ext2"}, "ext2"),
        ({"file_system": "ext4", "journal": False, "mount_options": ["noatime"]}, "ext4"),
        ({"file_system": "xfs", "size": "300 MiB"}, "xfs"),
        ({"file_system": "ext3"}, "ext3"),
        ({"file_system": "btrfs", "size": "128 MiB"}, "btrfs"),
        ({"file_system": "btrfs", "size": "256 MiB", "images": 2}, "btrfs"),
    ],
)
def test_a_disk_has_its_file_system(virtual: Make, keys: dict[str, Any], shown: str) -> None:
    host = virtual(disks={"data": {"size": "32 MiB", **keys}})
    point = str(host.disk("data"))
    mounted = next(line.split() for line in said(host, "cat", "/proc/mounts").splitlines() if f" {point} " in line)
    assert mounted[2] == shown
    assert set(keys.get("mount_options", [])) <= set(mounted[3].split(","))
    assert point not in Path("/proc/mounts").read_text(), "the mount must be visible on the host only"
    said(host, "dd", "if=/dev/zero", f"of={point}/file", "bs=1M", "count=2", "oflag=sync", "status=none")
    values = scraped(host)
    assert values['host_disk_write_bytes_total{disk="data"}'] >= 2 * 2**20
    facts = host.facts()["disks"]["data"]
    assert facts["device"].startswith("/dev/loop")
    assert 0.3 * SIZES[keys.get("size", "32 MiB")] < facts["room_bytes"] <= SIZES[keys.get("size", "32 MiB")]
    assert (facts["room_files"] > 0) == (shown != "btrfs")


def test_a_striped_disk_writes_to_all_its_images(virtual: Make) -> None:
    limits = {"write_rate": "200 MB/s", "write_operations": "5000 /s"}
    host = virtual(disks={"data": {"size": "256 MiB", "file_system": "btrfs", "images": 2, **limits}})
    host.confine()
    devices = host.facts()["disks"]["data"]["devices"]
    before = [written_to(device) for device in devices]
    said(
        host, "dd", "if=/dev/urandom", f"of={host.disk('data')}/file", "bs=1M", "count=16", "conv=fsync", "status=none"
    )
    shares = [written_to(device) - start for device, start in zip(devices, before, strict=True)]
    assert len(shares) == 2
    assert min(shares) > 6 * 2**20
    values = scraped(host)
    assert values['host_disk_write_bytes_total{disk="data"}'] >= 16 * 2**20
    folder = host._group.folders.get("blkio")
    if folder is not None:
        assert (folder / "blkio.throttle.write_bps_device").read_text().count(" 200000000") == 2


def written_to(device: str) -> int:
    """Return the number of bytes written to a block device."""
    return 512 * int((Path("/sys/block") / Path(device).name / "stat").read_text().split()[6])


def test_a_full_disk_and_used_up_inodes_are_seen(virtual: Make) -> None:
    host = virtual(disks={"data": {"size": "16 MiB", "file_system": "ext2", "inodes": 64}})
    point = host.disk("data")
    free = scraped(host)['host_disk_free_inodes{disk="data"}']
    many = f"cd {point} && for n in $(seq 100); do : >file-$n || exit; done"
    assert "No space left on device" in host.execute(["sh", "-c", many]).output
    values = scraped(host)
    assert (free > 0, values['host_disk_free_inodes{disk="data"}']) == (True, 0)
    assert values['host_disk_free_bytes{disk="data"}'] > 2**20
    host.execute(["sh", "-c", f"rm {point}/file-*"])
    assert host.execute(["dd", "if=/dev/zero", f"of={point}/big", "bs=1M", "status=none"]).status != 0
    assert scraped(host)['host_disk_free_bytes{disk="data"}'] < 2**20


def test_disk_limits_are_set_for_host_and_write_back_and_lifted_again(virtual: Make) -> None:
    host = virtual(disks={"data": {"size": "16 MiB", "write_rate": "8 MB/s", "read_operations": "200 /s"}})
    host.confine()
    number = Path(host.facts()["disks"]["data"]["device"]).stat().st_rdev
    device = f"{os.major(number)}:{os.minor(number)}"
    folder = host._group.folders.get("blkio")
    if folder is not None:
        assert f"{device} 8000000" in (folder / "blkio.throttle.write_bps_device").read_text()
        assert f"{device} 200" in (folder / "blkio.throttle.read_iops_device").read_text()
        assert device in throttled_devices(find_trees())
    host.tear_down()
    attached = Path(f"/sys/block/loop{os.minor(number)}/loop").exists()
    assert attached or device not in throttled_devices(find_trees())


def shown_in(pid: int, *command: str) -> str:
    return subprocess.run(in_network(pid, list(command)), capture_output=True, text=True, check=True).stdout


def test_links_have_rate_mtu_and_offloads_at_both_ends(virtual: Make) -> None:
    link = {"mtu": 8992, "rate": "100 Mbit/s", "offloads": False}
    host = virtual(network=link, edge={"mtu": 1492, "rate": "1 Gbit/s"})
    site = host._site
    ends = {
        (host._namespaces.pid, DEVICE): (8992, "100Mbit"),
        (site.switch_pid, "port0"): (8992, "100Mbit"),
        (site.switch_pid, "generator"): (1492, "1Gbit"),
        (os.getpid(), site.prefix): (1492, "1Gbit"),
    }
    for (pid, device), (mtu, rate) in ends.items():
        assert f"mtu {mtu} " in shown_in(pid, "ip", "link", "show", device)
        assert f"rate {rate} " in shown_in(pid, "tc", "qdisc", "show", "dev", device)
    assert not any(host.facts()["offloads"].values())
    assert any(virtual().facts()["offloads"].values())


def test_a_disk_that_does_not_fit_is_refused_and_leaves_nothing(virtual: Make, room: HostSettings) -> None:
    host = virtual(prepared=False, disks={"data": {"size": "900 TiB"}})
    with pytest.raises(TargetError, match=r"host web: disk data of .* does not fit"):
        host.prepare(room)
    host.tear_down()
    assert cleaning.leftovers(host._site.prefix) == []


def test_the_reference_names_the_metrics_of_a_host(virtual: Make) -> None:
    host = virtual(cpus=0.5, memory="64 MiB", disks={"data": {"size": "16 MiB"}})
    reported = {key.partition("{")[0] for key in scraped(host)}
    assert reported == metric_names("Hosts with sizes of their own")
