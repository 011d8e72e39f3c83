"""Control groups of versions 1 and 2. Plain files replace the files of the kernel, so that the tests can read the
values that Towtank wrote.
"""

import os
from contextlib import nullcontext
from errno import EAGAIN, EINVAL, EIO
from pathlib import Path

import pytest

from towtank.errors import TargetError
from towtank.system.hosts.cgroups import ControlGroup, Trees, find_trees, remove, throttled_devices, unthrottle

LIMITS = {"read_rate": 20e6, "write_rate": 8e6, "read_operations": None, "write_operations": 100.0}


def proc(folder: Path, mounts: str, own: str) -> Path:
    folder.mkdir()
    (folder / "mounts").write_text(mounts)
    (folder / "cgroup").write_text(own)
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Trees:
    """Control group trees of version 1, with this process in the group `/job`, and a version 2 tree without usable
    controllers.
    """
    mounts = ""
    for name in ("cpu,cpuacct", "memory", "cpuset", "blkio"):
        (tmp_path / "sys" / name / "job").mkdir(parents=True)
        mounts += f"cgroup {tmp_path}/sys/{name} cgroup rw,relatime,{name} 0 0\n"
    (tmp_path / "sys/unified").mkdir()
    (tmp_path / "sys/unified/cgroup.controllers").write_text("hugetlb\n")
    mounts += f"cgroup2 {tmp_path}/sys/unified cgroup2 rw 0 0\n"
    for name, text in (("cpuset.cpus", "0-3"), ("cpuset.mems", "0")):
        (tmp_path / "sys/cpuset" / name).write_text(text)
    for kind in ("read", "write"):
        for unit in ("bps", "iops"):
            (tmp_path / f"sys/blkio/blkio.throttle.{kind}_{unit}_device").write_text("")
    own = "4:memory:/job\n3:cpuset:/job\n2:blkio:/job\n1:cpu,cpuacct:/job\n0::/\n"
    return find_trees(proc(tmp_path / "self", mounts, own))


@pytest.fixture
def new(tmp_path: Path) -> Trees:
    """A control group tree of version 2. Its root group enables only the memory controller for child groups."""
    root = tmp_path / "cgroup"
    root.mkdir()
    (root / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (root / "cgroup.subtree_control").write_text("memory\n")
    mounts = f"proc /proc proc rw 0 0\ncgroup2 {root} cgroup2 rw,nosuid 0 0\n"
    return find_trees(proc(tmp_path / "self", mounts, "0::/user.slice/session\n"))


def test_trees_of_version_1_are_found_with_the_own_group(old: Trees, tmp_path: Path) -> None:
    assert old.version == 1
    assert old.controllers["cpuacct"] == tmp_path / "sys/cpu,cpuacct/job"
    assert old.unified == tmp_path / "sys/unified"
    assert [old.has(name) for name in ("cpu", "io", "memory", "pids")] == [True, True, True, False]


def test_trees_of_version_2_are_found(new: Trees, tmp_path: Path) -> None:
    assert (new.version, new.unified) == (2, tmp_path / "cgroup")
    assert [new.has(name) for name in ("cpu", "io", "memory", "cpuset")] == [True] * 4


def test_without_trees_there_is_no_version(tmp_path: Path) -> None:
    trees = find_trees(proc(tmp_path / "self", "proc /proc proc rw 0 0\n", ""))
    assert (trees.version, trees.has("cpu")) == (None, False)
    with pytest.raises(TargetError, match="the controller cpu of control groups is not available"):
        ControlGroup(trees, "towtank-000000/web").weigh(512)


def test_version_1_gets_its_files(old: Trees, tmp_path: Path) -> None:
    group = ControlGroup(old, "towtank-000000/web")
    group.create()
    group.limit_cpu(0.25, 0.02)
    group.weigh(512)
    group.pin([3, 1])
    group.limit_memory(2**26)
    group.throttle("7:3", LIMITS)
    cpu, memory = (tmp_path / f"sys/{name}/job/towtank-000000/web" for name in ("cpu,cpuacct", "memory"))
    assert (cpu / "cpu.cfs_quota_us").read_text() == "5000"
    assert (cpu / "cpu.cfs_period_us").read_text() == "20000"
    assert (cpu / "cpu.shares").read_text() == "512"
    assert (memory / "memory.limit_in_bytes").read_text() == str(2**26)
    assert (memory / "memory.memsw.limit_in_bytes").read_text() == str(2**26)
    cpuset = tmp_path / "sys/cpuset/job/towtank-000000"
    assert ((cpuset / "cpuset.cpus").read_text(), (cpuset / "cpuset.mems").read_text()) == ("0-3", "0")
    assert (cpuset / "web/cpuset.cpus").read_text() == "1,3"
    own, root = tmp_path / "sys/blkio/job/towtank-000000/web", tmp_path / "sys/blkio"
    assert (own / "blkio.throttle.read_bps_device").read_text() == "7:3 20000000"
    assert (own / "blkio.throttle.write_iops_device").read_text() == "7:3 100"
    assert not (own / "blkio.throttle.read_iops_device").exists()
    # The kernel charges writes to the root group, and reads to the group of the process that reads. Therefore the write
    # limit must be set in the root group.
    assert (root / "blkio.throttle.write_bps_device").read_text() == "7:3 8000000"
    assert (root / "blkio.throttle.read_bps_device").read_text() == ""
    assert len(group.members_files()) == 6


def test_limits_of_the_root_group_are_listed_and_lifted(old: Trees, tmp_path: Path) -> None:
    file = tmp_path / "sys/blkio/blkio.throttle.write_bps_device"
    file.write_text("7:3 8000000\n254:0 100\n")
    assert throttled_devices(old) == {"7:3", "254:0"}
    unthrottle("7:3", old)
    assert file.read_text() == "7:3 0"


def test_version_2_gets_its_files(new: Trees, tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    (root / "towtank-000000").mkdir()
    (root / "towtank-000000/cgroup.subtree_control").write_text("")
    group = ControlGroup(new, "towtank-000000/web")
    group.create()
    for level in (root, root / "towtank-000000"):
        assert (level / "cgroup.subtree_control").read_text() == "+cpu +memory +cpuset +io"
    group.limit_cpu(1.5)
    group.pin([0])
    group.limit_memory(2**26)
    group.throttle("7:3", LIMITS)
    web = root / "towtank-000000/web"
    assert (web / "cpu.max").read_text() == "150000 100000"
    assert (web / "cpuset.cpus").read_text() == "0"
    assert ((web / "memory.max").read_text(), (web / "memory.swap.max").read_text()) == (str(2**26), "0")
    assert (web / "io.max").read_text() == "7:3 rbps=20000000 wbps=8000000 wiops=100"
    assert group.members_files() == [web / "cgroup.procs"]


@pytest.mark.parametrize(("shares", "weight"), [(2, 1), (1024, 39), (262_144, 10_000)])
def test_weights_are_converted_as_oci_runtimes_do(new: Trees, tmp_path: Path, shares: int, weight: int) -> None:
    # Formula 1 + ((shares - 2) * 9999) / 262142 of the OCI runtime specification, note on cgroup v2.
    group = ControlGroup(new, "towtank-000000/web")
    (tmp_path / "cgroup/towtank-000000/web").mkdir(parents=True)
    group.weigh(shares)
    assert (tmp_path / "cgroup/towtank-000000/web/cpu.weight").read_text() == str(weight)


def test_version_1_allows_swap_beyond_memory(old: Trees, tmp_path: Path) -> None:
    group = ControlGroup(old, "towtank-000000/web")
    group.create()
    group.limit_memory(2**26, 2**20)
    memory = tmp_path / "sys/memory/job/towtank-000000/web"
    assert (memory / "memory.limit_in_bytes").read_text() == str(2**26)
    assert (memory / "memory.memsw.limit_in_bytes").read_text() == str(2**26 + 2**20)


def test_version_2_allows_swap(new: Trees, tmp_path: Path) -> None:
    web = tmp_path / "cgroup/towtank-000000/web"
    web.mkdir(parents=True)
    ControlGroup(new, "towtank-000000/web").limit_memory(2**26, 2**20)
    assert (web / "memory.max").read_text() == str(2**26)
    assert (web / "memory.swap.max").read_text() == str(2**20)


def test_a_kernel_that_does_not_count_swap_refuses_only_swap(old: Trees, tmp_path: Path) -> None:
    group = ControlGroup(old, "towtank-000000/web")
    group.create()
    (tmp_path / "sys/memory/job/towtank-000000/web/memory.memsw.limit_in_bytes").mkdir()
    group.limit_memory(2**26)
    with pytest.raises(TargetError, match=r"memory\.memsw\.limit_in_bytes"):
        group.limit_memory(2**26, 2**20)


def test_version_1_drops_the_page_cache(old: Trees, tmp_path: Path) -> None:
    group = ControlGroup(old, "towtank-000000/web")
    group.create()
    memory = tmp_path / "sys/memory/job/towtank-000000/web"
    (memory / "memory.stat").write_text("cache 4096\ntotal_cache 12288\n")
    assert group.reclaim_lacking() is None
    assert group.drop_page_cache() == 12288
    assert (memory / "memory.force_empty").read_text() == "0"


def test_version_2_reclaims_the_size_of_the_page_cache(new: Trees, tmp_path: Path) -> None:
    web = tmp_path / "cgroup/towtank-000000/web"
    web.mkdir(parents=True)
    group = ControlGroup(new, "towtank-000000/web")
    (web / "memory.stat").write_text("anon 100\nfile 8192\nshmem 2048\n")
    with pytest.raises(TargetError, match=r"Linux 5\.19"):
        group.drop_page_cache()
    (web / "memory.reclaim").write_text("")
    assert group.drop_page_cache() == 8192
    assert (web / "memory.reclaim").read_text() == "6144 swappiness=0", "memory of a tmpfs must not be evicted"
    (web / "memory.stat").write_text("file 8192\nshmem 8192\n")
    (web / "memory.reclaim").write_text("")
    assert group.drop_page_cache() == 8192
    assert (web / "memory.reclaim").read_text() == "", "nothing can be evicted"


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("error", [None, EAGAIN, EIO])
def test_only_an_incomplete_reclaim_is_not_an_error(
    new: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: bool, error: int | None
) -> None:
    web = tmp_path / "cgroup/towtank-000000/web"
    web.mkdir(parents=True)
    (web / "memory.stat").write_text("file 8192\nshmem 0\n")
    (web / "memory.reclaim").write_text("")
    written: list[str] = []

    def write(_: Path, text: str) -> None:
        written.append(text)
        if older and "swappiness" in text:
            raise OSError(EINVAL, os.strerror(EINVAL))
        if error is not None:
            raise OSError(error, os.strerror(error))

    monkeypatch.setattr(Path, "write_text", write)
    with pytest.raises(TargetError, match="Input/output error") if error == EIO else nullcontext():
        assert ControlGroup(new, "towtank-000000/web").drop_page_cache() == 8192
    assert written == ["8192 swappiness=0", "8192"][: 2 if older else 1]


def test_removal_gives_up_on_a_group_that_stays(tmp_path: Path) -> None:
    (tmp_path / "group/inner").mkdir(parents=True)
    (tmp_path / "group/held").write_text("")
    assert not remove(tmp_path / "group", within_s=0.1)
    (tmp_path / "group/held").unlink()
    assert remove(tmp_path / "group")
