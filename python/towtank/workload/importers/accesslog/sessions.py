"""Tracks the sessions of clients in an access log, with the gaps between pages and the number of sessions over time."""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import dataclass, field

from towtank.workload.importers.accesslog.lines import Hit
from towtank.workload.importers.accesslog.paths import Key, Patterns, is_asset

# After this time without a request, a client's next request begins a new session. Web analytics use the same limit. [s]
SILENCE = 1800.0
# Shortest gap that counts as a gap between pages. Logged times are whole seconds, so a logged gap of d seconds means a
# gap between d - 1/2 and d + 1/2. [s]
LEAST_GAP = 1.5
# Largest number of concurrent sessions. Beyond this number, the oldest session is ended early. [1]
SESSIONS_AT_MOST = 200_000
# Largest number of gaps between pages that are kept, as a uniform random sample of all gaps (reservoir sampling,
# algorithm R). [1]
GAPS_KEPT = 20_000
# Largest number of intervals in the profile of pages and sessions [1], and initial length of an interval [s]. The
# length is doubled whenever the log needs more intervals.
BUCKETS_AT_MOST = 288
FIRST_BUCKET = 60


@dataclass
class Session:
    """Session of one client, from its first to its last request."""

    start: float
    end: float
    page: Key | None = None
    pages: int = 0


@dataclass
class Profile:
    """Number of pages and of new sessions over time, in intervals of equal length."""

    width: int = FIRST_BUCKET
    pages: dict[int, int] = field(default_factory=dict)
    sessions: dict[int, int] = field(default_factory=dict)

    def add(self, time: float, *, new_session: bool) -> None:
        """Count a page at a given time; also count a session if the page begins a new session."""
        bucket = int(time // self.width)
        self.pages[bucket] = self.pages.get(bucket, 0) + 1
        if new_session:
            self.sessions[bucket] = self.sessions.get(bucket, 0) + 1
        while len(self.pages) > BUCKETS_AT_MOST:
            self.width *= 2
            self.pages, self.sessions = _halved(self.pages), _halved(self.sessions)

    def rates(self) -> list[dict[str, float]]:
        """Return the number of pages and new sessions per second [1/s] in each interval, by time since the first
        interval [s].
        """
        first = min(self.pages, default=0)
        return [
            {
                "t_s": (bucket - first) * self.width,
                "pages_per_s": round(count / self.width, 6),
                "sessions_per_s": round(self.sessions.get(bucket, 0) / self.width, 6),
            }
            for bucket, count in sorted(self.pages.items())
        ]


def _halved(counts: dict[int, int]) -> dict[int, int]:
    halved: dict[int, int] = {}
    for bucket, count in counts.items():
        halved[bucket // 2] = halved.get(bucket // 2, 0) + count
    return halved


class Sessions:
    """Assigns the requests of an access log to the sessions of its clients, in the order of the lines."""

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        self.active: OrderedDict[tuple[str, str], Session] = OrderedDict()
        self.profile = Profile()
        self.gaps: list[float] = []
        self.gap_count = 0
        self.gap_sum = 0.0
        self.ended = 0
        self.cut = 0
        self.pages = 0
        # Number of requests for static files by clients that had requested no page before.
        self.lonely = 0
        self.with_response_time = 0
        self.durations = 0.0
        self.first: float | None = None
        self.last = 0.0
        # The seed of the random sample is constant, so that the same log always gives the same workload.
        self._random = random.Random(1)

    def add(self, hit: Hit) -> None:
        """Assign a request to the session of its client."""
        self.first = hit.start if self.first is None else min(self.first, hit.start)
        self.last = max(self.last, hit.end)
        self._end_silent()
        who = (hit.client, hit.agent)
        session = self.active.get(who)
        if session is not None and hit.start - session.end >= SILENCE:
            self._end(self.active.pop(who))
            session = None
        if is_asset(hit.url):
            self._asset(hit, session)
            return
        new = session is None
        if session is None:
            session = self.active[who] = Session(hit.start, hit.start)
        elif hit.start - session.end >= LEAST_GAP:
            self._gap(hit.start - session.end)
        self.pages += 1
        self.with_response_time += hit.response_time is not None
        self.profile.add(hit.start, new_session=new)
        session.page = self.patterns.add(hit)
        session.pages += 1
        session.end = max(session.end, hit.end)
        self.active.move_to_end(who)

    def finish(self) -> None:
        """End all sessions that are still open at the end of the log."""
        while self.active:
            self._end(self.active.popitem(last=False)[1])

    def _asset(self, hit: Hit, session: Session | None) -> None:
        """Count a static file for the last page of its session. If its client has no session with a page, count it as
        a file without a page.
        """
        if session is None or session.page is None:
            self.lonely += 1
            return
        session.end = max(session.end, hit.end)
        pattern = self.patterns.find(session.page)
        if pattern is not None and hit.status < 400:
            pattern.add_asset(hit.url)

    def _end_silent(self) -> None:
        """End the sessions without a request for `SILENCE` seconds. If more than `SESSIONS_AT_MOST` remain, also end
        the oldest sessions.
        """
        while self.active:
            session = next(iter(self.active.values()))
            crowded = len(self.active) > SESSIONS_AT_MOST
            if not crowded and self.last - session.end < SILENCE:
                return
            self.cut += crowded
            self._end(self.active.popitem(last=False)[1])

    def _end(self, session: Session) -> None:
        self.ended += 1
        self.durations += session.end - session.start

    def _gap(self, gap: float) -> None:
        self.gap_count += 1
        self.gap_sum += gap
        spread = gap + self._random.random() - 0.5
        if len(self.gaps) < GAPS_KEPT:
            self.gaps.append(spread)
            return
        place = self._random.randrange(self.gap_count)
        if place < GAPS_KEPT:
            self.gaps[place] = spread
