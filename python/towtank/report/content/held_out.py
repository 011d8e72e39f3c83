"""Builds columns and cells for tables of held-out levels: load levels that a fit leaves out and predicts, as a test."""

from __future__ import annotations

from collections.abc import Sequence

from towtank.model import worst_held_out_row
from towtank.report import format as people
from towtank.report.document import Column
from towtank.report.figures import panel
from towtank.report.source import Json, Results


def columns(results: Results) -> tuple[Column, ...]:
    """Return the columns: predicted and measured throughput and response time, by configuration and load."""
    return (
        Column("Configuration"),
        Column(panel.load_title(results.load_factor).capitalize(), numeric=True),
        Column("Throughput measured", numeric=True),
        Column("Predicted, 95 % band", numeric=True),
        Column("Error", numeric=True),
        Column("Response time measured", numeric=True),
        Column("Predicted, 95 % band", numeric=True),
        Column("Error", numeric=True),
    )


def cells(configuration: Json, row: Json) -> tuple[str, ...]:
    """Return the cells of a held-out level; cells of an unmeasured response time contain a dash."""
    timed = row.get("measured_response_s") is not None
    predicted = band(row.get("predicted_response_s"), row.get("response_band_95"))
    return (
        str(configuration["label"]),
        people.plain(row["load"]),
        people.rate_estimate(band(row["measured_throughput"], row.get("measured_throughput_interval"))),
        people.rate_estimate(band(row.get("predicted_throughput"), row.get("throughput_band_95"))),
        people.error_of(row["predicted_throughput"], row.get("throughput_band_95"), row["measured_throughput"]),
        people.seconds_estimate(band(row["measured_response_s"], row.get("measured_response_interval")))
        if timed
        else people.ABSENT,
        people.seconds_estimate(predicted) if timed else people.ABSENT,
        people.error_of(row["predicted_response_s"], row.get("response_band_95"), row["measured_response_s"])
        if timed
        else people.ABSENT,
    )


def worst_error(points: Sequence[Json]) -> str:
    """Format the largest relative error of the predicted throughput at held-out levels, with its interval."""
    worst = worst_held_out_row(points)
    return people.error_of(worst["predicted_throughput"], worst.get("throughput_band_95"), worst["measured_throughput"])


def band(value: float | None, bounds: Sequence[float | None] | None) -> Json:
    """Return a prediction and its 95 % band with the keys of an estimate: `value`, `low` and `high`."""
    low, high = bounds or (None, None)
    return {"value": value, "low": low, "high": high}
