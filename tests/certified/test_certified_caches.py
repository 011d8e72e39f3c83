"""Cache misses for published sequences of accesses to files, computed exactly."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import case

from towtank.model.caching import CachedIndex, CacheRequest, index_document, trace_document


def trace(folder: Path, keys: list[int], bytes_of_each: int = 1) -> str:
    path = folder / "trace.csv"
    path.write_text("key,bytes\n" + "".join(f"{key},{bytes_of_each}\n" for key in keys), "utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["silberschatz", "belady"])
def test_v57_faults_of_every_number_of_frames(tmp_path: Path, name: str) -> None:
    keys, faults = case("V57")["inputs"][name], case("V57")["verified"][name]
    request = CacheRequest(entries=tuple(int(frames) for frames in faults))
    document = trace_document(trace(tmp_path, keys), request)
    assert document["exact"]
    found = {str(row["entries"]): round(row["miss_ratio"] * len(keys), 9) for row in document["limits"]}
    assert found == faults
    for point in document["curve"]:
        assert point["miss_ratio"] * len(keys) == pytest.approx(faults[str(point["entries"])], abs=1e-9)
    published = case("V57")["published"][name]
    assert {frames: found[frames] for frames in published} == published


def test_f2_an_index_that_fits() -> None:
    inputs, verified = case("F2")["inputs"], case("F2")["verified"]
    giga = 10**9
    for number, fits in enumerate(verified["fits"]):
        sizes = (inputs[key][number] * giga for key in ("index_gb", "memory_gb", "heap_gb"))
        document = index_document(CachedIndex(*sizes))
        assert document["index"]["fits"] is fits
        assert document["index"]["room_bytes"] == verified["room_gb"][number] * giga
        # The second case needs 39 of the 40 GB that are left, so a warning states that the margin is small.
        assert bool(document["warnings"]) is (number == 1)
        assert all((row["hit_ratio"] == 1) is fits for row in document["by_skew"])


def test_f1_metadata_of_a_page_pool(tmp_path: Path) -> None:
    inputs, verified = case("F1")["inputs"], case("F1")["verified"]
    request = CacheRequest(
        entries=(inputs["files"],),
        bytes=(verified["memory_bytes"],),
        metadata_bytes=inputs["file_bytes"],
    )
    # There are more files than metadata entries. 4096 files of 2 MiB fill the page pool of 8 GiB exactly.
    size = 2 * 2**20
    files = inputs["pagepool_bytes"] // size
    keys = [*range(20_500), *range(20_500 - files, 20_500)]
    document = trace_document(trace(tmp_path, keys, size), request)
    [row] = document["limits"]
    assert row["metadata_bytes"] == verified["metadata_bytes"]
    # The first access to each file is a miss, all others are hits. With one byte less memory every access is a miss,
    # because each file is evicted just before its next access.
    assert row["miss_ratio"] == pytest.approx(20_500 / len(keys), abs=1e-12)
    less = CacheRequest(request.entries, (verified["memory_bytes"] - 1,), request.metadata_bytes)
    [row] = trace_document(trace(tmp_path, keys, size), less)["limits"]
    assert row["miss_ratio"] == 1
