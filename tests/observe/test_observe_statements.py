"""Increase of statement counts since the first scrape, also if the database has reset its counts meanwhile."""

from __future__ import annotations

from towtank.observe.postgresql_plans import Calls, _since


def counted(**calls: tuple[int, float]) -> dict[int, Calls]:
    """Return call counts and times by statement number. For example, `s7=(calls, seconds)` describes statement 7."""
    return {int(name[1:]): Calls(f"SELECT {name}", count, seconds, count) for name, (count, seconds) in calls.items()}


def test_what_was_counted_before_is_taken_off() -> None:
    found = _since(counted(s1=(30, 3.0), s2=(5, 0.5), s3=(7, 0.7)), counted(s1=(10, 1.0), s2=(5, 0.5)))
    assert {number: (calls.calls, calls.seconds) for number, calls in found.items()} == {1: (20, 2.0), 3: (7, 0.7)}


def test_one_that_was_forgotten_is_counted_anew() -> None:
    before = counted(s1=(10, 1.0), s2=(50, 5.0), s3=(4, 0.4))
    found = _since(counted(s1=(30, 3.0), s2=(6, 0.6), s3=(9, 0.1)), before)
    assert {number: (calls.calls, calls.seconds) for number, calls in found.items()} == {
        1: (20, 2.0),
        2: (6, 0.6),
        3: (9, 0.1),
    }


def test_a_database_that_was_killed_has_forgotten_all() -> None:
    before = counted(s1=(10, 1.0), s2=(50, 5.0), s3=(40, 4.0))
    # Most statements have fewer calls than before, so the database has reset its counts. All counts then start from
    # zero, including the count of s1, although it is larger than before.
    found = _since(counted(s1=(12, 1.2), s2=(6, 0.6)), before)
    assert {number: (calls.calls, calls.seconds) for number, calls in found.items()} == {1: (12, 1.2), 2: (6, 0.6)}
