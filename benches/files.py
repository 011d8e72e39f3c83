"""Measures the generator's CPU time per file read, compared with fio.

Each read is of 4 KiB at a random position of an open file in the page cache. The generators run one after the other,
each in a process on the same core, without a server.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import harness
import towtank_load

USERS = (1, 8)
_FILE_BYTES = 64 << 20
_READ_BYTES = 4096


def run(*, quick: bool) -> None:
    """Measure the CPU time per read of each generator, print the ratios, and store the single results."""
    if harness.program("fio") is None:
        raise harness.Skipped("fio is not installed (apt-get install fio)")
    rounds, seconds = (4, 3) if quick else (8, 5)
    with tempfile.TemporaryDirectory(prefix="towtank-files-") as name:
        folder = Path(name)
        # The file is written and read once, so that it is in the page cache.
        (folder / "file").write_bytes(bytes(_FILE_BYTES))
        (folder / "file").read_bytes()
        for users in USERS:
            print(f" {users} users")
            runs = harness.turns(
                ["towtank", "fio"], rounds, lambda name, many=users: _once(name, folder, many, seconds)
            )
            ratios = {key: harness.ratio(runs, key, "towtank", "fio") for key in ("cpu_us_per_read", "reads_per_s")}
            for key, found in ratios.items():
                print(f"  {key}, towtank / fio: {harness.shown(found)} (median of {rounds} rounds, 95 %)")
            harness.keep(
                f"files-{users}", {"rounds": rounds, "seconds": seconds, "users": users}, runs=runs, ratios=ratios
            )


def _once(name: str, folder: Path, users: int, seconds: int) -> dict[str, Any]:
    spent, reads = (_towtank if name == "towtank" else _fio)(folder, users, seconds)
    return {
        "cpu_us_per_read": spent.cpu_s / reads * 1e6,
        "reads_per_s": reads / seconds,
        "reads": reads,
        "cpu_s": spent.cpu_s,
        "wall_s": spent.wall_s,
    }


def _fio(folder: Path, users: int, seconds: int) -> tuple[harness.Spent, int]:
    options = {
        "name": "reads",
        "filename": str(folder / "file"),
        "rw": "randread",
        "bs": str(_READ_BYTES),
        "size": str(_FILE_BYTES),
        "ioengine": "psync",
        "invalidate": "0",
        "numjobs": str(users),
        "runtime": str(seconds),
        "output-format": "json",
    }
    flags = ["--thread", "--group_reporting", "--time_based"]
    program = harness.program("fio")
    assert program is not None
    spent = harness.spend([program, *(f"--{key}={value}" for key, value in options.items()), *flags])
    text = spent.output[spent.output.index("{") :]
    return spent, sum(int(job["read"]["total_ios"]) for job in json.loads(text)["jobs"])


def _towtank(folder: Path, users: int, seconds: int) -> tuple[harness.Spent, int]:
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as name:
        results = Path(name)
        document = towtank_load.plan("", towtank_load.closed(users, seconds), results / "engine")
        driver = {"kind": "file", "root": str(folder)}
        document["targets"] = [{"name": "folder", "scheme": "driver", "addresses": [], "driver": driver}]
        document["steps"] = [{"name": step, "transaction": "read"} for step in ("open", "read")]
        place = [{"function": "random_int", "min": 0, "max": _FILE_BYTES - _READ_BYTES}]
        read = _call(1, "read", [["file"], place, [str(_READ_BYTES)], None])
        document["transactions"] = [{"name": "read", "ops": [read]}]
        document["groups"][0]["mix"] = [{"transaction": 0, "weight": 100.0}]
        document["groups"][0]["once"] = [_call(0, "open", [["file"], None, None, None])]
        done = towtank_load.drive_plan(document, results)
        return done.spent, int(done.engine["totals"]["ok"])


def _call(step: int, action: str, values: list[Any]) -> dict[str, Any]:
    return {"op": "call", "step": step, "target": 0, "do": {"kind": "file", "action": action}, "values": values}
