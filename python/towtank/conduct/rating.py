"""Measures the speed of this machine by small fixed programs (kernels), for `towtank rate`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from towtank.conduct.stopping import StopRequest
from towtank.engine import binary
from towtank.errors import EngineError, StudyError
from towtank.observe import host_facts
from towtank.sizing import (
    RatedMachine,
    RatingBegin,
    RatingMeasurement,
    RatingTurn,
    machine_catalogue,
    read_rating_line,
    reference_values,
)

# Free disk space that a rating requires for the file of the disk kernels, the databases, and a reserve. [byte]
ROOM_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class RatingLength:
    """Length of a rating, that is, of a measurement of this machine's speed: the number of rounds, each of which
    executes every kernel once on one CPU and once on all CPUs, and the length of one execution without its warm-up
    [s].
    """

    rounds: int
    turn_s: float


# Short and full length of a rating. A round contains 40 executions of the 20 kernels.
QUICK_RATING = RatingLength(rounds=3, turn_s=0.12)
FULL_RATING = RatingLength(rounds=6, turn_s=0.6)


def rate_machine(
    folder: Path,
    length: RatingLength,
    progress: Callable[[RatingTurn, int], None] | None = None,
    stop: StopRequest | None = None,
) -> RatedMachine:
    """Measure the speed of this machine, and compare it with the reference machine of the hardware catalogue.

    The parameters and errors are those of `measure`.
    """
    reference = reference_values(machine_catalogue())
    facts = rated_facts(folder)
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return RatedMachine.of(measure(folder, length, progress, stop), facts, at, reference)


def measure(
    folder: Path,
    length: RatingLength,
    progress: Callable[[RatingTurn, int], None] | None = None,
    stop: StopRequest | None = None,
) -> RatingMeasurement:
    """Execute the kernels in several rounds, with their files in a temporary folder on the disk to rate.

    `progress` is called after each execution with its report and the total number of executions. The caller can connect
    `stop` to signals.

    Raises
    ------
    StudyError
        If the folder does not exist, has too little free space, or is not writable.
    EngineError
        If the engine ended early.
    Stopped
        If the user stopped the rating.
    """
    _check(folder)
    lines: list[Mapping[str, object]] = []
    stop = stop or StopRequest()
    with _own_folder(folder) as own, _engine(own, length) as output:
        stop.on_second = lambda: shutil.rmtree(own, ignore_errors=True)
        for text in output:
            stop.check()
            lines.append(_parsed(text))
            if progress is not None and lines[-1].get("event") == "turn":
                kernels = read_rating_line(RatingBegin, lines[0]).kernels
                progress(read_rating_line(RatingTurn, lines[-1]), 2 * length.rounds * len(kernels))
        stop.check()
    return RatingMeasurement.of_lines(lines)


def _parsed(text: str) -> Mapping[str, object]:
    try:
        line = json.loads(text)
    except ValueError:
        raise EngineError(f"the engine must write JSON, got {text[:60]!r}") from None
    if not isinstance(line, dict):
        raise EngineError(f"the engine must write JSON objects, got {text[:60]!r}")
    return line


def _check(folder: Path) -> None:
    if not folder.is_dir():
        raise StudyError.at(str(folder), "must be a folder that exists", where="--folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StudyError.at(str(folder), "must be a folder in which files can be created", where="--folder")
    free = shutil.disk_usage(folder).free
    if free < ROOM_BYTES:
        needs = f"must have at least {ROOM_BYTES >> 20} MiB free, got {free >> 20} MiB"
        raise StudyError.at(str(folder), needs, where="--folder")


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    own = Path(tempfile.mkdtemp(prefix=".towtank-rate-", dir=folder))
    try:
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)


@contextmanager
def _engine(folder: Path, length: RatingLength) -> Iterator[IO[str]]:
    """Run the engine during the block, and yield its output as lines. Kill the engine when the block ends."""
    arguments = ["--folder", str(folder), "--rounds", str(length.rounds), "--turn", str(length.turn_s)]
    process = subprocess.Popen(
        [str(binary()), "rate", *arguments, "--until-stdin-closes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C in the terminal must reach only this process, which ends the engine and then removes the folder.
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        yield process.stdout
        status = process.wait()
        if status != 0:
            raise EngineError(f"the engine ended with status {status} while it rated this machine")
    finally:
        with suppress(OSError):
            process.stdin.close()
        process.kill()
        process.wait()
        process.stdout.close()


def rated_facts(folder: Path) -> dict[str, object]:
    """Describe this machine and the file system of the folder, for the record of a rating."""
    facts = {**host_facts().document(), "file_system": file_system(folder), "huge_pages": huge_pages()}
    return {name: value for name, value in facts.items() if value is not None}


def file_system(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str | None:
    """Return the type of the file system of a folder, such as `ext4`; None if the kernel does not report it."""
    place = folder.resolve()
    found: tuple[int, str] | None = None
    with suppress(OSError):
        for line in os.fsdecode(mounts.read_bytes()).split("\n"):
            before, _, after = line.partition(" - ")
            fields, kind = before.split(), after.split()
            if len(fields) < 5 or not kind:
                continue
            point = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), fields[4]))
            # A later entry of the list hides an earlier one with the same mount point.
            if place.is_relative_to(point) and (found is None or len(str(point)) >= found[0]):
                found = (len(str(point)), kind[0])
    return found[1] if found else None


def huge_pages(setting: Path = Path("/sys/kernel/mm/transparent_hugepage/enabled")) -> str | None:
    """Return the setting of transparent huge pages: `always`, `madvise` or `never`; None if it cannot be read."""
    with suppress(OSError):
        chosen = re.search(r"\[(\w+)\]", setting.read_text("utf-8"))
        return chosen[1] if chosen else None
    return None
