"""Detects reasons to doubt the rating of a machine, such as other programs that ran during the measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any

from towtank.analysis import DoubtLevel, percent_text
from towtank.sizing.kernels import KERNELS, SCALES
from towtank.sizing.rating import Measured, Rating, RatingMeasurement

# Largest share of the CPU time that other programs may use without a doubt about the rating. This share changes a
# rating by about as much as the rating varies between repetitions. [ratio]
OTHERS_AT_MOST = 0.02
STOLEN_AT_MOST = 0.02
CLOCK_AT_MOST = 0.05
# Limits of the half-width of an interval, relative to the value. A CPU rating above `REPEATABLE_WITHIN` is suspect and
# above `RATING_WITHIN` invalid; `KERNEL_WITHIN` is the limit of a single kernel. [ratio]
REPEATABLE_WITHIN = 0.03
RATING_WITHIN = 0.10
KERNEL_WITHIN = 0.10
# Smallest size of the array of a memory kernel, as a multiple of the last-level cache. STREAM requires at least four.
CACHES_AT_LEAST = 4
FILE_SYSTEMS_IN_MEMORY = ("tmpfs", "ramfs")


class Kind(StrEnum):
    """Kinds of doubts about a rating."""

    MACHINE_BUSY = "machine_busy"
    STEAL_TIME = "steal_time"
    CLOCK_MOVED = "clock_moved"
    NOT_REPEATABLE = "not_repeatable"
    UNSTEADY_KERNEL = "unsteady_kernel"
    NOT_MEASURED = "not_measured"
    FOLDER_IN_MEMORY = "folder_in_memory"
    SMALL_MEMORY = "small_memory"
    CPU_LIMIT = "cpu_limit"


EXPLANATIONS = {
    Kind.MACHINE_BUSY: (
        "Other programs used CPU time that the kernels needed, so the machine is faster than its rating.",
        "end the other programs, and rate again",
    ),
    Kind.STEAL_TIME: (
        "The hypervisor gave CPU time to other machines, so the rating covers only a part of this machine.",
        "rate again at another time; if this doubt always appears, the rating is what the machine delivers",
    ),
    Kind.CLOCK_MOVED: (
        "The CPU clock changed between the rounds, because of heat, power limits or the number of active CPUs.",
        "fix the frequency governor to performance, or rate longer",
    ),
    Kind.NOT_REPEATABLE: (
        "The rounds differ by more than is allowed, so a repeated rating would give a different number.",
        "end the other programs, and rate without --quick",
    ),
    Kind.UNSTEADY_KERNEL: (
        "The rounds of these kernels differ much; their intervals show by how much.",
        "compare machines by these kernels only if the difference is larger than the intervals",
    ),
    Kind.NOT_MEASURED: ("A scale has no rating if one of its kernels is missing.", "rate a folder on a local disk"),
    Kind.FOLDER_IN_MEMORY: (
        "Files in this folder are kept in memory, so their speed does not measure a disk.",
        "rate a folder on the disk that is to be rated",
    ),
    Kind.SMALL_MEMORY: (
        "The memory that the kernels used is not much larger than the caches, so the result includes the caches.",
        "free memory, and rate again",
    ),
    Kind.CPU_LIMIT: (
        "A control group limits the kernels to fewer CPUs than the machine has, so the kernels were paused.",
        "rate outside of the container, or state the limit as the machine's CPUs",
    ),
}
"""For each kind of doubt, the reason why it matters and the action to take."""


@dataclass(frozen=True)
class Doubt:
    """Doubt about a rating, with the observed number and the limit that this number exceeds."""

    kind: Kind
    level: DoubtLevel
    message: str
    seen: float | None = None
    limit: float | None = None

    @property
    def explanation(self) -> tuple[str, str]:
        """Reason why the doubt matters, and the action to take."""
        return EXPLANATIONS[self.kind]

    def document(self) -> dict[str, object]:
        """Return the doubt as a JSON object: kind, level, values, message, reason and hint."""
        why, hint = self.explanation
        return {
            "kind": str(self.kind),
            "level": str(self.level),
            "seen": self.seen,
            "limit": self.limit,
            "message": self.message,
            "why": why,
            "hint": hint,
        }


def rating_doubts(
    measurement: RatingMeasurement,
    measured: Mapping[str, Measured],
    rated: Mapping[str, Rating],
    facts: Mapping[str, Any],
) -> list[Doubt]:
    """Return all doubts about a rating.

    The properties of the host include the `file_system` of the folder that the kernels used.
    """
    return [
        *_company(measurement),
        *_clock(measurement),
        *_spread(rated),
        *_kernels(measured),
        *_missing(measurement, rated),
        *_place(measurement, facts.get("file_system")),
        *_limit(measurement, facts.get("cpu_limit")),
    ]


def _company(measurement: RatingMeasurement) -> Iterator[Doubt]:
    """Yield doubts about CPU time that other programs or the hypervisor took from the benchmark kernels.

    Kernels that write files are ignored, because threads of the operating system do part of their work.
    """
    turns = [
        turn.conditions
        for turn in measurement.turns
        if turn.conditions and KERNELS[turn.kernel].resource == "cpu" and KERNELS[turn.kernel].area != "files"
    ]
    total = sum(turn.total_s for turn in turns)
    if total <= 0:
        return
    others = sum(turn.programs_s - turn.own_s for turn in turns) / total
    stolen = sum(turn.stolen_s for turn in turns) / total
    if others > OTHERS_AT_MOST:
        text = f"other programs used {percent_text(others)} of the CPU time, limit {percent_text(OTHERS_AT_MOST)}"
        yield Doubt(Kind.MACHINE_BUSY, DoubtLevel.INVALID, text, others, OTHERS_AT_MOST)
    if stolen > STOLEN_AT_MOST:
        text = f"the hypervisor took {percent_text(stolen)} of the CPU time away, limit {percent_text(STOLEN_AT_MOST)}"
        yield Doubt(Kind.STEAL_TIME, DoubtLevel.INVALID, text, stolen, STOLEN_AT_MOST)


def _clock(measurement: RatingMeasurement) -> Iterator[Doubt]:
    """Yield doubts about changes of the CPU clock during the measurement. Medians are compared, so single disturbed
    readings have no effect.
    """
    by_round: dict[int, list[float]] = {}
    for turn in measurement.turns:
        if turn.conditions is not None:
            by_round.setdefault(turn.round, []).append(turn.conditions.clock_steps_per_s)
    speeds = [median(looks) for looks in by_round.values()]
    if not speeds:
        return
    moved = max(speeds) / min(speeds) - 1
    if moved > CLOCK_AT_MOST:
        text = f"the CPU clock changed by {percent_text(moved)} between rounds, limit {percent_text(CLOCK_AT_MOST)}"
        yield Doubt(Kind.CLOCK_MOVED, DoubtLevel.SUSPECT, text, moved, CLOCK_AT_MOST)


def _spread(rated: Mapping[str, Rating]) -> Iterator[Doubt]:
    for scale, rating in rated.items():
        width = rating.whole.half_width
        if width > REPEATABLE_WITHIN:
            # Disk ratings vary much more than CPU ratings. A wide interval therefore does not make a disk rating
            # invalid.
            severe = width > RATING_WITHIN and scale == SCALES["cpu"]
            level = DoubtLevel.INVALID if severe else DoubtLevel.SUSPECT if scale == SCALES["cpu"] else DoubtLevel.NOTE
            limit = RATING_WITHIN if severe else REPEATABLE_WITHIN
            text = f"the rounds of the {scale} rating differ by ±{percent_text(width)}, limit ±{percent_text(limit)}"
            yield Doubt(Kind.NOT_REPEATABLE, level, text, width, limit)


def _kernels(measured: Mapping[str, Measured]) -> Iterator[Doubt]:
    widths = {name: max(kernel.single.half_width, kernel.all.half_width) for name, kernel in measured.items()}
    unsteady = {name: width for name, width in widths.items() if width > KERNEL_WITHIN}
    if unsteady:
        shown = ", ".join(f"{name} ±{percent_text(width)}" for name, width in unsteady.items())
        text = f"repeated measurements of some kernels differ too much: {shown}; limit ±{percent_text(KERNEL_WITHIN)}"
        yield Doubt(Kind.UNSTEADY_KERNEL, DoubtLevel.NOTE, text, max(unsteady.values()), KERNEL_WITHIN)


def _missing(measurement: RatingMeasurement, rated: Mapping[str, Rating]) -> Iterator[Doubt]:
    for name, reason in measurement.failed.items():
        scale = SCALES[KERNELS[name].resource]
        level = DoubtLevel.INVALID if scale == SCALES["cpu"] else DoubtLevel.SUSPECT
        text = f"{name} was not measured, so there is no {scale} rating: {reason}"
        yield Doubt(Kind.NOT_MEASURED, level, text)
    for scale in SCALES.values():
        if scale not in rated and not measurement.failed:
            yield Doubt(
                Kind.NOT_MEASURED, DoubtLevel.INVALID, f"there is no {scale} rating: the reference lacks a kernel"
            )


def _place(measurement: RatingMeasurement, file_system: str | None) -> Iterator[Doubt]:
    if file_system in FILE_SYSTEMS_IN_MEMORY:
        text = f"the folder is on {file_system}, so the disk rating measures memory"
        yield Doubt(Kind.FOLDER_IN_MEMORY, DoubtLevel.SUSPECT, text)
    caches = measurement.begin.memory_bytes / measurement.begin.last_cache_bytes
    if caches < CACHES_AT_LEAST:
        text = (
            f"the memory kernels used {caches:.2g} times the last-level cache, "
            f"but at least {CACHES_AT_LEAST} times are needed"
        )
        yield Doubt(Kind.SMALL_MEMORY, DoubtLevel.SUSPECT, text, caches, float(CACHES_AT_LEAST))


def _limit(measurement: RatingMeasurement, cpu_limit: float | None) -> Iterator[Doubt]:
    if cpu_limit is not None and cpu_limit < measurement.cpus:
        text = f"a control group allows {cpu_limit:g} of {measurement.cpus} CPUs"
        yield Doubt(Kind.CPU_LIMIT, DoubtLevel.SUSPECT, text, cpu_limit, float(measurement.cpus))
