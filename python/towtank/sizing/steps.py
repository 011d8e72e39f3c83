"""Records the calculation steps behind a sizing answer, detailed enough to repeat the arithmetic by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towtank.sizing.interval import Interval, estimate_text
from towtank.sizing.result import StepResult


@dataclass(frozen=True)
class Step:
    """One step of a calculation: name of the computed quantity, formula in terms of the names in `values`, result with
    its unit, and origin of the formula or the number. The interval is None if unknown, or if the result is exact.
    """

    step: str
    formula: str
    values: Mapping[str, object]
    value: float
    unit: str = "1"
    source: str = ""
    interval: Interval | None = None

    def result(self) -> StepResult:
        """Return the step for the result of the sizing."""
        shown = {"shown": estimate_text(self.value, self.unit, self.interval)} if self.interval else {}
        return StepResult(**{**vars(self), **shown})


@dataclass
class Steps:
    """List of calculation steps, in the order of the calculation."""

    made: list[Step] = field(default_factory=list)

    def add(self, step: Step) -> float:
        """Append a calculation step and return its value."""
        self.made.append(step)
        return step.value

    def results(self) -> tuple[StepResult, ...]:
        """Return the calculation steps for the result of the sizing."""
        return tuple(step.result() for step in self.made)
