"""Defines the load `kind: find-limit`, which rises until a stop condition is met; further levels then narrow down the
load limit.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from towtank import units
from towtank.fields import FileModel, Share

_SHARE = r"(?P<value>[\d.]+\s*%?)"
# Conditions that may end a search for the load limit, each with the pattern of its text.
_STOPS = {
    "objective_missed": re.compile(r"\s*objective\s+missed\s*"),
    "errors": re.compile(rf"\s*errors\s*>\s*{_SHARE}\s*"),
    "achieved": re.compile(rf"\s*achieved\s*<\s*{_SHARE}\s*"),
    "throughput_grows": re.compile(rf"\s*throughput\s+grows\s*<\s*{_SHARE}\s+of\s+the\s+ideal\s*"),
}
STOP_WHEN = ("objective missed", "errors > 1 %", "achieved < 95 %", "throughput grows < 5 % of the ideal")
"""Conditions that end a search for the load limit by default."""
_SHAPES = "objective missed, errors > SHARE, achieved < SHARE, or throughput grows < SHARE of the ideal"


def read_stop(text: str) -> tuple[str, float | None]:
    """Read a stop condition, and return its name and the share that it contains.

    Raises
    ------
    ValueError
        If the text is not a stop condition.

    Examples
    --------
    >>> read_stop("errors > 0.5 %")
    ('errors', 0.005)
    """
    for name, form in _STOPS.items():
        match = form.fullmatch(text)
        if match is not None:
            return name, units.share(match["value"]) if "value" in match.groupdict() else None
    raise ValueError(f"must be one of {_SHAPES}, got {text!r} instead")


def _stop(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError(f"must be one of {_SHAPES}, got {units.shown(value)} instead")
    read_stop(value)
    return value


def check_amount(value: object, what: str = "") -> object:
    """Check that an amount (`what` in messages) is a number of users or a rate, and return it unchanged."""
    if isinstance(value, str):
        if units.rate(value) <= 0:
            raise ValueError(f"must be {what}above 0, got {value!r} instead")
        return value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"must be a whole number of users from 1, or a rate such as 5 /s, got {units.shown(value)} instead"
        )
    return value


def _refine_to(value: float) -> float:
    if not 0 < value < 1:
        raise ValueError(f"must be above 0 % and below 100 %, got {100 * value:g} % instead")
    return value


Amount = Annotated[int | str, BeforeValidator(check_amount)]


class StepUp(FileModel):
    """Step between two load levels: adds `by` or multiplies by `times`, up to `up_to`."""

    by: Amount | None = Field(None, description="Users or rate to add at each step.")
    times: float | None = Field(
        None, gt=1, le=100, description="Factor to multiply the load by at each step.", strict=False
    )
    up_to: Amount | None = Field(
        None, description="Load at which the next entry of `steps` takes over; the last entry has no `up_to`."
    )


class Refine(FileModel):
    """Precision of the search for the load limit.

    After a level has failed, Towtank narrows the range between the highest passing and the lowest failing level until
    the range is as narrow as `to` requires.
    """

    to: Annotated[Share, AfterValidator(_refine_to)] = Field(
        0.05, description="Largest width of the bracket around the limit, relative to the lower load of the bracket."
    )
    repeats: int = Field(
        3,
        ge=1,
        le=20,
        description="Number of plateaus at the lower and upper load of the bracket; an interval needs at least two.",
    )


class SearchLoad(FileModel):
    """Settings of a search for the load limit, except its stages and arrivals."""

    kind: Literal["find-limit"] = Field(
        description="Kind of load: `find-limit` raises the load in steps until the system fails."
    )
    of: Literal["users", "rate"] = Field(
        "users", description="Load to raise: `users` (closed load) or `rate` (open load)."
    )
    start: Amount = Field(description="Load of the first level.")
    steps: list[StepUp] = Field(min_length=1, description="Steps by which the load rises, used in order.")
    at_most: Amount = Field(
        description="Highest load to try; if the system passes it, the result is a lower bound of the limit."
    )
    stop_when: list[Annotated[str, BeforeValidator(_stop)]] = Field(
        default_factory=lambda: list(STOP_WHEN),
        min_length=1,
        description="Conditions that make a level fail, for example `errors > 1 %`.",
    )
    refine: Refine | None = Field(
        None,
        description=(
            "Precision of the limit that the search looks for after the first failure; default: the "
            "search ends at the first failure."
        ),
    )

    @property
    def stops(self) -> dict[str, float | None]:
        """Share in each stop condition, by name of the condition; None if the condition has no share."""
        return dict(read_stop(text) for text in self.stop_when)

    def document(self) -> dict[str, object]:
        """Return the settings of the search as JSON for the manifest of a run, in SI units."""
        return {
            "of": self.of,
            "start": load_amount(self.start),
            "at_most": load_amount(self.at_most),
            "steps": [
                {
                    "by": None if step.by is None else load_amount(step.by),
                    "times": step.times,
                    "up_to": None if step.up_to is None else load_amount(step.up_to),
                }
                for step in self.steps
            ],
            "stop_when": {name: True if value is None else value for name, value in self.stops.items()},
            "refine": None if self.refine is None else {"to": self.refine.to, "repeats": self.refine.repeats},
        }


def load_amount(level: int | str) -> float:
    """Return a load level as a number of users or an arrival rate. [1, 1/s]"""
    return float(level) if isinstance(level, int) else units.rate(level)
