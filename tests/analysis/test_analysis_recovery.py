from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from towtank.analysis.measurement import MeasuredColumn
from towtank.analysis.recovery import StudyEvent, band_of, describe, first_inside, study_events
from towtank.analysis.windows.window import Window, shortened

BEFORE = [100.0, 104.0, 96.0, 102.0, 98.0]
ORIGIN = 7_000_000_000


def measurement(ok: list[float], failed: list[float] | None = None) -> Any:
    """Return a measurement with consecutive seconds of a steady stage."""
    number = len(ok)
    column = MeasuredColumn.empty(number)
    column.ok[:] = ok
    column.failed[:] = failed or [0.0] * number
    column.failed_by_kind = {"connect": column.failed}
    starts = np.arange(number, dtype=float)
    return SimpleNamespace(
        bins=number,
        starts=starts,
        ends=starts + 1,
        lengths=np.ones(number),
        length_of=lambda chosen: float(np.ones(number)[chosen].sum()),
        transactions=column,
        requests=column,
        inside=lambda start, end: (starts >= start - 1e-6) & (starts + 1 <= end + 1e-6),
    )


def asked(seconds: float) -> Window:
    return Window(0.0, seconds, 0.0, seconds, seconds)


def event(kind: str, at_s: float, name: str = "lost", **more: Any) -> dict[str, Any]:
    return {"k": kind, "t_ns": ORIGIN + round(at_s * 1e9), "event": name, "do": "restart", "on": "content", **more}


def test_events_are_read_with_their_actual_times() -> None:
    recorded = [
        event("event_begins", 5.5, processes=["content", "content-2"]),
        {"k": "stage", "t_ns": ORIGIN},
        event("event_ends", 7.0),
        event("event_failed", 9.0, "late", reason="the load ended before"),
    ]
    assert study_events(recorded, ORIGIN) == [
        StudyEvent("lost", "restart", "content", 5.5, 7.0, None, ("content", "content-2")),
        StudyEvent("late", "restart", "content", failed="the load ended before"),
    ]


def test_the_band_is_the_prediction_of_one_more_second() -> None:
    band = band_of(measurement(BEFORE), np.ones(5, dtype=bool), 0.01)
    assert band is not None
    # The values before the event, 100, 104, 96, 102 and 98, have the sample standard deviation sqrt(40 / 4) = 3.16.
    reach = t.ppf(0.999, 4) * np.sqrt(10.0) * np.sqrt(1.2)
    assert band.throughput_per_s == 100.0
    assert band.least_per_s == pytest.approx(100.0 - reach)
    assert band.errors_at_most == 0.01


def test_four_seconds_are_no_band() -> None:
    assert band_of(measurement(BEFORE), np.array([1, 1, 1, 1, 0], dtype=bool), 0.01) is None


def test_recovery_counts_from_the_event_to_the_first_of_three_seconds_within_the_band() -> None:
    # The event is at 5.5 s. Second 8 is within the normal band, but the next two seconds are not.
    ok = [*BEFORE, 50.0, 0.0, 0.0, 100.0, 40.0, 100.0, 101.0, 99.0, 100.0]
    failed = [0.0] * 5 + [10.0, 0.0, 5.0] + [0.0] * 6
    (described,) = describe(
        study_events([event("event_begins", 5.5)], ORIGIN), measurement(ok, failed), asked(14.0), 0.01
    ).values()
    assert described.disturbed is True
    assert described.recovery_s == pytest.approx(10.0 - 5.5)
    assert described.during.failed_transactions == {"connect": 15}
    assert described.during.length_s == 5.0
    assert described.during.missed_transactions == 5 * 100.0 - 190.0


def test_failures_keep_a_system_from_being_back() -> None:
    failed = [0.0] * 5 + [20.0] * 2 + [0.0] * 4
    found = study_events([event("event_begins", 5.0)], ORIGIN)
    (described,) = describe(found, measurement([*BEFORE, *[100.0] * 6], failed), asked(11.0), 0.01).values()
    assert described.recovery_s == pytest.approx(2.0)


def test_what_is_not_back_within_the_stage_has_no_recovery() -> None:
    found = study_events([event("event_begins", 5.0)], ORIGIN)
    (described,) = describe(found, measurement([*BEFORE, *[10.0] * 6]), asked(11.0), 0.01).values()
    assert (described.recovery_s, described.why) == (None, "the steady stage ended before the system recovered")
    assert described.during.missed_transactions == 6 * 90.0


def test_what_never_left_the_band_was_not_disturbed() -> None:
    found = study_events([event("event_begins", 5.0), event("event_ends", 7.0)], ORIGIN)
    (described,) = describe(found, measurement([*BEFORE, *[99.0] * 6]), asked(11.0), 0.01).values()
    assert (described.disturbed, described.recovery_s) == (False, 0.0)
    assert described.during.length_s == 2.0


def test_a_kill_lasts_until_the_service_is_started_again() -> None:
    kill = {**event("event_begins", 5.0), "do": "kill", "processes": ["content-2"], "on": "content-2"}
    start = [
        {**event("event_begins", 8.0, "back"), "do": "start", "processes": ["content", "content-2"], "on": "content"},
        {**event("event_ends", 9.0, "back"), "do": "start", "on": "content"},
    ]
    ended = {**event("event_ends", 5.1), "do": "kill", "on": "content-2"}
    first, second = describe(
        study_events([kill, ended, *start], ORIGIN), measurement([100.0] * 11), asked(11.0), 0.01
    ).values()
    assert (first.until_s, second.until_s) == (9.0, 9.0)
    (alone,) = describe(study_events([kill, ended], ORIGIN), measurement([100.0] * 11), asked(11.0), 0.01).values()
    assert alone.until_s == 11.0


def test_without_seconds_before_or_outside_of_the_stage_nothing_is_judged() -> None:
    seconds = measurement([100.0] * 11)
    (early,) = describe(study_events([event("event_begins", 3.0)], ORIGIN), seconds, asked(11.0), 0.01).values()
    assert early.recovery_s is None
    assert "less than 5 s" in early.why
    (after,) = describe(study_events([event("event_begins", 10.5)], ORIGIN), seconds, asked(10.0), 0.01).values()
    assert "within the steady stage" in after.why


def test_the_window_ends_before_the_first_event_inside_it() -> None:
    found = [
        StudyEvent("a", "kill", "content", 0.0),
        StudyEvent("b", "cut", "web", 6.3),
        StudyEvent("c", "cut", "web", 8.0),
    ]
    window = asked(11.0)
    first = first_inside(found, window)
    assert first is not None
    assert first.name == "b"
    short = shortened(measurement([100.0] * 11), window, 6.3)  # type: ignore[arg-type]
    assert short is not None
    assert (short.asked_end_s, short.planned_end_s) == (6.0, 6.0)
    assert shortened(measurement([100.0] * 11), window, 0.4) is None  # type: ignore[arg-type]


def test_a_standstill_is_outside_the_band_however_much_the_seconds_before_strayed() -> None:
    strayed = [2.0, 60.0, 5.0, 40.0, 3.0]
    band = band_of(measurement(strayed), np.ones(5, dtype=bool), 0.01)
    assert band is not None
    assert band.least_per_s == 0.5
    # A second without transactions is normal if such a second also occurred before the event. It is also normal if
    # fewer than 6.9 transactions are expected, because exp(-6.9) = 0.001.
    for before in ([6.0, 1.0, 12.0, 2.0, 11.0], [0.0, 60.0, 5.0, 40.0, 3.0]):
        band = band_of(measurement(before), np.ones(5, dtype=bool), 0.01)
        assert band is not None
        assert band.least_per_s == 0.0
