"""Renders values of a sizing as text, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.estimates import few_digits
from towtank.sizing.interval import (
    Interval,
    duration_text,
    estimate_text,
    number_text,
    rate_text,
    share_text,
    size_text,
)
from towtank.sizing.resource_dates import BYTES
from towtank.sizing.result import (
    Busiest,
    CandidateResult,
    ClassResult,
    DateResult,
    PoolResult,
    SizedInterval,
    StepResult,
    WhatIfResult,
)


def response_text(row: ClassResult) -> str:
    """Render the mean response time of a class, with its confidence interval if known."""
    return duration_text(row.response_time_s, row.response_time_interval)


def busiest_text(row: Busiest) -> str:
    """Render the busiest station and its utilization."""
    return f"{row.station} {share_text(row.utilization, row.interval)}"


def chance_text(row: CandidateResult | PoolResult | WhatIfResult) -> str:
    """Render a probability with its sampling error, which comes from the limited number of random samples."""
    return share_text(row.probability, row.probability_interval)


def load_text(load: float | None, known: Interval | None, unit: str) -> str:
    """Render the highest load that some hardware serves, with its interval; `any load` if nothing limits the load."""
    if load is None:
        return "any load"
    if known is None or known.is_point:
        return f"{few_digits(load)} {unit}"
    return number_text(load, known, unit)


def interval_load_text(row: SizedInterval, unit: str) -> str:
    """Render the load of an interval of the day."""
    return number_text(row.load, None, unit) if unit == "users" else rate_text(row.load)


def limit_text(row: DateResult) -> str:
    """Render a limit in the table of dates: the highest load of some hardware, or the size of a resource."""
    if row.unit == BYTES and row.limit is not None:
        return size_text(row.limit)
    return load_text(row.limit, row.limit_interval, row.unit)


def never_text(row: DateResult) -> str:
    """Render the reason why a limit has no date: it does not exist, or is not reached within 20 years."""
    return "nothing to miss" if row.limit is None else "not within 20 years"


def missed_from_text(row: DateResult) -> str:
    """Render the first day on which a miss is more probable than `chance`."""
    return row.missed_from or never_text(row)


def expected_text(row: DateResult) -> str:
    """Render the date on which the growing load is expected to exceed a limit, with its 95 % interval."""
    day, known = row.expected_on or never_text(row), row.expected_interval
    if known is None or known.low == known.high:
        return day
    return f"{day} [{known.low or 'later'}, {known.high or 'later'}]"


def inputs_text(values: Mapping[str, object]) -> str:
    """Render the inputs of a calculation step, such as `a = 2, b = 3`."""
    return ", ".join(f"{name} = {_figure(value)}" for name, value in values.items())


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(map(_figure, value.values())) if len(value) < 2 else "{" + inputs_text(value) + "}"
    return number_text(float(value)) if isinstance(value, int | float) else str(value)


def step_text(step: StepResult) -> str:
    """Render the value of a calculation step with its unit."""
    return step.shown or estimate_text(step.value, step.unit)
