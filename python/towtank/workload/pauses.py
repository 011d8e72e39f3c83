"""Defines pauses (think times and pacing), which are constant or random with a given distribution.

A workload file can state a pause in these forms:

    think: 2 s
    think: {exponential: 2 s}
    think: {uniform: {min: 1 s, max: 3 s}}
    think: {normal: {mean: 2 s, sd: 500 ms, min: 0 s, max: 5 s}}
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from towtank import units
from towtank.fields import FileModel
from towtank.workload.durations import LONGEST_S, PositiveTimedDuration, TimedDuration


class Uniform(FileModel):
    """Uniform distribution between two durations."""

    min: TimedDuration = Field(description="Shortest pause.")
    max: TimedDuration = Field(description="Longest pause.")

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.max < self.min:
            raise ValueError(
                f"must have max at least {units.format_duration(self.min)}, got {units.format_duration(self.max)}"
            )
        return self


class Normal(FileModel):
    """Normal distribution truncated at both ends: a random value outside of the bounds is replaced by a new value."""

    mean: TimedDuration = Field(description="Mean of the normal distribution before truncation.")
    sd: PositiveTimedDuration = Field(description="Standard deviation of the normal distribution before truncation.")
    min: TimedDuration = Field(0.0, description="Shortest pause; a shorter value is replaced by a new random value.")
    max: TimedDuration | None = Field(
        None,
        description=(
            "Longest pause; a longer value is replaced by a new random value. Default: the mean plus four standard "
            "deviations."
        ),
    )

    @model_validator(mode="after")
    def _within(self) -> Normal:
        # A value outside of the bounds is generated again until it lies inside. The number of attempts is small only if
        # the bounds contain a sufficient part of the distribution.
        if not self.min <= self.mean <= self.longest or self.longest <= self.min:
            raise ValueError("must have min <= mean <= max and min < max, got another order")
        if self.longest > LONGEST_S:
            raise ValueError(f"must have max at most {LONGEST_S / 3600:.0f} h, got {self.longest / 3600:.6g} h")
        if self.longest - self.min < self.sd / 10:
            raise ValueError("must have min and max at least a tenth of sd apart, got a smaller difference")
        return self

    @property
    def longest(self) -> float:
        """Upper bound of a normally distributed pause. [s]"""
        return self.mean + 4 * self.sd if self.max is None else self.max


class PauseModel(FileModel):
    """Pause: constant, or random with one of three distributions."""

    fixed: TimedDuration | None = Field(None, description="Duration of a constant pause.")
    exponential: TimedDuration | None = Field(None, description="Mean of an exponentially distributed pause.")
    uniform: Uniform | None = Field(None, description="Bounds of a uniformly distributed pause.")
    normal: Normal | None = Field(
        None, description="Mean, standard deviation and bounds of a normally distributed pause."
    )

    @model_validator(mode="after")
    def _one(self) -> PauseModel:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise ValueError(f"must have one of fixed, exponential, uniform and normal, got {got} instead")
        return self

    def plan(self) -> dict[str, object]:
        """Return the pause in the form of the engine's plan, with times in seconds."""
        if self.fixed is not None:
            return {"dist": "fixed", "mean_s": self.fixed}
        if self.exponential is not None:
            return {"dist": "exponential", "mean_s": self.exponential}
        if self.uniform is not None:
            return {"dist": "uniform", "min_s": self.uniform.min, "max_s": self.uniform.max}
        assert self.normal is not None  # the validator `_one` ensures that exactly one form of the pause is set
        return {
            "dist": "normal",
            "mean_s": self.normal.mean,
            "sd_s": self.normal.sd,
            "min_s": self.normal.min,
            "max_s": self.normal.longest,
        }

    def words(self) -> str:
        """Return a description of the pause for reports."""
        write = units.format_duration
        if self.fixed is not None:
            return f"{write(self.fixed)}, constant"
        if self.exponential is not None:
            return f"exponential with mean {write(self.exponential)}"
        if self.uniform is not None:
            return f"uniform from {write(self.uniform.min)} to {write(self.uniform.max)}"
        assert self.normal is not None  # the validator `_one` ensures that exactly one form of the pause is set
        return (
            f"normal with mean {write(self.normal.mean)} and standard deviation {write(self.normal.sd)}, "
            f"cut off at {write(self.normal.min)} and {write(self.normal.longest)}"
        )


def _short_form(value: object) -> object:
    """Convert `2 s` to `{fixed: 2 s}`. Return a mapping unchanged, and raise ValueError for any other value."""
    if isinstance(value, dict | PauseModel):
        return value
    try:
        units.duration(value)
    except ValueError as error:
        allowed, _, got = str(error).partition(", got ")
        forms = "{exponential: 2 s}, {uniform: ...} or {normal: ...}"
        raise ValueError(f"{allowed}, or {forms}, got {got}") from None
    return {"fixed": value}


def read_pacing(value: object) -> object:
    """Convert a rate such as `5 /h` or `5 /h per user` to the time between the starts of two transactions. Return any
    other value unchanged.

    Raises
    ------
    ValueError
        If the rate is 0, or so low that the time exceeds `LONGEST_S`.
    """
    if not isinstance(value, str) or "/" not in value:
        return value
    per_second = units.rate(value.removesuffix("per user"))
    if per_second <= 0:
        raise ValueError(f"must be a rate above 0, got {value!r} instead")
    if 1 / per_second > LONGEST_S:
        raise ValueError(f"must be a rate of at least one in {LONGEST_S / 3600:.0f} h, got {value!r} instead")
    return PauseModel.model_construct(fixed=1 / per_second)


Pause = Annotated[PauseModel, BeforeValidator(_short_form, json_schema_input_type=str | PauseModel)]
