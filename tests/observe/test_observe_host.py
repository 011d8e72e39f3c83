"""Properties of a host, read from recorded files of /proc and /sys and from the machine that runs the tests."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from towtank import __version__
from towtank.observe.host import cgroup_limits, host_facts, virtualisation

V1_MOUNTS = (
    "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "31 25 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"
    "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)
V2_MOUNTS = "25 21 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


def test_limits_of_version_2_hold_from_any_ancestor(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/system.slice/web.service"
    files = {
        "proc/self/mountinfo": V2_MOUNTS,
        "proc/self/cgroup": "0::/system.slice/web.service\n",
        f"{group}/cpu.max": "max 100000\n",
        f"{group}/memory.max": "4294967296\n",
        "sys/fs/cgroup/system.slice/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/system.slice/memory.max": "max\n",
    }
    facts = cgroup_limits(write(tmp_path, files))
    assert facts == (2, 1.5, 4 << 30)


def test_limits_of_version_1_go_by_controller(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": V1_MOUNTS.replace("0:26 / /sys", "0:26 /docker/12 /sys"),
        "proc/self/cgroup": "5:memory:/a\n4:cpu,cpuacct:/docker/12/in\n0::/\n",
        "sys/fs/cgroup/cpu,cpuacct/in/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu,cpuacct/in/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
    }
    assert cgroup_limits(write(tmp_path, files)) == (1, 0.5, None)


def test_a_cgroup_of_another_root_is_not_taken_for_ours(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": V1_MOUNTS.replace("0:26 / /sys", "0:26 /docker/12 /sys"),
        "proc/self/cgroup": "4:cpu,cpuacct:/docker/123\n",
        "sys/fs/cgroup/cpu,cpuacct/3/cpu.cfs_quota_us": "50000\n",
    }
    assert cgroup_limits(write(tmp_path, files)) == (1, None, None)


def test_a_virtual_machine_and_a_container_are_hinted_at(tmp_path: Path) -> None:
    assert virtualisation(tmp_path) is None
    files = {
        "proc/cpuinfo": "flags\t: fpu hypervisor sse\n",
        "sys/class/dmi/id/product_name": "KVM\n",
        ".dockerenv": "",
    }
    assert virtualisation(write(tmp_path, files)) == "virtual machine (KVM), container"


def test_what_a_host_does_not_report_is_left_out(tmp_path: Path) -> None:
    facts = host_facts(tmp_path).document()
    assert not {"kernel", "memory_bytes", "cpu_model", "governor", "clock_source"} & facts.keys()
    assert None not in facts.values()


def test_this_host() -> None:
    facts = host_facts()
    assert facts.kernel == os.uname().release
    assert 1 <= facts.cpus_usable <= facts.cpus
    assert facts.memory_bytes > 64 * 1024 * 1024
    assert facts.towtank == __version__
    assert facts == host_facts()


def test_the_fingerprint_is_of_the_machine_not_of_its_programs() -> None:
    facts = host_facts()
    print_ = facts.fingerprint
    assert print_ == replace(facts, python="3.99", towtank="9", name="other", open_files_limit=1).fingerprint
    assert print_ != replace(facts, kernel="9.9").fingerprint
    assert print_ != replace(facts, memory_bytes=facts.memory_bytes * 2).fingerprint
