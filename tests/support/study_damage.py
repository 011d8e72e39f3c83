"""Random damage to results folders: truncated, empty and missing files, and values that Towtank never writes.

Each function makes one kind of change, and returns a description of the change.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from towtank.results import lines

Damage = Callable[[Path, random.Random], str]
NUMBERS = (1e300, -1e300, 1e-300, float("nan"), float("inf"), -1, 0, 1 << 70, 0.5)
VALUES = (*NUMBERS, None, "", "text", "\ud800", True, [], {}, [1], {"a": 1}, [[]])


def _files(folder: Path, pattern: str = "*") -> list[Path]:
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def _any(folder: Path, stream: random.Random, pattern: str = "*") -> Path | None:
    found = _files(folder, pattern)
    return stream.choice(found) if found else None


def cut(folder: Path, stream: random.Random) -> str:
    """Truncate a file at a random byte."""
    if (path := _any(folder, stream)) is None:
        return ""
    whole = path.read_bytes()
    at = stream.choice((0, stream.randint(0, len(whole)), max(0, len(whole) - stream.randint(0, 40))))
    path.write_bytes(whole[:at])
    return f"{path.relative_to(folder)} at {at}"


def cut_all(folder: Path, stream: random.Random) -> str:
    """Truncate all recorded streams, each at a random line, as a power failure may do."""
    for path in _files(folder, "*.ndjson"):
        rows = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(rows[: stream.randint(0, len(rows))]))
    return ""


def emptied(folder: Path, stream: random.Random) -> str:
    """Empty all recorded streams with one file name."""
    name = stream.choice(("probe.ndjson", "content.ndjson", "worker-00.0000.ndjson"))
    for path in _files(folder, name):
        path.write_bytes(b"")
    return name


def lost(folder: Path, stream: random.Random) -> str:
    """Remove one file, or all files of the same name from all runs."""
    if (path := _any(folder, stream)) is None:
        return ""
    for each in _files(folder, path.name) if stream.random() < 0.5 else [path]:
        each.unlink()
    return str(path.relative_to(folder))


def lost_folder(folder: Path, stream: random.Random) -> str:
    """Remove a random folder of a run."""
    found = [path for path in sorted(folder.glob("runs/*/*")) if path.is_dir()]
    if not found:
        return ""
    path = stream.choice(found)
    shutil.rmtree(path)
    return str(path.relative_to(folder))


def copied(folder: Path, stream: random.Random) -> str:
    """Copy or rename the folder of a run."""
    found = sorted((folder / "runs").iterdir()) if (folder / "runs").is_dir() else []
    if not found:
        return ""
    path = stream.choice(found)
    name = path.with_name(stream.choice(("r900", "copy of r001", f"{path.name}.interrupted-1")))
    if name.exists():
        return ""
    path.rename(name) if stream.random() < 0.3 else shutil.copytree(path, name)
    return f"{path.name} as {name.name}"


def _rewritten(path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    path.write_bytes(b"".join(lines.encode(each) for each in change(list(lines.read(path)))))


def shuffled(folder: Path, stream: random.Random) -> str:
    """Repeat or reorder the lines of a recorded stream, or drop some of them."""
    if (path := _any(folder, stream, "*.ndjson")) is None:
        return ""

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        way = stream.choice(("twice", "half", "backwards", "no header"))
        if way == "no header":
            return rows[1:]
        if way == "backwards":
            return rows[:1] + rows[:0:-1]
        return rows[:1] + [row for row in rows[1:] for _ in range(2 if way == "twice" else stream.randint(0, 1))]

    _rewritten(path, change)
    return str(path.relative_to(folder))


def clock_step(folder: Path, stream: random.Random) -> str:
    """Simulate a clock that jumps: shift the times in a recorded stream, beginning at a random line."""
    if (path := _any(folder, stream, "*.ndjson")) is None:
        return ""
    step = stream.choice((-1, 1)) * stream.choice((10**6, 10**9, 5 * 10**9, 10**13, 10**19))
    clock = stream.choice(("t_ns", "wall_ns", "t0_ns", "t1_ns", "monotonic_ns"))

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        at = stream.randint(0, len(rows))
        return rows[:at] + [{**row, clock: row[clock] + step} if clock in row else row for row in rows[at:]]

    _rewritten(path, change)
    return f"{path.relative_to(folder)} {clock} {step}"


def many_names(folder: Path, stream: random.Random) -> str:
    """Add 300 or 3,000 transactions to a recorded stream. Most of these transactions never occurred."""
    if (path := _any(folder, stream, "worker-*.ndjson")) is None:
        return ""
    count = stream.choice((300, 3000))

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for row in rows:
            if row["k"] == "header":
                first = len(row["transactions"])
                names = [f"transaction {number}" for number in range(count)]
                row["transactions"] += names
            elif row["k"] == "interval":
                own = [each for each in row["series"] if each["of"] == "transaction"][:1]
                row["series"] += [{**each, "id": first + n} for each in own for n in stream.sample(range(count), 50)]
        return rows

    _rewritten(path, change)
    return str(count)


def _spots(tree: Any) -> list[tuple[Any, Any]]:
    """Return the position of each value in a tree of lists and mappings, as its container and its index or key."""
    if isinstance(tree, dict | list):
        pairs = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
        return [(tree, key) for key, _ in pairs] + [spot for _, below in pairs for spot in _spots(below)]
    return []


def odd_numbers(folder: Path, stream: random.Random) -> str:
    """Replace numbers in a recorded stream by unusual numbers."""
    if (path := _any(folder, stream, "*.ndjson")) is None:
        return ""
    damage = [str(path.relative_to(folder))]

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        spots = [(row, tree, key) for row in rows for tree, key in _spots(row) if _is_number(tree[key])]
        for _, tree, key in stream.sample(spots, min(len(spots), stream.choice((1, 1, 5)))):
            tree[key] = stream.choice(NUMBERS)
            damage.append(f"{key}={tree[key]}")
        return rows

    _rewritten(path, change)
    return " ".join(damage)


def odd_series(folder: Path, stream: random.Random) -> str:
    """Replace the values of a random key, in all lines of all streams, by one unusual number."""
    key = stream.choice(
        ("ok", "offered", "started", "picked", "response_sum_ns", "user_ns", "users", "cpu_ns", "count")
    )
    value = stream.choice(NUMBERS)

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for row in rows:
            for tree, name in _spots(row):
                if name == key:
                    tree[name] = value
        return rows

    for path in _files(folder, "*.ndjson"):
        _rewritten(path, change)
    return f"{key}={value}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def odd_values(folder: Path, stream: random.Random) -> str:
    """Replace a value in a JSON file or a recorded stream by a value of another type, or remove the value."""
    path = _any(folder, stream, stream.choice(("study.json", "run.json", "engine.json", "*.ndjson")))
    if path is None:
        return ""
    is_stream = path.suffix == ".ndjson"
    try:
        tree = list(lines.read(path)) if is_stream else json.loads(path.read_text("utf-8"))
    except ValueError:
        return ""
    spots = [spot for spot in _spots(tree) if spot[0] is not tree] if is_stream else _spots(tree)
    if not spots:
        return ""
    below, key = stream.choice(spots)
    value = stream.choice((*VALUES, below))
    if value is below:
        del below[key]
    else:
        below[key] = value
    if is_stream:
        path.write_bytes(b"".join(map(_line, tree)))
    else:
        path.write_text(json.dumps(tree), "utf-8")
    return f"{path.relative_to(folder)} {key}={'gone' if value is below else repr(value)}"


def _line(document: dict[str, Any]) -> bytes:
    try:
        return lines.encode(document)
    except UnicodeEncodeError:  # A lone UTF-16 surrogate cannot be encoded as UTF-8.
        return b""


DAMAGES: tuple[tuple[str, Damage], ...] = tuple(
    (damage.__name__, damage)
    for damage in (
        cut, cut, cut, cut_all, emptied, lost, lost_folder, copied, shuffled, clock_step, many_names,
        odd_numbers, odd_numbers, odd_series, odd_values, odd_values,
    )
)  # fmt: skip
