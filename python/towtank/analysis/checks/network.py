"""Checks of the network: connections that were not taken in time, segments that were sent again."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, Kind, Level, percent

# A lost segment costs 200 ms or more (TCP_RTO_MIN of Linux): with one in 1,000 requests p99.9 is made of them.
RETRANSMITS_SHARE = 1e-3


def listen_queues(evidence: Evidence) -> Iterator[Doubt]:
    """Whether connections found a listen queue full."""
    overflows = evidence.summary["host"]["tcp"]["listen_overflows"]
    if overflows:
        text = f"{overflows:,.0f} connections overflowed a listen queue of this host within the window, limit 0"
        yield Doubt(Kind.LISTEN_OVERFLOW, Level.SUSPECT, text, overflows, 0.0)


def retransmits(evidence: Evidence) -> Iterator[Doubt]:
    """Whether segments were lost, and sent again, often enough to be seen in the tail."""
    counts, window = evidence.summary["host"]["tcp"], evidence.window
    started = evidence.summary["generator"]["requests_started_per_s"]
    if window is None or not started or not counts["retransmits"]:
        return
    # Probes for a lost tail, which Linux sends when an acknowledgement is late, are counted as sent again too; what the
    # other side had already was not lost and cost nobody a wait.
    needless = counts.get("needless_retransmits")
    requests = started * (window.end_s - window.start_s)
    share, lost = counts["retransmits"] / requests, (counts["retransmits"] - (needless or 0.0)) / requests
    if share > RETRANSMITS_SHARE:
        had = "" if needless is None else f" (the other side had {needless:,.0f} of them already)"
        text = (
            f"{counts['retransmits']:,.0f} segments were sent again within the window{had}, {percent(share)} of the "
            f"requests, limit {percent(RETRANSMITS_SHARE)}"
        )
        level = Level.SUSPECT if lost > RETRANSMITS_SHARE else Level.NOTE
        yield Doubt(Kind.RETRANSMITS, level, text, share, RETRANSMITS_SHARE)
