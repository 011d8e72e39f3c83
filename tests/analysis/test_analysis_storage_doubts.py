from __future__ import annotations

from typing import Any

import pytest

from towtank.analysis.checks.storage import full_storage, throttled_disks
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel
from towtank.analysis.system.entries import DiskUse, HostUse
from towtank.analysis.system.hosts import _full_in
from towtank.system.host_model import Disk

ROOMY: dict[str, float | None] = {
    "size_bytes": 1e9,
    "free_bytes_least": 8e8,
    "bytes_full_in_s": None,
    "size_inodes": 3000.0,
    "free_inodes_least": 1500.0,
    "inodes_full_in_s": None,
}


def doubts(*least: float, **values: Any) -> list[Doubt]:
    return list(full_storage({"web": HostUse(disks={"contents": DiskUse(**{**ROOMY, **values})})}, 40.0, *least))


def test_no_inodes_while_there_is_room_make_a_run_suspect() -> None:
    (doubt,) = doubts(free_inodes_least=0.0)
    assert (doubt.kind, doubt.level) == (DoubtKind.STORAGE_FULL, DoubtLevel.SUSPECT)
    assert doubt.message == "disk contents of host web had no inodes left: 0 of 3,000, with 80 % of its space left"


def test_no_room_makes_a_run_suspect() -> None:
    (doubt,) = doubts(free_bytes_least=4096.0)
    assert doubt.level is DoubtLevel.SUSPECT
    assert "had no space left: 4,096 of 1,000,000,000, with 50 % of its inodes left" in doubt.message


def test_the_share_that_must_be_left_is_a_limit_of_the_study() -> None:
    (doubt,) = doubts(0.0, free_inodes_least=0.0)
    assert doubt.level is DoubtLevel.NOTE
    (doubt,) = doubts(0.2, free_bytes_least=1.9e8)
    assert (doubt.level, doubt.seen, doubt.limit) == (DoubtLevel.SUSPECT, pytest.approx(0.19), 0.2)
    assert "has 19 % of its space left, limit 20 %" in doubt.message
    assert doubts(0.2, free_bytes_least=2.1e8) == []
    (doubt,) = doubts(0.0005, free_bytes_least=8e5)
    assert doubt.level is DoubtLevel.NOTE


def test_what_is_used_up_within_ten_windows_is_noted_before_it_is() -> None:
    (doubt,) = doubts(inodes_full_in_s=95.4)
    assert (doubt.level, doubt.seen, doubt.limit, doubt.unit) == (DoubtLevel.NOTE, 95.4, 400.0, "s")
    assert "has 50 % of its inodes left: enough for 95 s after the window at the rate of the window" in doubt.message
    assert doubts(inodes_full_in_s=401.0) == []


def test_little_is_noted_although_it_lasts() -> None:
    (doubt,) = doubts(free_bytes_least=4e7, bytes_full_in_s=1e6)
    assert (doubt.level, doubt.seen, doubt.limit) == (DoubtLevel.NOTE, pytest.approx(0.04), 0.05)


def test_a_roomy_disk_and_one_without_a_number_of_inodes_are_no_doubt() -> None:
    assert doubts() == []
    assert doubts(size_inodes=0.0, free_inodes_least=0.0) == []
    assert doubts(size_inodes=None, size_bytes=None) == []
    assert list(full_storage({"far": HostUse(disks={"vda": DiskUse(utilization=0.1)})}, 40.0)) == []
    assert list(full_storage({"here": HostUse()}, 40.0)) == []


def test_limits_of_disks_are_named_with_their_units() -> None:
    # Description of a host in the form that `run.json` contains.
    written = {"size": "1 GB", "read_rate": "16 MiB/s", "read_operations": "200 /s", "write_operations": "30 /min"}
    limited = Disk.model_validate(written).model_dump(mode="json")
    free = Disk.model_validate({"size": "1 GB"}).model_dump(mode="json")
    manifest = {"hosts": {"store": {"disks": {"data": limited, "log": free}}, "web": {}}}
    assert list(throttled_disks(manifest)) == [("store", "data", "16 MiB/s read, 200 reads/s, 0.5 writes/s")]
    striped = {"hosts": {"store": {"disks": {"data": {"read_operations": "150 /s", "images": 4}}}}}
    assert list(throttled_disks(striped)) == [("store", "data", "600 reads/s (4 images of 150 reads/s)")]
    assert list(throttled_disks({"hosts": None})) == []
    assert list(throttled_disks({"hosts": {"here": {"disks": {"data": {"read_operations": 3}}}}})) == [
        ("here", "data", "3")
    ]


def test_the_time_until_full_is_that_of_the_mean_rate() -> None:
    # 40 of 100 inodes are used up in 10 s, so the remaining 60 last for 15 s.
    assert _full_in([100.0, 95.0, 60.0], 10.0) == pytest.approx(15.0)
    assert _full_in([60.0, 60.0], 10.0) is None
    assert _full_in([60.0, 70.0], 10.0) is None
    assert _full_in([60.0], 10.0) is None
