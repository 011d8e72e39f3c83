"""Little's law counts transactions and pauses at the edges of the window only by their time inside the window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic_runs import Exchange, Script, Stage, _header, _interval, edges_of, write_run

from towtank.analysis import laws, summarize_run
from towtank.analysis.edges import spent_by
from towtank.analysis.measurement import Measurement
from towtank.results import segments
from towtank.results.stream_forms import SegmentHeader

USERS, DRAIN_S = 10, 12.0


def cycles(stream, response, think, leave_s, begin_s=0.0):
    """Simulate users who start together, alternate between transactions and pauses, and leave after their current
    transaction.
    """
    exchanges = []
    for user in range(USERS):
        at = begin_s
        while at < leave_s:
            end = at + response(stream)
            exchanges.append(Exchange(0, at, at, end, 0.0, think(stream), user))
            at = end + exchanges[-1].think
    return exchanges


def measured(exchanges, before_s, seconds, change=lambda interval: interval):
    """Return the measurement of a stage of `seconds`, which follows an earlier stage of `before_s`."""
    leave = before_s + seconds
    ends = [max([leave] + [e.end for e in exchanges if e.user == user]) for user in range(USERS)]
    before = [Stage("ramp_up", "ramp_up", before_s, USERS)] if before_s else []
    stages = [*before, Stage("steady", "steady", seconds, USERS), Stage("drain", "ramp_down", DRAIN_S, 0)]
    script = Script("r001", ["read"], stages, exchanges, {}, USERS, user_starts=[0.0] * USERS, user_ends=ends)
    recording = segments.Recording(SegmentHeader.model_validate(_header(script, 0)))
    for number, (start, end, stage) in enumerate(edges_of(stages)):
        line = _interval(script, exchanges, range(USERS), (number, start, end, stage))
        recording.intervals.append(change(segments.interval(line, 0)))
    return Measurement(recording)


def one_in_ten_slow(stream):
    return 1.0 if stream.random() < 0.1 else 0.01 * stream.gamma(4, 0.25)


def no_pause(stream):
    return 0.0


PAUSES = {
    "none": no_pause,
    "exponential": lambda stream: stream.exponential(0.5),
    "fixed": lambda stream: 1.5,
    "rare and long": lambda stream: 5.0 if stream.random() < 0.1 else 0.05,
}
RESPONSES = {
    "one in ten slow": one_in_ten_slow,
    "all in step": lambda stream: 0.7,
    "longer than bins": lambda stream: stream.exponential(2.0),
}


def in_progress_s(exchanges, at_s):
    """Return the elapsed time [s] of all transactions and pauses in progress at a time, from the list of exchanges."""
    return sum(at_s - e.intended for e in exchanges if e.intended < at_s < e.end) + sum(
        at_s - e.end for e in exchanges if e.end < at_s < e.end + e.think
    )


@pytest.mark.parametrize("think", PAUSES)
@pytest.mark.parametrize("response", RESPONSES)
def test_the_time_in_progress_lies_within_its_bounds(response, think):
    exchanges = cycles(np.random.default_rng(1), RESPONSES[response], PAUSES[think], 12.0)
    measurement = measured(exchanges, 4.0, 8.0)
    for at_s in range(13):
        found = spent_by(measurement, float(at_s), 0.0)
        # The middle of a histogram bucket differs from the true value by at most 0.1 %.
        assert 0.999 * found.low_s <= in_progress_s(exchanges, at_s) <= 1.001 * found.high_s
    assert spent_by(measurement, 0.0, 0.0) == (0.0, 0.0)


def law_of(seed, seconds, before_s=0.0, think=no_pause, change=lambda interval: interval):
    exchanges = cycles(np.random.default_rng(seed), one_in_ten_slow, think, before_s + seconds)
    measurement = measured(exchanges, before_s, seconds, change)
    return laws.little(measurement, measurement.inside(before_s, before_s + seconds))


@pytest.mark.parametrize("before_s", [0.0, 3.0])
@pytest.mark.parametrize("think", PAUSES)
def test_short_runs_with_a_slow_request_in_ten_keep_the_law(before_s, think):
    """Little's law N = X (R + Z) holds only if the transactions in progress at the edges of the window are included.

    If all users start with the window and these transactions are left out, X (R + Z) is 9.1 on average, instead of N =
    10.
    """
    found = [law_of(seed, 5.0, before_s, PAUSES[think]) for seed in range(10)]
    assert [law.residual for law in found] == [0.0] * 10
    if think == "none" and not before_s:
        beside = [law.x_per_s * (law.r_s + law.z_s) for law in found]
        assert sum(cycles < 9.5 for cycles in beside) >= 7


@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_a_counter_that_is_wrong_by_a_seventh_is_found(factor):
    """Transactions at the edges of a window of 40 s explain at most 2 %, so larger errors of the user counter are
    found.
    """

    def change(interval):
        return replace(interval, user_s=factor * interval.user_s)

    law = law_of(1, 40.0, think=PAUSES["exponential"], change=change)
    assert not law.holds
    assert law.residual > 0.10
    assert law_of(1, 40.0, think=PAUSES["exponential"]).holds


def refusing(every, failure_s=5.0, leave_s=44.0):
    """Simulate users who cannot connect in every `every`-th of their transactions, which then fails after `failure_s`.
    If `every` is 0, none fails.
    """
    stream, exchanges, number = np.random.default_rng(3), [], 0
    for user in range(USERS):
        at = 0.0
        while at < leave_s:
            number += 1
            is_refused = every > 0 and number % every == 0
            end = at + (failure_s if is_refused else stream.exponential(0.1))
            think = stream.exponential(0.2)
            exchanges.append(Exchange(0, at, at, end, 0.0, think, user, "connect" if is_refused else None))
            at = end + think
    return exchanges


@pytest.mark.parametrize("failure_s", [0.0, 5.0])
def test_transactions_without_a_response_time_leave_the_law_unchecked(tmp_path, failure_s):
    """The run is correct, but in 2 % of its transactions no connection is made. These end after `failure_s` and have no
    response time.

    The other transactions have a mean cycle of 0.3 s. If failures take 5 s, the mean over all transactions is longer by
    0.02 * 5 s = 0.1 s, so a cycle computed from the others only would be too short by 0.1 / 0.4 = 25 %.
    """
    exchanges = refusing(50, failure_s)
    users = {
        "user_starts": [0.0] * USERS,
        "user_ends": [max(e.end for e in exchanges if e.user == u) for u in range(USERS)],
    }
    stages = [Stage("ramp_up", "ramp_up", 4.0, USERS), Stage("steady", "steady", 40.0, USERS)]
    summary = summarize_run(
        write_run(tmp_path / "r", Script("r", ["read"], stages, exchanges, {}, USERS, **users)), tables=False
    )
    law, verdict = summary["laws"]["little"], summary["verdict"]
    assert law["untimed_share"] == pytest.approx(0.02, abs=0.005)
    assert (law["residual"], law["holds"], summary["audit"]["little_holds"]) == (None, None, None)
    assert "little_law" not in {reason["kind"] for reason in verdict["reasons"]}
    (why,) = (each["why"] for each in verdict["not_checked"] if each["check"] == "little_law")
    assert why.endswith(
        " % of the transactions within the window have no response time, because their connections failed"
    )
    by_timed = law["x_per_s"] * (law["r_s"] + law["z_s"])
    lacks = law["untimed_share"] * failure_s
    assert (law["n"] - by_timed) / law["n"] == pytest.approx(lacks / (lacks + 0.3), abs=0.05)


@pytest.mark.parametrize(("every", "is_checked"), [(0, True), (1100, True), (900, False)])
def test_the_law_is_checked_up_to_one_untimed_transaction_in_a_thousand(every, is_checked):
    """Failures take no time here, so Little's law holds although they have no response time.

    A user counter that is wrong by 15 % is still detected.
    """
    exchanges = refusing(every, 0.0, 150.0)

    def change(interval):
        return replace(interval, user_s=0.85 * interval.user_s)

    for harm, expected in ((lambda interval: interval, True), (change, False)):
        measurement = measured(exchanges, 4.0, 146.0, harm)
        law = laws.little(measurement, measurement.inside(4.0, 150.0))
        assert 0.0 <= law.untimed_share < 0.0013
        assert law.holds is (expected if is_checked else None)
        assert (law.residual is None) is not is_checked


def test_pauses_that_are_not_recorded_one_by_one_have_an_allowance():
    exchanges = cycles(np.random.default_rng(2), one_in_ten_slow, PAUSES["fixed"], 12.0)
    known = measured(exchanges, 4.0, 8.0)
    unknown = measured(exchanges, 4.0, 8.0, lambda interval: replace(interval, thinks=None))
    assert spent_by(known, 6.0, 7.0) == spent_by(known, 6.0, 0.0)
    assert spent_by(unknown, 6.0, 7.0).high_s == pytest.approx(spent_by(unknown, 6.0, 0.0).high_s + 7.0)


def test_a_record_that_ends_with_the_window_bounds_what_is_in_progress_by_the_longest_response_time():
    exchanges = cycles(np.random.default_rng(2), one_in_ten_slow, no_pause, 8.0)
    whole = measured(exchanges, 0.0, 8.0)
    cut = Measurement(
        replace(whole.recording, intervals=[each for each in whole.recording.intervals if each.end_s <= 8.0])
    )
    assert spent_by(cut, 8.0, 0.0) == (0.0, pytest.approx(USERS * 1.0, rel=0.001))
    assert laws.little(cut, cut.inside(0.0, 8.0)).holds
