"""A synthetic study with known numbers, in the formats of docs/reference/summary.md and run-folder.md.

The system is a single station with demand D, and N users with think time Z. Its throughput is the smaller asymptotic
bound min(N / (Z + R0), 1 / D), and its response time follows from Little's law, R = N / X - Z. So the tests can state
every expected value with its calculation.
"""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import replace
from typing import Any

from towtank.report import runs_over_time
from towtank.report.document import Section, Table
from towtank.report.runs_over_time import Cell, Recorded
from towtank.report.source import FileHash, Results, RunResult

THINK_S = 1.0
DEMAND_S = {"present": 0.010, "absent": 0.016}
DATABASE_SHARE = {"present": 0.3, "absent": 0.6}
LEVELS = (30, 60, 90, 120)
WEIGHTS = {"view_properties": 40.0, "open_all_searches": 10.0, "download": 30.0, "add_document": 20.0}
FACTORS_OF_MEAN = {"view_properties": 0.5, "open_all_searches": 2.0, "download": 1.0, "add_document": 1.5}


def estimate(value: float, half: float = 0.05, method: str = "batch means") -> dict[str, Any]:
    """Return an estimate whose interval has the given relative half width."""
    return {
        "value": value,
        "low": value * (1 - half),
        "high": value * (1 + half),
        "confidence": 0.95,
        "method": method,
        "n": 20,
    }


def doubt(kind: str = "start_lag", level: str = "suspect") -> dict[str, Any]:
    """Return a doubt about a result, in the form in which the analysis writes it."""
    return {
        "kind": kind,
        "level": level,
        "seen": 0.038,
        "limit": 0.001,
        "unit": "s",
        "message": "start lag is 38 ms at p99, limit 1 ms",
        "why": "Requests left later than the study asked.",
        "hint": "lower the load, or give the engine more threads",
    }


def throughput(users: int, index: str) -> float:
    """Return the throughput of the closed system by its asymptotic bounds. [1/s]"""
    return min(users / (THINK_S + DEMAND_S[index]), 1 / DEMAND_S[index])


def response_time(users: int, index: str) -> float:
    """Return the mean response time by Little's law. [s]"""
    return users / throughput(users, index) - THINK_S


def times(mean: float) -> dict[str, Any]:
    """Return the statistics of response times with the given mean."""
    return {
        "mean": estimate(mean),
        "min": mean / 5,
        "max": mean * 6,
        **{
            name: estimate(mean * factor)
            for name, factor in {"p50": 0.8, "p90": 1.8, "p95": 2.2, "p99": 3.5, "p99.9": 5.0}.items()
        },
    }


def tiers(users: int, index: str) -> dict[str, Any]:
    """Return the tiers of a measured point: a single tier, with a database as one of its parts."""
    used = throughput(users, index) * DEMAND_S[index]
    part = {
        "cpus_used": estimate(used * DATABASE_SHARE[index]),
        "cpu_demand_s": estimate(DEMAND_S[index] * DATABASE_SHARE[index]),
        "how": "CPU time of the server's threads inside SQLite calls",
    }
    return {
        "content": {
            "kind": "content_server",
            "cpus_used": estimate(used),
            "cpu_demand_s": estimate(DEMAND_S[index]),
            "cpu_user": used * 0.8,
            "cpu_system": used * 0.2,
            "utilization": used,
            "parts": {"database": part},
        }
    }


def transactions(users: int, index: str) -> dict[str, Any]:
    """Return the transactions of a measured point.

    Their mean response times are fixed multiples (`FACTORS_OF_MEAN`) of the mean of the point. Without the index,
    searches take four times as long.
    """
    found = {}
    for name, factor in FACTORS_OF_MEAN.items():
        mean = response_time(users, index) * factor * (4 if index == "absent" and "search" in name else 1)
        found[name] = {
            "throughput_per_s": estimate(throughput(users, index) * WEIGHTS[name] / 100),
            "mean_s": estimate(mean),
            "p95_s": estimate(mean * 2.2),
            "ramp_up_mean_s": mean,
        }
    return found


def point(users: int, index: str, run: str, verdict: str) -> dict[str, Any]:
    """Return one measured point (a configuration at a load) of the study summary."""
    return {
        "users": users,
        "load": float(users),
        "runs": [run],
        "verdicts": [verdict],
        "throughput_per_s": estimate(throughput(users, index)),
        "response_time_s": times(response_time(users, index)),
        "tiers": tiers(users, index),
        "transactions": transactions(users, index),
        "disk_read_bytes_per_s": estimate(1000.0 * users),
        "disk_write_bytes_per_s": estimate(30_000.0 * users),
        "errors_share": 0.0,
    }


def stages() -> list[dict[str, Any]]:
    """Return the load stages of every run, in the form of the engine's header."""
    edges = (("ramp_up", 0, 10), ("settle", 10, 15), ("steady", 15, 35), ("ramp_down", 35, 40))
    return [{"name": name, "phase": name, "start_s": start, "end_s": end} for name, start, end in edges]


def timeline(users: int, index: str) -> dict[str, Any]:
    """Return a timeline of forty seconds. The number of users rises for ten seconds, stays constant, and falls in the
    last five seconds.
    """
    seconds = [float(second) for second in range(1, 41)]
    active = [users * min(1.0, t / 10, max(0.0, (40 - t) / 5)) for t in seconds]
    wave = [1 + 0.05 * ((7 * k) % 5 - 2) for k in range(40)]
    mean = response_time(users, index)
    return {
        "t_s": seconds,
        "users": active,
        "throughput_per_s": [throughput(users, index) * a / users * w for a, w in zip(active, wave, strict=True)],
        "response_mean_s": [mean * w if a else None for a, w in zip(active, wave, strict=True)],
        "p50_s": [0.8 * mean * w if a else None for a, w in zip(active, wave, strict=True)],
        "p95_s": [2.2 * mean * w if a else None for a, w in zip(active, wave, strict=True)],
        "errors_per_s": [0.0] * 40,
        "tiers_cpus_used": {"content": [throughput(users, index) * DEMAND_S[index] * a / users for a in active]},
        "disk_read_bytes_per_s": [900.0 * a for a in active],
        "disk_write_bytes_per_s": [30_000.0 * a * w for a, w in zip(active, wave, strict=True)],
        "stages": stages(),
    }


def run_summary(run: str, users: int, index: str, verdict: str) -> dict[str, Any]:
    """Return the content of `summary.json` of a run."""
    rate, mean = throughput(users, index), response_time(users, index)
    return {
        "schema": "towtank/run-summary/1",
        "run": run,
        "index": 1,
        "repetition": 1,
        "status": "complete",
        "factors": {"users": str(users), "search_index": index},
        "verdict": {"level": verdict, "reasons": [] if verdict == "valid" else [doubt(level=verdict)]},
        "window": {"start_s": 15.0, "end_s": 35.0, "steady": True, "note": ""},
        "users": {"asked": users, "mean": float(users)},
        "throughput_per_s": estimate(rate),
        "request_throughput_per_s": estimate(2 * rate),
        "response_time_s": times(mean),
        "exchange_time_s": times(mean),
        "errors": {"count": 0, "share": 0.0, "by_kind": {}},
        "transactions": {
            name: {"count": round(rate * 20 * weight / 100), "errors": 0, "share": weight / 100}
            for name, weight in WEIGHTS.items()
        },
        "tiers": tiers(users, index),
        "host": {
            "cpus": 2,
            "disks": {"vda": {"read_bytes_per_s": 1000.0 * users, "write_bytes_per_s": 30_000.0 * users}},
        },
        "laws": {
            "little": {
                "n": float(users),
                "x_per_s": rate,
                "r_s": mean,
                "z_s": THINK_S,
                "residual": 0.001,
                "limit": 0.05,
                "holds": True,
            },
            "utilization": [
                {
                    "tier": "content",
                    "u": rate * DEMAND_S[index],
                    "x_per_s": rate,
                    "d_s": DEMAND_S[index],
                    "residual": 0.02,
                    "limit": 0.05,
                    "holds": True,
                }
            ],
        },
        "accounting": {
            "offered": 4000,
            "started": 4000,
            "ok": 3999,
            "failed": {"timeout": 1},
            "not_started": {},
            "in_flight": 0,
            "holds": True,
        },
        "generator": {
            "cpus_used": 0.03,
            "cpu_us_per_request": 150.0,
            "start_lag_p99_s": 0.0004,
            "peak_rss_bytes": 12_000_000,
            "saturated": False,
        },
        "observation": {"cpus_used": 0.004, "samples": 40, "late_max_s": 0.002, "scrape_s_mean": 0.003},
        "timeline": timeline(users, index),
        "damage": {"torn_tail": False, "bad_lines": 0},
    }


def run_manifest(run: str, number: int, users: int, index: str) -> dict[str, Any]:
    """Return the content of `run.json` of a run."""
    start = 1_795_197_901_000_000_000 + number * 60_000_000_000
    return {
        "schema": "towtank/run/1",
        "run": run,
        "index": number,
        "repetition": 1,
        "seed": 1000 + number,
        "status": "complete",
        "factors": {"users": str(users), "search_index": index},
        "users": users,
        "tiers": {"content": {"kind": "content_server", "host": "here", "cpus": [0]}},
        "settings": {
            "content": {
                "workers": 4,
                "content_cache_bytes": 67108864,
                "drop_index": [] if index == "present" else ["search_type"],
            }
        },
        "pinning": {"system": [0], "generator": [1]},
        "versions": {"towtank": "0.1.0", "engine": "0.1.0"},
        "started_wall_ns": start,
        "ended_wall_ns": start + 40_000_000_000,
    }


def study() -> dict[str, Any]:
    """Return the description of the synthetic study."""
    return {
        "name": "content-users",
        "title": "Content server: users and the search index",
        "question": "How many users does one core carry, and what does the search index save?",
        "expect": "Throughput grows in a nearly straight line until the core is used up.",
        "factors": [
            {"name": "users", "levels": [str(n) for n in LEVELS], "numeric": list(LEVELS)},
            {"name": "search_index", "levels": ["present", "absent"], "numeric": None},
        ],
        "load_factor": "users",
        "stages": [{"name": s["name"], "phase": s["phase"], "duration_s": s["end_s"] - s["start_s"]} for s in stages()],
        "mix": [{"transaction": name, "group": "readers", "weight": weight} for name, weight in WEIGHTS.items()],
        "think": {"readers": "exponential, mean 1 s"},
        "preset": "quick",
        "seed": 7,
        "system": {
            "hosts": {"here": {"kind": "local"}},
            "services": {"content": {"kind": "content_server", "host": "here"}},
        },
    }


def results(
    levels: tuple[int, ...] = LEVELS,
    indices: tuple[str, ...] = ("present", "absent"),
    verdicts: dict[str, str] | None = None,
    missing: tuple[str, ...] = (),
) -> Results:
    """Return the results of a study with one run at each measured point.

    `verdicts` contains the verdict of each run; runs without an entry are valid. Runs in `missing` did not take place.
    """
    verdicts = verdicts or {}
    points: dict[str, list[dict[str, Any]]] = {index: [] for index in indices}
    runs = []
    for number, (index, users) in enumerate(((index, users) for index in indices for users in levels), 1):
        name = f"r{number:03d}"
        verdict = verdicts.get(name, "valid")
        manifest = run_manifest(name, number, users, index)
        if name in missing:
            runs.append(RunResult(name, {"run": name, "factors": manifest["factors"], "status": "missing"}))
            continue
        points[index].append(point(users, index, name, verdict))
        runs.append(RunResult(name, manifest, run_summary(name, users, index, verdict)))
    summary = study_summary(points, runs, levels, indices)
    manifest = {
        "schema": "towtank/study-results/1",
        "study": study(),
        "started_wall_ns": 1_795_197_900_000_000_000,
        "host": {
            "name": "lab",
            "cpus": 2,
            "cpu_model": "Example CPU",
            "memory_bytes": 8 * 1024**3,
            "kernel": "6.1",
        },
        "versions": {"python": "3.11.7"},
        "seed": 7,
        "preset": "quick",
    }
    made = Results("content-users-1", manifest, summary, tuple(runs), (FileHash("study.json", "ab" * 32),))
    return with_recordings(made)


def recorded(run: RunResult) -> Recorded:
    """Return the responses of a run in each second. Two thirds have about the mean response time, and one third takes
    about three times as long.
    """
    timeline = run.summary["timeline"]
    cells = []
    for second, rate, mean in zip(
        timeline["t_s"], timeline["throughput_per_s"], timeline["response_mean_s"], strict=True
    ):
        if rate and mean:
            for factor, share in ((0.9, 2 / 3), (3.0, 1 / 3)):
                cells.append(Cell(second - 1, second, mean * factor, mean * factor * 1.33, rate * share))
    return Recorded(tuple(cells))


def with_recordings(made: Results) -> Results:
    """Return the results with recordings for those runs that the report shows over time."""
    return replace(made, recorded={run.run_id: recorded(run) for run in runs_over_time.drawn(made)})


EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&{{ 7*7 }}"
"""A name that, if it were not escaped, would close any surrounding HTML element or string and begin a new one."""


def hostile(evil: str = EVIL) -> Results:
    """Return a study in which every user-defined name contains HTML and quotes that must be escaped."""
    made = results()
    document = json.dumps([made.manifest, made.summary, [(r.run_id, r.manifest, r.summary) for r in made.runs]])
    for name in (
        "content-users",
        "Content server: users and the search index",
        "open_all_searches",
        "present",
    ):
        document = document.replace(name, json.dumps(evil)[1:-1])
    manifest, summary, runs = json.loads(document)
    kept = tuple(replace(run, manifest=m, summary=s) for run, (_, m, s) in zip(made.runs, runs, strict=True))
    return replace(made, name=evil, manifest=manifest, summary=summary, runs=kept)


MANY_FACTORS = {"memory": ("1 GB", "2 GB", "4 GB", "8 GB"), "pool": ("8", "16", "32"), "index": ("present", "absent")}
MANY_LEVELS = (30, 60, 90)
MANY_TRANSACTIONS = 60


def many() -> Results:
    """Return a study of 24 configurations at three loads, with 60 transactions. The factor for the disk always has the
    level `disk fast`.
    """
    keys = [dict(zip(MANY_FACTORS, levels, strict=True)) for levels in itertools.product(*MANY_FACTORS.values())]
    configurations, runs = [], []
    for number, key in enumerate(keys):
        factors = {**key, "disk": "fast"}
        slower = 1 + 0.1 * number
        points = []
        for users in MANY_LEVELS:
            name = f"r{len(runs) + 1:03d}"
            verdict = "suspect" if number == 5 else "invalid" if number == 7 and users == 90 else "valid"
            made = point(users, key["index"], name, verdict)
            mean = made["response_time_s"]["mean"]["value"] * slower
            made["response_time_s"] = times(mean)
            made["transactions"] = {
                f"transaction_{index:02d}_of_the_catalogue": {
                    "throughput_per_s": estimate(made["throughput_per_s"]["value"] / MANY_TRANSACTIONS),
                    "mean_s": estimate(mean * (1 + index / 20) * (slower if index % 5 == 0 else 1)),
                    "p95_s": estimate(mean * (1 + index / 20) * 2.2),
                    "ramp_up_mean_s": mean,
                }
                for index in range(MANY_TRANSACTIONS)
            }
            points.append(made)
            summary = run_summary(name, users, key["index"], verdict)
            summary["factors"] = {"users": str(users), **factors}
            summary["transactions"] = {
                transaction: {"count": 20, "errors": 0, "share": 1 / MANY_TRANSACTIONS}
                for transaction in made["transactions"]
            }
            manifest = {**run_manifest(name, len(runs) + 1, users, key["index"]), "factors": summary["factors"]}
            runs.append(RunResult(name, manifest, summary))
        configurations.append(
            {
                "key": factors,
                "label": ", ".join(f"{factor} {level}" for factor, level in factors.items()),
                "points": points,
                "ideal": {"users": MANY_LEVELS[0], "per_user_per_s": throughput(30, key["index"]) / 30},
                "limit": {"reached": False, "kind": "none", "resource": None, "evidence": "not found", **_no_knee()},
            }
        )
    base = results()
    summary = {
        **base.summary,
        "configurations": configurations,
        "comparisons": [],
        "objectives": [],
        "demand": {},
        "factors": [
            {"name": "users", "levels": [str(users) for users in MANY_LEVELS], "numeric": list(MANY_LEVELS)},
            *({"name": name, "levels": list(levels), "numeric": None} for name, levels in MANY_FACTORS.items()),
            {"name": "disk", "levels": ["fast"], "numeric": None},
        ],
    }
    study_of_many = {
        **study(),
        "factors": summary["factors"],
        "mix": [
            {"transaction": name, "group": "readers", "weight": 1.0}
            for name in configurations[0]["points"][0]["transactions"]
        ],
    }
    manifest = {**base.manifest, "study": study_of_many}
    return with_recordings(Results("many-1", manifest, summary, tuple(runs), base.hashes))


def _no_knee() -> dict[str, Any]:
    return {"knee_users": None, "peak_throughput_per_s": estimate(90.0)}


def study_summary(
    points: dict[str, list[dict[str, Any]]],
    runs: list[RunResult],
    levels: tuple[int, ...],
    indices: tuple[str, ...],
) -> dict[str, Any]:
    states = [run.verdict for run in runs]
    level = "valid" if "valid" in states else "suspect" if "suspect" in states else "invalid"
    several = len(indices) > 1
    configurations = [
        {
            "key": {"search_index": index} if several else {},
            "label": f"search_index {index}" if several else "",
            "points": points[index],
            "ideal": {"users": levels[0], "per_user_per_s": throughput(levels[0], index) / levels[0]},
            "limit": {
                "reached": levels[-1] > 100,
                "kind": "cpu" if levels[-1] > 100 else "none",
                "resource": "content",
                "evidence": "CPU of content at 100 %",
                "knee_users": estimate((THINK_S + DEMAND_S[index]) / DEMAND_S[index]),
                "peak_throughput_per_s": estimate(throughput(levels[-1], index)),
            },
        }
        for index in indices
    ]
    factors = [copy.deepcopy(factor) for factor in study()["factors"]][: 1 + several]
    comparisons = [
        {
            "factor": "search_index",
            "from": "present",
            "to": "absent",
            "users": users,
            "metric": "response_time_s.mean of open_all_searches",
            "from_value": estimate(2 * response_time(users, "present")),
            "to_value": estimate(8 * response_time(users, "absent")),
            "ratio": estimate(4 * response_time(users, "absent") / response_time(users, "present")),
        }
        for users in levels
        if several
    ]
    return {
        "schema": "towtank/study-summary/1",
        "study": "content-users",
        "title": study()["title"],
        "question": study()["question"],
        "factors": factors,
        "load_factor": "users",
        "configurations": configurations,
        "comparisons": comparisons,
        "demand": {"content": {"intercept_cpus": 0.01, "d_s": estimate(0.010), "points": len(runs)}},
        "verdict": {
            "level": level,
            "reasons": [],
            "valid_runs": states.count("valid"),
            "suspect_runs": states.count("suspect"),
            "invalid_runs": states.count("invalid"),
            "missing_runs": states.count("none"),
        },
        "objectives": [{"text": "p95 of view_properties < 1 s", "met": True, "seen": 0.4, "at": {"users": 30}}],
        "runs": [],
        "observations": [
            {"kind": "limit", "text": "The content tier uses 100 % of its CPU at 120 users.", "numbers": {}}
        ],
        "headline": "One core carries 100 transactions per second with the index and 62.5 without it.",
    }


def rows(section: Section, caption: str) -> list[tuple[str, ...]]:
    """Return the rows of the table whose caption begins with the given text."""
    (table,) = [block for block in section.blocks if isinstance(block, Table) and block.caption.startswith(caption)]
    return [tuple(cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row) for row in table.rows]
