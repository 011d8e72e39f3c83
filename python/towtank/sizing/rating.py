"""Computes the rating of a machine in capacity units, from the rates of its benchmark kernels.

Each kernel is measured in several rounds, and each round is divided into slices of time. The value of a kernel is the
median over its rounds, and the value of a round is the median over its slices. A disturbance therefore has no effect if
it is shorter than half of the slices, or affects fewer than half of the rounds. The interval ranges from the lowest to
the highest value of a round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from towtank.errors import EngineError
from towtank.problems import message_of
from towtank.sizing.kernels import KERNELS, SCALES, Resource, chosen
from towtank.sizing.machines import geometric_mean

# Rating of the reference machine per CPU if only one of its CPUs is busy. [capacity units]
REFERENCE_UNITS = 100.0
MODES = ("single", "all")


@dataclass(frozen=True)
class RatingEstimate:
    """Median of the values of several rounds, with the lowest and highest value."""

    value: float
    low: float
    high: float
    rounds: tuple[float, ...] = ()

    @classmethod
    def of_rounds(cls, rounds: Sequence[float], value: float | None = None) -> RatingEstimate:
        """Return the estimate from the values of all rounds: the median, or `value` if given, with the lowest and
        highest value.
        """
        middle = median(rounds) if value is None else value
        return cls(middle, min(middle, *rounds), max(middle, *rounds), tuple(rounds))

    @property
    def half_width(self) -> float:
        """Half the width of the interval of this estimate, relative to its value. [ratio]"""
        return (self.high - self.low) / 2 / self.value

    def document(self) -> dict[str, object]:
        """Return the estimate as a JSON object: median, interval and value of every round."""
        return {"value": self.value, "low": self.low, "high": self.high, "rounds": list(self.rounds)}


def coverage(rounds: int) -> float:
    """Return the probability that the true median lies between the lowest and the highest of n rounds. [ratio]

    Notes
    -----
    The probability is 1 - 2^(1 - n) for n independent rounds of any distribution. The median is outside only if all
    rounds are above it or all are below it, each with probability 2^-n; section 7.1 of [1]_.

    References
    ----------
    .. [1] H. A. David and H. N. Nagaraja, *Order Statistics*, 3rd edition, Wiley, 2003,
           https://doi.org/10.1002/0471722162.

    Examples
    --------
    >>> coverage(3), coverage(6)
    (0.75, 0.96875)
    """
    return 1.0 - 2.0 ** (1 - rounds)


@dataclass(frozen=True)
class Measured:
    """Rates of a benchmark kernel, on one CPU alone and on all CPUs at once."""

    single: RatingEstimate
    all: RatingEstimate


@dataclass(frozen=True)
class Rating:
    """Rating of a machine on one scale, in capacity units.

    Attributes
    ----------
    whole : RatingEstimate
        Rating with all CPUs busy.
    alone : RatingEstimate
        Rating with one CPU busy and all others idle.
    """

    whole: RatingEstimate
    alone: RatingEstimate


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True)


_LineT = TypeVar("_LineT", bound=_Line)


class TurnConditions(_Line):
    """CPU time during a turn: of all CPUs, of the kernel, of all programs, and taken by the hypervisor [s]; and speed
    of the CPU clock [1/s].
    """

    total_s: float
    own_s: float
    programs_s: float
    stolen_s: float
    clock_steps_per_s: float


class RatingTurn(_Line):
    """One measured execution of a kernel, with its rate in each slice of time. [1/s], [byte/s]

    If the kernel could not be measured, `failed` is the reason, and there are no slices and no conditions.
    """

    kernel: str
    mode: str
    round: int
    slices: tuple[float, ...] = ()
    conditions: TurnConditions | None = None
    failed: str | None = None


class RatingBegin(_Line):
    """CPUs, requested rounds [1], length of a turn [s], size of the last-level cache and of the kernels' memory [byte],
    and names of the kernels.
    """

    cpus: tuple[int, ...]
    rounds: int
    turn_s: float
    last_cache_bytes: int
    memory_bytes: int
    kernels: tuple[str, ...] = ()


def read_rating_line(kind: type[_LineT], line: Mapping[str, object]) -> _LineT:
    """Return a line of the engine as a record; raise `EngineError` if the line has another form."""
    try:
        return kind.model_validate(line)
    except ValidationError as error:
        raise EngineError(f"a line of the engine about a kernel is wrong: {message_of(error.errors()[0])}") from None


@dataclass(frozen=True)
class RatingMeasurement:
    """Results of the benchmark kernels, as the engine reports them.

    Attributes
    ----------
    turns : tuple of RatingTurn
        Turns of the kernels that were measured.
    failed : dict of str to str
        For each kernel that could not be measured, the reason.
    """

    begin: RatingBegin
    turns: tuple[RatingTurn, ...]
    failed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_lines(cls, lines: Sequence[Mapping[str, object]]) -> RatingMeasurement:
        """Return the measurement for the JSON lines that the engine printed.

        Raises
        ------
        EngineError
            If the first or last line is missing, or if a line has another form.
        """
        if not lines or lines[0].get("event") != "begin" or lines[-1].get("event") != "end":
            raise EngineError("the engine ended before the last kernel")
        begin = read_rating_line(RatingBegin, lines[0])
        turns = [read_rating_line(RatingTurn, line) for line in lines if line.get("event") == "turn"]
        failed = {turn.kernel: turn.failed for turn in turns if turn.failed is not None}
        return cls(begin, tuple(turn for turn in turns if turn.kernel not in failed), failed)

    @property
    def cpus(self) -> int:
        """Number of CPUs available to the benchmark kernels. [1]"""
        return len(self.begin.cpus)

    @property
    def rounds(self) -> int:
        """Number of measuring rounds that were requested. [1]"""
        return self.begin.rounds


def kernel_estimates(measurement: RatingMeasurement) -> dict[str, Measured]:
    """Return the rates of all measured benchmark kernels, in the order of `KERNELS`."""
    rates: dict[tuple[str, str], list[float]] = {}
    for turn in measurement.turns:
        rates.setdefault((turn.kernel, turn.mode), []).append(median(turn.slices))
    measured = {}
    for name in KERNELS:
        if (name, "single") in rates and (name, "all") in rates:
            single, whole = (RatingEstimate.of_rounds(rates[name, mode]) for mode in MODES)
            measured[name] = Measured(single, whole)
    return measured


def area_ratios(values: Mapping[str, float], reference: Mapping[str, float], resource: Resource) -> dict[str, float]:
    """Return the speed relative to the reference machine in each area (group of kernels). [1]

    The value of an area is the geometric mean over its kernels.
    """
    by_area: dict[str, list[float]] = {}
    for kernel in chosen(resource):
        by_area.setdefault(kernel.area, []).append(values[kernel.name] / reference[kernel.name])
    return {area: geometric_mean(ratios) for area, ratios in by_area.items()}


def capacity_units(values: Mapping[str, float], reference: Mapping[str, float], resource: Resource) -> float:
    """Return the rating of a machine relative to the reference machine, from the rates of its kernels.

    The rates of each kernel of the resource, `cpu` or `disk`, are in [1/s] or [byte/s]. The result is 100 times the
    geometric mean over the areas of kernels. [1]

    Notes
    -----
    The rating is 100 (prod_a r_a)^(1/A) over A areas, with r_a = (prod_k v_k / v_k,reference)^(1/K_a) over the K_a
    kernels of area a and their rates v_k. Only the geometric mean makes the order and the ratio of two machines
    independent of the choice of the reference machine [1]_.

    References
    ----------
    .. [1] P. J. Fleming and J. J. Wallace, "How not to lie with statistics: the correct way to summarize benchmark
           results", *Communications of the ACM* 29(3), 1986, https://doi.org/10.1145/5666.5673.
    """
    return REFERENCE_UNITS * geometric_mean(list(area_ratios(values, reference, resource).values()))


def ratings(measured: Mapping[str, Measured], reference: Mapping[str, float]) -> dict[str, Rating]:
    """Return the rating on each scale; a scale is left out if any of its kernels was not measured.

    The reference rates are those of the benchmark kernels on one CPU of the reference machine. [1/s], [byte/s]
    """
    rated: dict[str, Rating] = {}
    for resource, scale in SCALES.items():
        names = [kernel.name for kernel in chosen(resource)]
        if all(name in measured and name in reference for name in names):
            vectors = {name: measured[name] for name in names}
            rated[scale] = Rating(
                _rated({name: pair.all for name, pair in vectors.items()}, reference, resource),
                _rated({name: pair.single for name, pair in vectors.items()}, reference, resource),
            )
    return rated


def _rated(vector: Mapping[str, RatingEstimate], reference: Mapping[str, float], resource: Resource) -> RatingEstimate:
    """Return the rating for the rates of kernels. The interval ranges from the lowest to the highest rating of
    a round.
    """
    rounds = min(len(estimate.rounds) for estimate in vector.values())
    by_round = [
        capacity_units({name: estimate.rounds[number] for name, estimate in vector.items()}, reference, resource)
        for number in range(rounds)
    ]
    value = capacity_units({name: estimate.value for name, estimate in vector.items()}, reference, resource)
    return RatingEstimate.of_rounds(by_round, value)


def rounded(value: float, digits: int = 5) -> float:
    """Return a number rounded to `digits` significant digits."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value
