"""Renders the rating of a machine as a JSON document `towtank/rating/1` and as a machine file."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML

from towtank.analysis import DoubtLevel
from towtank.errors import ModelError
from towtank.fields import check_name
from towtank.sizing.kernels import KERNELS, SCALES
from towtank.sizing.machine_file import SCHEMA as MACHINE_SCHEMA
from towtank.sizing.machine_file import MachineEntry
from towtank.sizing.machines import Machine, Ratio
from towtank.sizing.rating import (
    Measured,
    Rating,
    RatingEstimate,
    RatingMeasurement,
    area_ratios,
    coverage,
    kernel_estimates,
    rounded,
)
from towtank.sizing.rating import ratings as rate
from towtank.sizing.rating_doubts import Doubt, rating_doubts
from towtank.units import exact_size
from towtank.version import __version__

SCHEMA = "towtank/rating/1"
REFERENCE = "towtank-reference"


@dataclass(frozen=True)
class RatedMachine:
    """Rated machine: rates of the benchmark kernels, ratings by scale, doubts, and properties of the host."""

    measurement: RatingMeasurement
    measured: Mapping[str, Measured]
    ratings: Mapping[str, Rating]
    doubts: tuple[Doubt, ...]
    facts: Mapping[str, Any]
    at: str
    reference: Mapping[str, float]

    @classmethod
    def of(
        cls, measurement: RatingMeasurement, facts: Mapping[str, Any], at: str, reference: Mapping[str, float]
    ) -> RatedMachine:
        """Compute ratings and doubts from a measurement of a host with the given properties, at a time in ISO 8601.

        The reference rates are those of the benchmark kernels on one CPU of the reference machine. [1/s], [byte/s]
        """
        measured = kernel_estimates(measurement)
        rated = rate(measured, reference)
        doubts = rating_doubts(measurement, measured, rated, facts)
        return cls(measurement, measured, rated, tuple(doubts), facts, at, reference)

    @property
    def invalid_because(self) -> list[str]:
        """Kinds of the doubts that make the rating invalid."""
        return [str(doubt.kind) for doubt in self.doubts if doubt.level == DoubtLevel.INVALID]

    def unit_of(self, kernel: str) -> str:
        """Return the unit of a kernel's rate, for example `bytes/s`."""
        return f"{KERNELS[kernel].unit}/s"

    def machine(self, name: str) -> Machine:
        """Return the rated machine as an entry of the machine catalogue."""
        return Machine.of(name, MachineEntry.model_validate(machine_entry(self)))


def reference_values(machines: Mapping[str, Machine]) -> dict[str, float]:
    """Return the rates of the benchmark kernels on one CPU of the reference machine. [1/s], [byte/s]

    Raises
    ------
    ModelError
        If the catalogue lacks the reference machine, or its measured kernels.
    """
    machine = machines.get(REFERENCE)
    if machine is None or machine.measured is None:
        raise ModelError(f"the machine {REFERENCE!r} with measured kernels must be in the catalogue, got none")
    return {name: kernel.single.value for name, kernel in machine.measured.kernels.items()}


def document_of_rating(rated: RatedMachine, against: MachineComparison | None = None) -> dict[str, object]:
    """Return the complete rating as a JSON object, with unrounded numbers."""
    measurement = rated.measurement
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "at": rated.at,
        "valid": not rated.invalid_because,
        "invalid_because": rated.invalid_because,
        "doubts": [doubt.document() for doubt in rated.doubts],
        "machine": dict(rated.facts),
        "cpus": measurement.cpus,
        "rounds": measurement.rounds,
        "turn_s": measurement.begin.turn_s,
        "coverage": coverage(measurement.rounds),
        "reference": REFERENCE,
        "ratings": {scale: _rating(rating, measurement.cpus) for scale, rating in rated.ratings.items()},
        "areas": _areas(rated),
        "kernels": {name: _kernel(rated, name) for name in rated.measured},
        "not_measured": dict(measurement.failed),
    }
    return document if against is None else {**document, "against": against.document()}


def _rating(rating: Rating, cpus: int) -> dict[str, object]:
    whole, alone = rating.whole.document(), rating.alone.document()
    per_cpu = {name: getattr(rating.whole, name) / cpus for name in ("value", "low", "high")}
    return {"whole": whole, "per_cpu": per_cpu, "one_cpu_alone": alone}


def _areas(rated: RatedMachine) -> dict[str, object]:
    """Return the speed relative to the reference machine in each area (group of kernels), for all scales that have a
    rating.
    """
    areas: dict[str, object] = {}
    for resource, scale in SCALES.items():
        if scale in rated.ratings:
            singles = {name: kernel.single.value for name, kernel in rated.measured.items()}
            wholes = {name: kernel.all.value for name, kernel in rated.measured.items()}
            alone = area_ratios(singles, rated.reference, resource)
            whole = area_ratios(wholes, rated.reference, resource)
            areas |= {area: {"scale": scale, "one_cpu_alone": alone[area], "whole": whole[area]} for area in alone}
    return areas


def _kernel(rated: RatedMachine, name: str) -> dict[str, object]:
    kernel, measured = KERNELS[name], rated.measured[name]
    return {
        "area": kernel.area,
        "resource": kernel.resource,
        "unit": rated.unit_of(name),
        "single": measured.single.document(),
        "all": measured.all.document(),
        "reference": rated.reference.get(name),
    }


@dataclass(frozen=True)
class MachineComparison:
    """Comparison of the rated machine with another machine.

    Attributes
    ----------
    machine : str
        Name of the other machine.
    ratios : dict of str to Ratio or str
        For each resource (`cpu`, `disk`), how many times faster the rated machine is, or the reason why the machines
        cannot be compared.
    """

    machine: str
    ratios: Mapping[str, Ratio | str]

    @classmethod
    def of(cls, rated: RatedMachine, other: Machine) -> MachineComparison:
        """Compare the rated machine with another machine by ratings and kernels."""
        machine = rated.machine("this machine")
        return cls(other.name, {resource: _ratio(machine, other, scale) for resource, scale in SCALES.items()})

    def document(self) -> dict[str, object]:
        """Return the comparison as a JSON object."""
        found = self.ratios.items()
        return {
            "machine": self.machine,
            **{name: {"refused": ratio} if isinstance(ratio, str) else _ratio_document(ratio) for name, ratio in found},
        }


def _ratio(machine: Machine, other: Machine, scale: str) -> Ratio | str:
    try:
        return machine.speed_against(other, scale)
    except ModelError as error:
        return "; ".join(str(error).replace("hint: ", "").split("\n\n"))


def _ratio_document(ratio: Ratio) -> dict[str, object]:
    """Return a speed ratio as a JSON object: value, interval, ratios by kernel and notes."""
    document = {**vars(ratio), "kernels": dict(ratio.by_kernel), "notes": list(ratio.notes)}
    return {key: document[key] for key in ("value", "low", "high", "basis", "kernels", "notes")}


def machine_entry(rated: RatedMachine) -> dict[str, object]:
    """Return the machine as an entry of a machine file, with numbers rounded to five digits."""
    facts = rated.facts
    entry = {
        "title": facts.get("cpu_model"),
        "cpus": rated.measurement.cpus,
        "memory": exact_size(facts["memory_bytes"]) if "memory_bytes" in facts else None,
        "ratings": {scale: _short(rating.whole) for scale, rating in rated.ratings.items()},
        "source": "measured by towtank rate",
        "measured": {
            "at": rated.at,
            "towtank": __version__,
            "fingerprint": {key: value for key, value in facts.items() if isinstance(value, str | int | float)},
            "doubts": [doubt.message for doubt in rated.doubts],
            "kernels": {
                name: {"single": _short(kernel.single), "all": _short(kernel.all)}
                for name, kernel in rated.measured.items()
            },
        },
    }
    return {key: value for key, value in entry.items() if value is not None}


def _short(estimate: RatingEstimate) -> dict[str, object]:
    return {name: rounded(getattr(estimate, name)) for name in ("value", "low", "high")}


def machine_text(rated: RatedMachine, name: str, **other: str) -> str:
    """Render a machine file as YAML. The keys in `other`, for example `title`, replace measured values."""
    content = {"schema": MACHINE_SCHEMA, "machines": {name: {**machine_entry(rated), **other}}}
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None  # The values of a kernel are written on one line.
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 160
    stream = io.StringIO()
    yaml.dump(content, stream)
    return stream.getvalue()


def check_machine_name(name: object) -> None:
    """Raise `ValueError` if a text cannot be the name of a machine in a machine file."""
    check_name(name)


def machine_name(facts: Mapping[str, Any]) -> str:
    """Return a machine name derived from the host name. The returned name contains only letters, digits, `_`
    and `-`.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(facts.get("name", ""))).strip("-_")[:60]
    return name if re.match(r"[A-Za-z]", name) else f"machine-{name}".rstrip("-")
