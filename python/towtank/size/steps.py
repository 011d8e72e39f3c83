"""The arithmetic of an answer, one step at a time, so that anyone can do it again by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from towtank.size.interval import Interval, estimate_text, interval_document


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes
    ----------
    step : str
        What is found.
    formula : str
        As text, with the names of `values`.
    values : dict
        What went in, by the names in the formula.
    value : number
        What came out.
    unit : str
        Of the value.
    source : str
        Where the formula or the number comes from.
    interval : Interval or None
        Of the value; None if it is not known, or the value is exact.
    """

    step: str
    formula: str
    values: dict[str, Any]
    value: float
    unit: str = "1"
    source: str = ""
    interval: Interval | None = None

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "step": self.step,
            "formula": self.formula,
            "with": self.values,
            "value": self.value,
            "unit": self.unit,
            "source": self.source,
            "interval": interval_document(self.interval),
            **({"shown": estimate_text(self.value, self.unit, self.interval)} if self.interval else {}),
        }


@dataclass
class Steps:
    """Steps in their order."""

    made: list[Step] = field(default_factory=list)

    def add(self, step: Step) -> float:
        """Note a step and give its value back."""
        self.made.append(step)
        return step.value

    def documents(self) -> list[dict[str, Any]]:
        """As JSON has them."""
        return [one.document() for one in self.made]
