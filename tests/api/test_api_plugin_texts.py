"""Texts of the pytest plugin: reasons of an invalid measurement, and explanations of failed comparisons."""

from __future__ import annotations

import pytest

import towtank
from towtank.api.measured import Doubt, Verdict
from towtank.api.plugin import Measuring, pytest_assertrepr_compare
from towtank.api.quantity import PER_SECOND, RATIO, SECONDS, Quantity
from towtank.errors import MeasurementError

DOUBTS = (
    Doubt("errors_above_limit", "invalid", "100 % of transactions failed", hint="check the log"),
    Doubt("interference", "suspect", "other programs used 1.5 of 2 CPUs"),
    Doubt("too_few_samples", "note", "transactions slower than p99: only 3"),
)


def test_an_invalid_measurement_states_its_reason_first_and_no_note(monkeypatch: pytest.MonkeyPatch) -> None:
    class Measured:
        target = "http://127.0.0.1/checkout"
        verdict = Verdict("invalid", DOUBTS)

    monkeypatch.setattr(towtank, "drive", lambda target, **options: Measured(), raising=False)
    with pytest.raises(MeasurementError) as caught:
        Measuring().drive("http://127.0.0.1/checkout")
    assert str(caught.value).splitlines() == [
        "invalid: 100 % of transactions failed",
        "  hint: check the log",
        "suspect: other programs used 1.5 of 2 CPUs",
        "measured: the load on http://127.0.0.1/checkout",
    ]


@pytest.mark.parametrize(
    ("value", "unit", "limit", "words"),
    [
        (20.0, PER_SECOND, 50, "above 50 /s"),
        (0.8, RATIO, 0.905, "above 90.5 %"),
        (0.4336, SECONDS, 0.4304, "above 0.4304 s"),
        (0.4336, SECONDS, "500 ms", "above 500 ms"),
        (12.0, "1", 12345678, "above 12345678"),
    ],
)
def test_the_limit_has_the_unit_of_the_value_and_all_its_digits(
    value: float, unit: str, limit: float | str, words: str
) -> None:
    lines = pytest_assertrepr_compare(">", Quantity(value, unit), limit)
    assert lines is not None and f"objective: {words}" in lines


def test_a_verdict_other_than_expected_states_its_doubts() -> None:
    lines = pytest_assertrepr_compare("==", Verdict("suspect", DOUBTS[1:]), "valid")
    assert lines == ["suspect == 'valid'", "suspect: other programs used 1.5 of 2 CPUs"]
