from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank import units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3 s", 3.0),
        ("150 ms", 0.15),
        ("90 min", 5400.0),
        ("1.5 h", 5400.0),
        ("2 d", 172800.0),
        ("250 us", 0.00025),
        ("250 µs", 0.00025),
        ("7 ns", 7e-9),
        ("0 s", 0.0),
        ("20ms", 0.02),
        ("  1e-3  s ", 0.001),
        ("0.1 s", 0.1),
    ],
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert units.duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8 GiB", 8 * 2**30),
        ("512 KiB", 524288),
        ("1.5 KiB", 1536),
        ("10 MB", 10**7),
        ("1 B", 1),
        ("2 TiB", 2**41),
        ("3 kB", 3000),
    ],
)
def test_sizes_are_bytes(text: str, size: int) -> None:
    assert units.size(text) == size


def test_rates_are_per_second_and_shares_are_ratios() -> None:
    assert units.rate("5 /h") == 5 / 3600
    assert units.rate("90 /min") == 1.5
    assert units.rate("100 /s") == 100.0
    assert units.rate("1 /d") == 1 / 86400
    assert units.share("70 %") == 0.7
    assert units.share("100 %") == 1.0
    assert units.share("0.1%") == 0.001


@pytest.mark.parametrize(
    ("reader", "value", "message"),
    [
        (
            units.duration,
            3,
            "must be a duration in ns, us, µs, ms, s, min, h, d, with its unit, got 3 instead",
        ),
        (units.duration, 0, "with its unit, got 0 instead"),
        (units.duration, "3", "got '3' without a unit instead"),
        (units.duration, "3 sec", "got the unit 'sec' instead"),
        (units.duration, "3 S", "got the unit 'S' instead"),
        (units.duration, "-3 s", "at least 0, got '-3 s' instead"),
        (units.duration, "three s", "got 'three s' instead"),
        (units.duration, "", "got '' instead"),
        (units.duration, None, "got nothing instead"),
        (units.duration, True, "got true instead"),
        (units.duration, ["3 s"], "got a list instead"),
        (units.duration, {}, "got a mapping instead"),
        (units.duration, "nan s", "got 'nan s' instead"),
        (units.duration, "inf s", "got 'inf s' instead"),
        (units.duration, "1e999 s", "must be a duration"),
        (units.duration, "9" * 1000 + " s", "..."),
        (
            units.size,
            "8 GB/s",
            "must be a size in B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, got the unit 'GB/s' instead",
        ),
        (units.size, "0.3 B", "must be a whole number of bytes, got '0.3 B' instead"),
        (units.size, 1024, "with its unit, got 1024 instead"),
        (units.rate, "5 per hour", "must be a rate in /s, /min, /h, /d, got the unit 'per hour' instead"),
        (units.share, "101 %", "at most 100 %, got '101 %' instead"),
        (units.share, 0.7, "must be a share in %, with its unit, got 0.7 instead"),
    ],
)
def test_what_is_no_quantity_is_refused_with_what_is_allowed(reader: object, value: object, message: str) -> None:
    assert callable(reader)
    with pytest.raises(ValueError, match=r"^must be") as raised:
        reader(value)
    assert message in str(raised.value)


seconds = st.floats(min_value=1e-9, max_value=1e9, allow_nan=False)


@given(seconds)
def test_exact_durations_are_read_back_unchanged(value: float) -> None:
    assert units.duration(units.exact_duration(value)) == value


@given(st.integers(min_value=0, max_value=2**50))
def test_exact_sizes_are_read_back_unchanged(value: int) -> None:
    assert units.size(units.exact_size(value)) == value


@given(st.floats(min_value=1e-9, max_value=1e9, allow_nan=False))
def test_exact_rates_are_read_back_unchanged(value: float) -> None:
    assert units.rate(units.exact_rate(value)) == value


@given(st.floats(min_value=1e-9, max_value=1.0, allow_nan=False))
def test_exact_shares_are_read_back_unchanged(value: float) -> None:
    assert units.share(units.exact_share(value)) == value


@given(seconds)
def test_durations_for_people_keep_four_digits(value: float) -> None:
    assert math.isclose(units.duration(units.format_duration(value)), value, rel_tol=5.1e-4)


@given(st.integers(min_value=0, max_value=10**15), st.sampled_from(sorted(units.DURATION_UNITS)))
def test_a_whole_number_of_any_unit_is_exact(number: int, unit: str) -> None:
    assert units.duration(f"{number} {unit}") == float(number * units.DURATION_UNITS[unit])


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    for reader in (units.duration, units.size, units.rate, units.share):
        try:
            assert reader(text) >= 0
        except ValueError as error:
            assert str(error).startswith("must be ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (0.412, "412 ms"),
        (0.0154, "15.4 ms"),
        (2.5e-5, "25 µs"),
        (5e-8, "50 ns"),
        (12.0, "12 s"),
        (90.0, "90 s"),
        (5400.0, "1.5 h"),
        (300.0, "5 min"),
        (0.9999999, "1 s"),
        (1e7, "2778 h"),
    ],
)
def test_durations_for_people(value: float, text: str) -> None:
    assert units.format_duration(value) == text


def test_sizes_and_rates_for_people() -> None:
    assert [units.format_size(size) for size in (0, 512, 1536, 8 * 2**30)] == [
        "0 B",
        "512 B",
        "1.5 KiB",
        "8 GiB",
    ]
    assert [units.format_rate(rate) for rate in (0, 1.5, 0.5, 5 / 3600)] == [
        "0 /s",
        "1.5 /s",
        "30 /min",
        "5 /h",
    ]


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("62.4 GiB", 67_001_489_818), ("0.3 KiB", 307), ("7.7 GB", 7_700_000_000), ("1.5 KiB", 1536)],
)
def test_a_size_with_a_digit_after_the_point_is_rounded_to_bytes(text: str, size_bytes: int) -> None:
    """The text `62.4 GiB` means 62.4 * 2^30 = 67,001,489,817.6 bytes, which are rounded to whole bytes."""
    assert units.size(text) == size_bytes
