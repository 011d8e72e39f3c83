from __future__ import annotations

import pytest

from towtank import claim_words, estimates
from towtank.analysis import Estimate, ObjectiveAnswer, estimate_from_document, narrative
from towtank.estimates import error_estimate
from towtank.report import format as people
from towtank.report import objectives


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1234.5, "1,230"),
        (123.4, "123"),
        (12.34, "12.3"),
        (9.999, "10.0"),
        (0.01234, "0.0123"),
        (-2.5, "−2.50"),
        (1e6, "1,000,000"),
        (None, "–"),
        (float("nan"), "–"),
        (True, "–"),
        ("3", "–"),
    ],
)
def test_number_has_three_significant_digits(value: object, shown: str) -> None:
    assert people.number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0000123, "12.3 µs"),
        (0.0123, "12.3 ms"),
        (1.234, "1.23 s"),
        (1234.0, "1,230 s"),
        (0, "0 s"),
        (None, "–"),
    ],
)
def test_time_is_shown_in_the_unit_that_fits(value: float | None, shown: str) -> None:
    assert people.seconds(value) == shown


def test_sizes_are_binary() -> None:
    assert people.size(8 * 1024**3) == "8.00 GiB"
    assert people.size_rate(1536) == "1.50 KiB/s"
    assert people.size(0) == "0 B"


def test_an_estimate_has_the_digits_that_its_interval_supports() -> None:
    tied = "\N{NO-BREAK SPACE}"
    estimate = {"value": 0.1234, "low": 0.11804, "high": 0.12896}
    assert people.seconds_estimate(estimate) == f"123 [118,{tied}129]{tied}ms"
    assert people.rate_estimate({"value": 1234.0, "low": 987.6, "high": 1500.1}) == f"1,230 [990,{tied}1,500]{tied}/s"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (10.4, 86.3, "50 [10, 90]"),
        (48.2, 48.5, "48.35 [48.20, 48.50]"),
        (48.3518, 48.3562, "48.3540 [48.3518, 48.3562]"),
        (-60.0, 156.7, "50 [−60, 160]"),
    ],
)
def test_more_or_fewer_than_three_digits_are_shown_as_the_error_allows(low: float, high: float, shown: str) -> None:
    estimate = {"value": 48.354, "low": low, "high": high}
    assert people.plain_estimate(estimate).replace("\N{NO-BREAK SPACE}", " ") == shown
    assert people.plain_of(estimate) == shown.split(" [", maxsplit=1)[0]


def test_a_value_that_is_not_zero_is_not_rounded_to_zero() -> None:
    assert people.plain_of({"value": 4.3, "low": 0.5, "high": 90.0}) == "4.3"
    # The interval of the value contains zero, so no digit of the value is significant.
    assert people.plain_of({"value": 4.3, "low": -80.0, "high": 90.0}) == "0"


def test_the_error_of_a_prediction_has_the_digits_that_its_band_supports() -> None:
    # The difference of -0.6 % has an error of 10 %, so it is printed in whole per cent.
    assert people.error_of(54.1, (48.6, 59.9), 54.4) == "−1 [−11,\N{NO-BREAK SPACE}10] %"
    assert people.error_of(105.8, (104.8, 107.4), 104.0) == "+1.7 [0.8,\N{NO-BREAK SPACE}3.3] %"
    assert people.error_of(100.1, (80.0, 120.0), 100.0) == "0 [−20,\N{NO-BREAK SPACE}20] %"
    assert people.error_of(330.0, (300.0, None), 312.0) == "+5.8 %"
    assert error_estimate(330.0, None, 312.0) == "+5.8 %"


def test_unit_of_an_interval_is_that_of_its_value() -> None:
    shown = people.seconds_estimate({"value": 0.9, "low": 0.5, "high": 1.5})
    assert shown.replace("\N{NO-BREAK SPACE}", " ") == "900 [500, 1,500] ms"


def test_estimate_without_interval_has_no_brackets() -> None:
    shown = people.seconds_estimate({"value": 0.5, "low": None, "high": None, "method": "none"})
    assert shown == "500\N{NO-BREAK SPACE}ms"


def test_absent_estimate_is_not_zero() -> None:
    assert people.seconds_estimate(None) == people.ABSENT
    assert people.rate_estimate({"value": None}) == people.ABSENT


def test_chosen_numbers_keep_their_form() -> None:
    assert people.plain(30.0) == "30"
    assert people.plain(0.25) == "0.25"
    assert people.plain(12345) == "12,345"


def test_moment_is_utc() -> None:
    # 2026-11-20 18:05:00 UTC is 1,795,197,900 s after the epoch (`date -u -d '2026-11-20 18:05' +%s`).
    assert people.moment(1_795_197_900_000_000_000) == "2026-11-20 18:05:00 UTC"
    assert people.moment(None) == people.ABSENT


def test_quantity_follows_the_unit() -> None:
    assert people.quantity(0.038, "s") == "38.0 ms"
    assert people.quantity(0.012, "ratio") == "1.20 %"
    assert people.quantity(3, "restarts") == "3.00 restarts"
    assert people.quantity(None, "s") == people.ABSENT


def test_listing_and_plural() -> None:
    assert people.listing(["a", "b", "c"]) == "a, b and c"
    assert people.listing(["a"]) == "a"
    assert people.plural(1, "run") == "1 run"
    assert people.plural(2000, "run") == "2,000 runs"


def test_an_interval_that_says_nothing_is_not_known() -> None:
    absurd = {"value": 0.030, "low": 0.0, "high": 248_814.48}
    assert people.seconds_estimate(absurd) == "30 [not\N{NO-BREAK SPACE}known]\N{NO-BREAK SPACE}ms"
    assert people.seconds_of(absurd) == "30\N{NO-BREAK SPACE}ms"
    assert narrative._time(estimate_from_document(absurd)) == "30 (interval not known) ms", (
        "a sentence rounds as a table does"
    )
    assert narrative.interval(Estimate(40.0, 0.3, 1200.0)) == "40 (interval not known)"
    wide = {"value": 0.030, "low": 0.002, "high": 0.3}
    columns = "30", "not known", "not known"
    assert estimates.column_texts(30.0, 0.0, 248_814_480.0, "ms") == columns, (
        "the terminal also shows this interval as not known"
    )
    assert "not" not in people.seconds_estimate(wide)
    assert people.plain_estimate({"value": 0.5, "low": -10.0, "high": 12.0}).startswith("0"), (
        "a difference may be negative, so its interval is printed"
    )


@pytest.mark.parametrize(
    ("estimate", "unit", "shown"),
    [
        ((22.0, 6.0, 3200.0), "", "22 (6 to 3,200)"),
        ((0.03, 0.0, 0.9), "s", "30 (0 to 900) ms"),
        ((1e-12, 0.0, 250e6), "ms", "0 (0 to 250,000,000) ms"),
    ],
)
def test_a_claim_shows_the_interval_that_decides_it(
    estimate: tuple[float, float, float], unit: str, shown: str
) -> None:
    measured = dict(zip(("value", "low", "high"), estimate, strict=True))
    assert claim_words.estimate_text(measured, unit) == shown


@pytest.mark.parametrize(
    ("estimate", "unit", "holds", "shown"),
    [
        ((0.13, 0.0996, 2.0), "s", "> 100 ms", "130 (99.6 to 2,000) ms"),
        ((0.13, 0.1004, 2.0), "s", "> 100 ms", "130 (100.4 to 2,000) ms"),
        ((0.13, 0.1, 2.0), "s", ">= 100 ms", "130 (100 to 2,000) ms"),
        ((1.2, 1.0997, 1.3), "", "> 1.1", "1.2000 (1.0997 to 1.3000)"),
        ((0.85, 0.69996, 0.98), "", "> 70 %", "0.85000 (0.69996 to 0.98000)"),
        ((0.95, 0.704, 1.196), "", "between 0.7 and 1.2", "0.950 (0.704 to 1.196)"),
        ((-0.05, -0.12, -0.0004), "", "< 0", "−0.0500 (−0.1200 to −0.0004)"),
        ((5e6, 4.9999e6, 6e6), "B/s", "> 5 MB/s", "4.768 (4.768 to 5.722) MiB/s"),
        ((1.0, 1.0 - 1e-16, 1.0), "", "> 1", "1 (1 to 1)"),
        ((2.0, 1.0, 3.0), "", "rises", "2.0 (1.0 to 3.0)"),
    ],
)
def test_the_ends_of_a_claim_are_shown_on_their_side_of_its_bounds(
    estimate: tuple[float, float, float], unit: str, holds: str, shown: str
) -> None:
    measured = dict(zip(("value", "low", "high"), estimate, strict=True))
    claim = {"found": None, "levels": [], "measured": measured, "unit": unit, "holds": holds}
    assert claim_words.measured(claim) == shown


@pytest.mark.parametrize("value", [0.0, 1e-12])
def test_an_interval_that_says_nothing_about_zero_is_not_known(value: float) -> None:
    absurd = {"value": value, "low": 0.0, "high": 250_000.0}
    for shown in (
        people.seconds_estimate(absurd).replace("\N{NO-BREAK SPACE}", " "),
        people.plain_estimate(absurd, "CPUs").replace("\N{NO-BREAK SPACE}", " "),
        estimates.duration_estimate(value, 0.0, 250_000.0),
        estimates.rate_estimate(value, 0.0, 250_000.0),
        estimates.number_estimate(1e3 * value, 0.0, 250e6, "ms"),
    ):
        assert shown.startswith("0 [not known] ")
    for shown in (
        narrative._time(estimate_from_document(absurd)),
        narrative.interval(estimate_from_document(absurd)),
    ):
        assert shown.startswith("0 (interval not known)")
    assert estimates.column_texts(1e3 * value, 0.0, 250e6, "ms") == ("0", "not known", "not known")


def test_the_upper_bound_of_a_small_quantity_around_zero_is_shown() -> None:
    space = "\N{NO-BREAK SPACE}"
    assert people.seconds_estimate({"value": 0.0, "low": 0.0, "high": 0.009}) == f"0 [0,{space}9]{space}ms"
    assert estimates.number_estimate(0.0, 0.0, 250.0, "ms") == "0 [0, 250] ms"
    assert people.plain_estimate({"value": 0.0, "low": 0.0, "high": 15.0}, "%") == f"0 [0,{space}15]{space}%"
    assert estimates.number_estimate(0.0, 0.0, 12.0, "MiB") == "0 [0, 12] MiB"
    assert estimates.share_estimate(0.0, 0.0, 0.003) == "0.00 [0.00, 0.30] %"
    assert estimates.share_estimate(0.0, 0.0, 1.0) == "0 [0, 100] %"
    assert estimates.number_estimate(0.0, -250_000.0, 250_000.0) == "0 [-250,000, 250,000]", (
        "a difference may have an interval around zero"
    )


@pytest.mark.parametrize(
    ("runs", "shown"),
    [
        (0, ""),
        (1, "450 ms in r1 alone"),
        (3, "450 ms in r1, 450 ms in r2, 450 ms in r3 alone"),
        (4, "450 ms in r1, 450 ms in r2, 450 ms in r3 and 1 further run alone"),
        (6, "450 ms in r1, 450 ms in r2, 450 ms in r3 and 3 further runs alone"),
    ],
)
def test_runs_that_alone_miss_an_objective_are_named_up_to_three(runs: int, shown: str) -> None:
    misses = [{"load": 9.0, "run": f"r{number + 1}", "value": 0.45} for number in range(runs)]
    objective = ObjectiveAnswer.model_validate({"metric": "p95", "far_misses": misses})
    assert objectives.alone(objective) == shown
