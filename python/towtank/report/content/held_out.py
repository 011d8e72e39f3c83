"""Builds columns and cells for tables of held-out levels: load levels that a fit leaves out and predicts, as a test."""

from __future__ import annotations

from towtank.model import HeldOutLevel, HeldOutResult
from towtank.report import format as people
from towtank.report.document import Column, headings
from towtank.report.figures import panel
from towtank.report.format import Ends
from towtank.report.source import Results


def columns(results: Results) -> tuple[Column, ...]:
    """Return the columns: predicted and measured throughput and response time, by configuration and load."""
    return headings(
        "Configuration",
        f"#{panel.load_title(results.load_factor).capitalize()}",
        "#Throughput measured",
        "#Predicted, 95 % band",
        "#Error",
        "#Response time measured",
        "#Predicted, 95 % band",
        "#Error",
    )


def cells(label: str, row: HeldOutLevel) -> tuple[str, ...]:
    """Return the cells of a held-out level; cells of an unmeasured response time contain a dash."""
    times = (people.ABSENT,) * 3
    if row.times is not None:
        measured, predicted = row.times
        times = (
            people.seconds_estimate(Ends(measured, *row.measured_response_interval)),
            people.seconds_estimate(Ends(predicted, *row.response_band_95)),
            people.error_of(predicted, row.response_band_95, measured),
        )
    return (
        label,
        people.plain(row.load),
        people.rate_estimate(Ends(row.measured_throughput, *row.measured_throughput_interval)),
        people.rate_estimate(Ends(row.predicted_throughput, *row.throughput_band_95)),
        people.error_of(row.predicted_throughput, row.throughput_band_95, row.measured_throughput),
        *times,
    )


def worst_error(held_out: HeldOutResult) -> str:
    """Format the largest relative error of the predicted throughput at held-out levels, with its interval."""
    worst = held_out.worst
    return people.error_of(worst.predicted_throughput, worst.throughput_band_95, worst.measured_throughput)
