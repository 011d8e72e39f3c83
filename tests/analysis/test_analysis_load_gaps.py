"""Gaps without requests in results files of other tools.

Causes are joined runs, changes of the clock, wrong time stamps and wrong units.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from known_requests import write_csv

from towtank.analysis.doubts import seconds
from towtank.analysis.judgement import Judged, judge_file, judging
from towtank.analysis.judgement.pausing import pauses_of
from towtank.errors import StudyError
from towtank.foreign import Requests

RATE = 200.0


def requests(starts, elapsed) -> Requests:
    order = np.argsort(starts, kind="stable")
    starts, elapsed = np.asarray(starts, dtype=float)[order], np.asarray(elapsed, dtype=float)[order]
    count = len(starts)
    return Requests(starts - starts[0], elapsed, np.ones(count, bool), np.zeros(count, np.int64), ("",))


def poisson(rng, count=3000, rate=RATE, mean_s=0.005):
    """Return start and response times of requests of a Poisson process."""
    return np.cumsum(rng.exponential(1 / rate, count)), mean_s * rng.lognormal(0, 0.5, count)


def gap(found: Judged):
    return next((doubt for doubt in found.doubts if doubt.kind == "load_gap"), None)


def joined(shift_s: float) -> Requests:
    rng = np.random.default_rng(8)
    (first, some), (second, others) = poisson(rng), poisson(rng)
    return requests(np.concatenate([first, second + shift_s]), np.concatenate([some, others]))


def moved(place: int, to_s: float) -> Requests:
    starts, elapsed = poisson(np.random.default_rng(8), 6000)
    starts[place] += to_s
    return requests(starts, elapsed)


@pytest.mark.parametrize(
    ("made", "end"),
    [
        (joined(600), "600 s"),
        (joined(60), "60 s"),
        (joined(86_400), "86,400 s"),
        (moved(-1, 86_400), "86,430 s"),
        (moved(100, -1.7e9), "1,700,000,000 s"),
    ],
    ids=["10 min apart", "1 min apart", "a day apart", "last row a day late", "one stamp of 0"],
)
def test_a_gap_makes_a_file_invalid_and_is_named(made: Requests, end: str, tmp_path: Path) -> None:
    """If the gap were not detected, the rate would be between 3.5e-6 and 80 /s instead of 200 /s."""
    found = judge_file(write_csv(tmp_path / "requests.csv", made))
    doubt = gap(found)
    assert (found.verdict, str(doubt.level)) == ("invalid", "invalid")
    before = int(np.argmax(np.diff(made.start_s)))
    # The pause begins at the end of the last request before it, some milliseconds after the start of that request.
    start = float(made.end_s[: before + 1].max())
    assert f"from {seconds(start)} to {end} after" in doubt.message
    assert "judge each part" in doubt.hint


def test_a_stray_row_may_have_a_wrong_stamp(tmp_path: Path) -> None:
    doubt = gap(judge_file(write_csv(tmp_path / "requests.csv", moved(-1, 86_400))))
    assert "(requests: 1 after the last pause; check their time stamps)" in doubt.message
    assert "stamps" not in gap(judge_file(write_csv(tmp_path / "requests.csv", joined(600)))).message


def test_two_runs_beside_stray_requests_between_them_are_invalid(tmp_path: Path) -> None:
    """A pause between two runs is detected although one stray request every 10 s divides it into short gaps."""
    made = joined(600)
    starts = np.concatenate([made.start_s, np.arange(20, 595, 10.0)])
    elapsed = np.concatenate([made.elapsed_s, np.full(58, 0.005)])
    pinged = requests(starts, elapsed)
    assert pauses_of(pinged) is not None
    assert str(gap(judge_file(write_csv(tmp_path / "requests.csv", pinged))).level) == "invalid"


def sizes(rng) -> int:
    return int(np.exp(rng.uniform(np.log(50), np.log(10_000))))


def independent(rng) -> Requests:
    return requests(*poisson(rng, sizes(rng), 10 ** rng.uniform(-3, 4), 10 ** rng.uniform(-3, 0)))


def modulated(rng) -> Requests:
    """Return arrivals whose rate alternates between 100 and 10 /s, each for an exponential time."""
    count, mean_s, now, starts = sizes(rng), rng.choice([1.0, 10.0, 60.0]), 0.0, []
    for turn in range(10 * count):
        length = rng.exponential(mean_s)
        starts.extend(now + np.sort(rng.uniform(0, length, rng.poisson((100, 10)[turn % 2] * length))))
        now += length
        if len(starts) >= count:
            break
    return requests(starts[:count], 0.01 * rng.lognormal(0, 0.5, count))


def ramped(rng) -> Requests:
    """Return arrivals at a rate that rises from zero with time; in half of the files it falls to zero instead."""
    starts = np.sqrt(np.cumsum(rng.exponential(1, sizes(rng)))) * 10 ** rng.uniform(-2, 3)
    starts = starts[-1] - starts[::-1] if rng.random() < 0.5 else starts
    return requests(starts, 0.01 * rng.lognormal(0, 0.5, len(starts)))


def thinking(rng) -> Requests:
    """Return requests of users with exponential think times, who start at time 0 or within ten seconds."""
    count, users = sizes(rng), int(np.exp(rng.uniform(0, np.log(200))))
    turns, think_s = count // users + 2, 10 ** rng.uniform(-1, 1.5)
    elapsed = 10 ** rng.uniform(-3, 0) * rng.lognormal(0, 0.6, (users, turns))
    cycles = elapsed + rng.exponential(think_s, (users, turns))
    starts = rng.uniform(0, rng.choice([0.0, 10.0]), (users, 1)) + np.cumsum(cycles, axis=1) - cycles
    chosen = np.argsort(starts, axis=None)[:count]
    return requests(starts.ravel()[chosen], elapsed.ravel()[chosen])


def in_whole_seconds(rng) -> Requests:
    made = independent(rng)
    return requests(np.floor(made.start_s), made.elapsed_s)


@pytest.mark.parametrize("make", [independent, modulated, ramped, thinking, in_whole_seconds])
def test_a_load_without_gaps_has_no_doubt(make) -> None:
    """Each kind of load is tested with 1,000 files of 50 to 10,000 requests."""
    rng = np.random.default_rng(1)
    for number in range(1000):
        made = make(rng)
        window = judging.steady_window(made)
        assert not gaps_in(made, window), f"gap in file {number}, which has {len(made)} requests"


def gaps_in(made: Requests, window) -> list:
    inside = made.chosen((made.start_s >= window.start_s) & (made.start_s <= window.end_s))
    observed = judging.observations_of(inside, window.start_s, window.end_s)
    return list(judging.doubting.of_pauses(made, window, observed))


def waves(count: int, users: int = 100, think_s: float = 20.0) -> Requests:
    """Return requests of users who all start within one second and then think for the same fixed time, so that requests
    come in waves.
    """
    rng = np.random.default_rng(3)
    starts = np.concatenate([wave * think_s + np.sort(rng.uniform(0, 1, users)) for wave in range(count)])
    return requests(starts, 0.005 * rng.lognormal(0, 0.5, len(starts)))


@pytest.mark.parametrize(("count", "level"), [(5, "suspect"), (30, "note")])
def test_users_who_come_in_waves_are_not_called_invalid(count: int, level: str) -> None:
    made = waves(count)
    (doubt,) = gaps_in(made, judging.steady_window(made))
    assert str(doubt.level) == level
    assert f"{count - 1} pauses" in doubt.message


def test_a_gap_before_the_window_is_a_note() -> None:
    made = joined(600)
    window = judging.steady_window(made)
    window.start_s = 601.0
    (doubt,) = gaps_in(made, window)
    assert str(doubt.level) == "note"


def test_a_pause_does_not_switch_the_test_of_response_times_off(tmp_path: Path) -> None:
    """Response times rise threefold, and during a pause of one second there are no requests. The rise must be detected
    despite the pause.
    """
    starts, elapsed = poisson(np.random.default_rng(8), 6000)
    elapsed *= 1 + 2 * starts / starts[-1]
    starts[3001:] += 1.0
    found = judge_file(write_csv(tmp_path / "requests.csv", requests(starts, elapsed)))
    assert any(doubt.kind == "no_steady_state" and "response time" in doubt.message for doubt in found.doubts)


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds")])
def test_starts_of_another_unit_are_refused_with_its_name(factor: float, unit: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("start_s,elapsed_ms\n" + "".join(f"{(1.7e9 + second) * factor:.0f},5\n" for second in range(50)))
    with pytest.raises(StudyError, match=f"start_s: must be in seconds, got {unit} since 1970"):
        judge_file(path)


def test_seconds_since_1970_are_read(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("start_s,elapsed_ms\n" + "".join(f"{1.7e9 + second:.0f},5\n" for second in range(50)))
    assert judge_file(path).requests == 50
