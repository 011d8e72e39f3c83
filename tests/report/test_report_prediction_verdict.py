"""Verdicts on predictions, which compare the measured value with the band of the prediction."""

from typing import Any

import pytest

from towtank.model import PredictedBand
from towtank.report.content.prediction import verdict

BAND = PredictedBand(median=1.5, band_95=(1.0, 2.0))


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (0.5, 0.4, 0.6, "below"),
        (0.9, 0.7, 1.1, "inside"),
        (1.5, 1.4, 1.6, "inside"),
        (2.1, 1.9, 2.3, "inside"),
        (2.5, 2.4, 2.6, "above"),
        (0.5, None, None, "below"),
        (2.5, None, None, "above"),
    ],
)
def test_a_measurement_is_outside_if_all_of_its_interval_is(
    value: float, low: float | None, high: float | None, expected: str
) -> None:
    measured: Any = {"value": value, "low": low, "high": high}
    assert verdict(BAND, measured) == expected


def test_without_a_band_or_a_value_there_is_no_verdict() -> None:
    nothing: Any = {"value": None, "low": None, "high": None}
    assert verdict(None, {"value": 1.0, "low": None, "high": None}) == verdict(BAND, nothing) == "–"
