"""Writes tests/data/results-1: eight synthetic runs, at four load levels, with and without a search index.

    PYTHONPATH=python:tests/support python tests/support/write_results_1.py tests/data/results-1

The folder is in the repository as an example of format version 1, so it must not be rewritten after changes of the
code.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path
from typing import Any

from synthetic_runs import WALL_NS, Script, Stage, closed_queue, write_run

from towtank.results.folder import ResultsFolder

TRANSACTIONS = ["open_all_searches", "view_properties", "download", "browse_folder", "add_document"]
WEIGHTS = [15.0, 30.0, 25.0, 20.0, 10.0]
THINK_S = 1.0
DEMANDS_S = {"present": [0.012, 0.010, 0.020, 0.015, 0.050], "absent": [0.090, 0.010, 0.020, 0.015, 0.050]}
DATABASE_SHARE = {"present": [0.5, 0.3, 0.1, 0.4, 0.2], "absent": [0.93, 0.3, 0.1, 0.4, 0.2]}
LEVELS = [12, 24, 48, 72]
SEED = 20260101


def stages(users: int) -> list[Stage]:
    return [
        Stage("ramp_up", "ramp_up", 4.0, users),
        Stage("settle", "settle", 3.0, users),
        Stage("steady", "steady", 20.0, users),
        Stage("ramp_down", "ramp_down", 2.0, 0),
    ]


def script(name: str, index: int, users: int, search_index: str) -> Script:
    """Return the script from which the folder of a run is written."""
    seed = SEED + index
    exchanges, starts, ends = closed_queue(
        users=users,
        think_s=THINK_S,
        demands_s=DEMANDS_S[search_index],
        weights=WEIGHTS,
        stages=stages(users),
        seed=seed,
    )
    return Script(
        name=name,
        transactions=TRANSACTIONS,
        stages=stages(users),
        exchanges=exchanges,
        factors={"users": str(users), "search_index": search_index},
        users=users,
        index=index,
        seed=seed,
        user_starts=starts,
        user_ends=ends,
        database_share=DATABASE_SHARE[search_index],
    )


def manifest(design: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "synthetic": True,
        "study": {
            "name": "synthetic-content-users",
            "title": "Users of a content server (synthetic test data)",
            "question": "How many users does the server carry, and what does the search index change?",
            "factors": [
                {"name": "users", "levels": [str(level) for level in LEVELS], "numeric": LEVELS},
                {"name": "search_index", "levels": ["present", "absent"], "numeric": None},
            ],
            "load_factor": "users",
            "design": {"kind": "full_factorial", "order": "random", "repetitions": 1},
            "limits": {"errors": 0.01},
            "objectives": [
                {
                    "text": "p95 of open_all_searches < 1 s",
                    "metric": "p95",
                    "transaction": "open_all_searches",
                    "comparison": "<",
                    "value": 1.0,
                }
            ],
            "stages": [
                {"name": stage.name, "phase": stage.phase, "duration_s": stage.seconds} for stage in stages(LEVELS[0])
            ],
            "mix": [
                {"group": "everybody", "transaction": name, "weight": weight}
                for name, weight in zip(TRANSACTIONS, WEIGHTS, strict=True)
            ],
            "system": {"tiers": {"content": {"kind": "content_server"}}},
            "seed": SEED,
            "preset": "quick",
        },
        "design": design,
        "versions": {"towtank": "0.1.0"},
        "host": {"name": "synthetic", "kernel": "6.1.0", "cpus": 2, "memory_bytes": 8 << 30},
        "started_wall_ns": WALL_NS,
    }


def main(path: Path) -> None:
    """Write the results folder to `path`, replacing an existing folder."""
    if path.exists():
        shutil.rmtree(path)
    cells = [(users, index) for users in LEVELS for index in DEMANDS_S]
    random.Random(SEED).shuffle(cells)
    design = [
        {
            "run": f"r{number:03d}",
            "index": number,
            "repetition": 1,
            "factors": {"users": str(users), "search_index": search_index},
        }
        for number, (users, search_index) in enumerate(cells, start=1)
    ]
    results = ResultsFolder.create(path, manifest(design))
    for number, (users, search_index) in enumerate(cells, start=1):
        name = f"r{number:03d}"
        write_run(results.run_path(name), script(name, number, users, search_index))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
