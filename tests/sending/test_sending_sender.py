"""The queue of points for a receiver has a limited length, keeps the order of points, and counts every point as sent or
lost.
"""

from __future__ import annotations

import threading
from dataclasses import asdict

import pytest

from towtank.posting import Answer
from towtank.sending import sender as module
from towtank.sending.sender import AGE_AT_MOST_S, QUEUE_AT_MOST, Sender
from towtank.sending.update import Body

TAKEN = Answer(True)
BUSY = Answer(False, again=True, after_s=0.0, message="status 503")
GONE = Answer(False, again=True, message="Connection refused")
BAD = Answer(False, message="status 400: no")


class Script:
    """Stand-in for a receiver: it gives the listed responses, then repeats the last one. It can block until the test
    releases it.
    """

    def __init__(self, *answers):
        self.answers, self.bodies = list(answers), []
        self.free = threading.Event()
        self.free.set()
        self.posted = threading.Semaphore(0)
        self.aborted = self.closed = False

    def post(self, content):
        self.bodies.append(content)
        self.posted.release()
        self.free.wait(20)
        if self.aborted:
            return GONE
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def close(self):
        self.closed = True

    def abort(self):
        self.aborted = True
        self.free.set()


@pytest.fixture
def started():
    def start(script, clock=None):
        notes = []
        sender = Sender(script, notes.append, *([clock] if clock else []))
        sender.start()
        return sender, notes

    return start


def points(sender):
    return sender.sent.points + sender.sent.lost_points


def test_bodies_are_sent_in_order_and_counted(started):
    script = Script(TAKEN)
    sender, notes = started(script)
    for number in range(5):
        sender.put(Body(b"%d" % number, 10))
    sender.finish(10)
    assert script.bodies == [b"0", b"1", b"2", b"3", b"4"]
    assert asdict(sender.sent) == {
        "requests": 5, "points": 50, "refused_points": 0, "dropped_points": 0, "retries": 0, "last_error": None,
    }  # fmt: skip
    assert (notes, script.closed) == ([], True)


def test_a_busy_receiver_is_asked_again_with_the_same_body(started):
    script = Script(BUSY, BUSY, TAKEN)
    sender, notes = started(script)
    sender.put(Body(b"a", 3))
    for _ in range(3):
        assert script.posted.acquire(timeout=20)
    sender.finish(10)
    assert script.bodies == [b"a"] * 3
    assert (sender.sent.points, sender.sent.retries, sender.sent.lost_points) == (3, 2, 0)
    assert notes == ["status 503"]


def test_what_is_refused_is_not_asked_again(started):
    script = Script(BAD, TAKEN)
    sender, notes = started(script)
    sender.put(Body(b"a", 3))
    sender.put(Body(b"b", 4))
    sender.finish(10)
    assert script.bodies == [b"a", b"b"]
    assert (sender.sent.points, sender.sent.refused_points, sender.sent.last_error) == (4, 3, "status 400: no")
    assert notes == ["status 400: no"]


def test_part_of_a_body_may_be_refused(started):
    sender, _ = started(Script(Answer(True, rejected=2, message="2 data points dropped: too old")))
    sender.put(Body(b"a", 5))
    sender.finish(10)
    assert (sender.sent.points, sender.sent.refused_points) == (3, 2)


def test_a_full_queue_drops_the_oldest_and_never_waits(started):
    script = Script(TAKEN)
    script.free.clear()
    sender, _ = started(script)
    sender.put(Body(b"first", 1))
    assert script.posted.acquire(timeout=20)
    for number in range(QUEUE_AT_MOST + 30):
        sender.put(Body(b"%d" % number, 1))
    script.free.set()
    sender.finish(20)
    assert script.bodies[1] == b"30"
    assert (sender.sent.dropped_points, sender.sent.points) == (30, QUEUE_AT_MOST + 1)


def test_who_does_not_answer_at_the_end_is_not_waited_for(started):
    script = Script(TAKEN)
    script.free.clear()
    sender, _ = started(script)
    for _ in range(4):
        sender.put(Body(b"a", 5))
    assert script.posted.acquire(timeout=20)
    sender.finish(0.2)
    assert script.aborted
    assert (sender.sent.dropped_points, sender.sent.points, points(sender)) == (20, 0, 20)


def test_the_end_tries_once_more_and_drops_the_rest(started, monkeypatch):
    monkeypatch.setattr(module, "_PAUSES_S", (60.0, 60.0))
    script = Script(GONE)
    sender, notes = started(script)
    for _ in range(4):
        sender.put(Body(b"a", 5))
    assert script.posted.acquire(timeout=20)
    sender.finish(20)
    assert 1 <= len(script.bodies) <= 2
    assert (sender.sent.dropped_points, sender.sent.last_error) == (20, "Connection refused")
    assert notes == ["Connection refused"]


def test_an_old_body_is_given_up_for_newer_ones(started, monkeypatch):
    monkeypatch.setattr(module, "_PAUSES_S", (0.0, 0.0))
    now = [0.0]
    script = Script(GONE, GONE, TAKEN)
    script.free.clear()
    sender, _ = started(script, lambda: now[0])
    sender.put(Body(b"old", 1))
    assert script.posted.acquire(timeout=20)
    now[0] = AGE_AT_MOST_S + 1
    sender.put(Body(b"new", 1))
    script.free.set()
    for _ in range(2):
        assert script.posted.acquire(timeout=20)
    sender.finish(20)
    assert script.bodies == [b"old", b"new", b"new"]
    assert (sender.sent.dropped_points, sender.sent.points) == (1, 1)
