"""Sends requests from a bounded queue to a receiver, in a separate thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from towtank.posting import Answer
from towtank.sending.update import Body

QUEUE_AT_MOST = 120
"""Largest number of request bodies in the queue: two minutes at one body per second. [1]"""
AGE_AT_MOST_S = 120.0
"""Largest age of a request body that is sent again after a failure; an older body is dropped. [s]"""
_PAUSES_S = (
    0.5,
    15.0,
)  # First and longest pause between attempts; each pause is twice as long as the previous one. [s]


class Posting(Protocol):
    """Transport that posts request bodies to a receiver."""

    def post(self, content: bytes) -> Answer:
        """Send one request body and return the receiver's answer."""

    def close(self) -> None:
        """Close the connection to the receiver."""

    def abort(self) -> None:
        """Abort the request in progress."""


@dataclass
class Sent:
    """Numbers of accepted requests and data points, of data points that the receiver rejected permanently (`refused`)
    or that were not delivered in time (`dropped`), and of repeated attempts [1]; and the message of the last
    failure.
    """

    requests: int = 0
    points: int = 0
    refused_points: int = 0
    dropped_points: int = 0
    retries: int = 0
    last_error: str | None = None

    @property
    def lost_points(self) -> int:
        """Number of data points that the receiver did not accept. [1]"""
        return self.refused_points + self.dropped_points


class Sender:
    """Sends request bodies in order in a separate thread; `put` never blocks. `note` is called once with a message,
    when sending fails for the first time. The clock returns the monotonic time. [s]
    """

    def __init__(self, transport: Posting, note: Callable[[str], None], clock: Callable[[], float] = time.monotonic):
        self._transport, self._note, self._clock = transport, note, clock
        self._queue: deque[tuple[float, Body]] = deque()
        self._change = threading.Condition()
        self._closing = False
        self._in_hand = 0
        self._cpu_s = 0.0
        self.sent = Sent()
        self._thread = threading.Thread(target=self._run, name="towtank-sending", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, body: Body) -> None:
        """Add a request body to the queue; if the queue is full, drop the oldest body."""
        with self._change:
            if len(self._queue) >= QUEUE_AT_MOST:
                self.sent.dropped_points += self._queue.popleft()[1].points
            self._queue.append((self._clock(), body))
            self._change.notify()

    def finish(self, within_s: float) -> None:
        """Try to send each remaining request body once; drop the bodies that are not sent within `within_s`. [s]"""
        with self._change:
            self._closing = True
            self._change.notify()
        self._thread.join(within_s)
        if self._thread.is_alive():
            self._transport.abort()
            self._thread.join(within_s / 10)
        with self._change:
            left = self._in_hand + sum(body.points for _, body in self._queue)
            self._queue.clear()
            self.sent.dropped_points += left
            self._in_hand = 0

    @property
    def cpu_s(self) -> float:
        """CPU time of the sending thread. [s]"""
        return self._cpu_s

    def _run(self) -> None:
        try:
            while (entry := self._next()) is not None:
                self._deliver(*entry)
                self._cpu_s = time.thread_time()
        finally:
            self._transport.close()

    def _next(self) -> tuple[float, Body] | None:
        with self._change:
            while not self._queue and not self._closing:
                self._change.wait()
            if not self._queue:
                return None
            entry = self._queue.popleft()
            self._in_hand = entry[1].points
            return entry

    def _deliver(self, since_s: float, body: Body) -> None:
        """Send one request body until the receiver accepts or refuses it, or until the body is too old."""
        pause_s = _PAUSES_S[0]
        while True:
            answer = self._transport.post(body.content)
            with self._change:
                if self._ended(answer, body, since_s):
                    self._in_hand = 0
                    return
                self.sent.retries += 1
                self._change.wait_for(lambda: self._closing, pause_s if answer.after_s is None else answer.after_s)
            pause_s = min(2 * pause_s, _PAUSES_S[1])

    def _ended(self, answer: Answer, body: Body, since_s: float) -> bool:
        """Count the receiver's answer to a request body; return True if the body must not be sent again."""
        if answer.message:
            self._complain(answer.message)
        if self._in_hand == 0:  # `finish` has already counted the body as dropped, because its time limit had passed.
            return True
        if answer.taken:
            self.sent.requests += 1
            self.sent.points += body.points - answer.rejected
            self.sent.refused_points += answer.rejected
            return True
        if not answer.again:
            self.sent.refused_points += body.points
            return True
        if self._closing:
            # If this attempt at the end of the run failed, the remaining bodies are dropped without an attempt.
            self.sent.dropped_points += body.points + sum(other.points for _, other in self._queue)
            self._queue.clear()
            return True
        if self._clock() - since_s > AGE_AT_MOST_S:
            self.sent.dropped_points += body.points
            return True
        return False

    def _complain(self, message: str) -> None:
        first = self.sent.last_error is None
        self.sent.last_error = message
        if first:
            self._note(message)
