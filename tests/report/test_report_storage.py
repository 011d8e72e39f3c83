from __future__ import annotations

from typing import Any

from towtank.report.content import storage
from towtank.report.document import Table
from towtank.report.source import Results, RunResult


def estimate(value: float | None) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "confidence": 0.95, "method": "none", "n": 1}


TOLD: dict[str, Any] = {
    "asked": {
        "read_bytes_per_s": estimate(2048.0),
        "write_bytes_per_s": estimate(1024.0),
        "calls_per_s": estimate(12.0),
    },
    "mounts": {
        "area": {
            "calls_per_s": estimate(20.0),
            "server_calls_per_s": estimate(5.0),
            "cache_bytes": 2.0**20,
            "cache_limit_bytes": 2.0**22,
            "cache_files": 31.6,
            "servers": {
                "store-1": {"calls_per_s": estimate(4.0), "read_share": estimate(1.0)},
                "store-2": {"calls_per_s": estimate(1.0), "read_share": estimate(None)},
            },
        }
    },
    "reached": {"read_bytes_per_s": estimate(None), "write_bytes_per_s": estimate(4096.0)},
}


def results(**summary: object) -> Results:
    return Results("results", {}, {}, (RunResult("r001", {"status": "complete"}, {"run": "r001", **summary}),))


def test_both_sides_stand_side_by_side() -> None:
    section = storage.build(results(storage=TOLD))
    assert section is not None
    sides, mounts = [block for block in section.blocks if isinstance(block, Table)]
    assert sides.rows[0][3:8] == ("2.00 KiB/s", "1.00 KiB/s", "12.0", "–", "4.00 KiB/s")
    assert sides.rows[0][8] == "–", "an unknown value is shown as a dash, not as zero"
    first, second = mounts.rows
    assert first[3:] == ("area", "20.0", "5.00", "1.00 MiB of 4.00 MiB", "32", "store-1", "4.00", "1.00")
    assert second[3:] == ("", "", "", "", "", "store-2", "1.00", "–")


def test_mounts_of_several_hosts_are_told_apart() -> None:
    both = {**TOLD, "mounts": dict.fromkeys(("area-2", "area"), TOLD["mounts"]["area"])}
    tiers = {
        name: {"kind": "glusterfs_mount", "host": f"node-{number}"} for number, name in enumerate(("area", "area-2"))
    }
    manifest = {"status": "complete", "tiers": tiers}
    section = storage.build(
        Results("results", {}, {}, (RunResult("r001", manifest, {"run": "r001", "storage": both}),))
    )
    assert section is not None
    table = [block for block in section.blocks if isinstance(block, Table)][-1]
    assert [row[3] for row in table.rows] == ["area on node-0", "", "area-2 on node-1", ""]


def test_a_cache_that_is_counted_wrong_is_told() -> None:
    wrong = {**TOLD["mounts"]["area"], "cache_bytes": 5.5e8}
    for mount, is_noted in ((TOLD["mounts"]["area"], False), (wrong, True)):
        section = storage.build(results(storage={**TOLD, "mounts": {"area": mount}}))
        assert section is not None
        table = [block for block in section.blocks if isinstance(block, Table)][-1]
        assert any("GlusterFS counts its size wrongly" in note for note in table.footnotes) == is_noted


def test_no_section_where_nothing_was_told() -> None:
    assert storage.build(results(storage=None)) is None
    assert storage.build(results()) is None
