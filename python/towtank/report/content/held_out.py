"""Levels that were held out, predicted against measured: what the tables of all models have alike."""

from __future__ import annotations

from collections.abc import Sequence

from towtank.report import format as people
from towtank.report.document import Column
from towtank.report.figures import panel
from towtank.report.source import Json, Results


def columns(results: Results) -> tuple[Column, ...]:
    """Configuration and load, then throughput and response time of both."""
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


def cells(one: Json, row: Json) -> tuple[str, ...]:
    """The cells of a level of a model; a level may have no response time that was measured."""
    timed = row.get("measured_response_s") is not None
    predicted = band(row.get("predicted_response_s"), row.get("response_band_95"))
    return (
        str(one["label"]),
        people.plain(row["load"]),
        people.rate(row["measured_throughput"]),
        people.rate_estimate(band(row.get("predicted_throughput"), row.get("throughput_band_95"))),
        people.signed_share(row["error"]),
        people.seconds(row["measured_response_s"]) if timed else people.ABSENT,
        people.seconds_estimate(predicted) if timed else people.ABSENT,
        people.signed_share(row["response_error"]) if timed else people.ABSENT,
    )


def band(value: float | None, bounds: Sequence[float | None] | None) -> Json:
    """A prediction with its band, as estimates are shown."""
    low, high = bounds or (None, None)
    return {"value": value, "low": low, "high": high}
