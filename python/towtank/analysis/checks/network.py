"""Checks of the network of this machine and of each host: connections not taken in time, segments sent again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from towtank import units
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, Kind, Level, percent

# A lost segment costs 200 ms or more (TCP_RTO_MIN of Linux): with one in 1,000 requests p99.9 is made of them.
RETRANSMITS_SHARE = 1e-3
HERE = "this machine"


def listen_queues(evidence: Evidence) -> Iterator[Doubt]:
    """Whether connections found a listen queue full."""
    yield from overflowed(counted(evidence.summary))


def retransmits(evidence: Evidence) -> Iterator[Doubt]:
    """Whether segments were lost, and sent again, often enough to be seen in the tail."""
    window, started = evidence.window, evidence.summary["generator"]["requests_started_per_s"]
    if window is not None and started:
        requests = started * (window.end_s - window.start_s)
        yield from sent_again(counted(evidence.summary), requests, asked=loses_packets(evidence.observed.hosts))


@dataclass(frozen=True)
class Counted:
    """What TCP counted in one network within the window.

    Attributes
    ----------
    where : str
        Whose network it is, for people.
    counts : dict
        `tcp` of the machine or of a host in a summary.
    """

    where: str
    counts: dict[str, float | None]


def counted(summary: dict[str, Any]) -> list[Counted]:
    """What was counted in the network of this machine and in that of each host.

    Parameters
    ----------
    summary : dict
        Summary of a run.
    """
    hosts = {f"host {name}": one.get("tcp") for name, one in summary["hosts"].items()}
    return [Counted(where, counts) for where, counts in ({HERE: summary["host"]["tcp"]} | hosts).items() if counts]


def overflowed(networks: list[Counted]) -> Iterator[Doubt]:
    """Each network in which a listen queue overflowed."""
    for one in networks:
        overflows = one.counts.get("listen_overflows")
        if overflows:
            text = f"{overflows:,.0f} connections overflowed a listen queue of {one.where} within the window, limit 0"
            yield Doubt(Kind.LISTEN_OVERFLOW, Level.SUSPECT, text, overflows, 0.0)


def sent_again(networks: list[Counted], requests: float, *, asked: bool) -> Iterator[Doubt]:
    """Each network that sent more segments again than a share of the requests.

    Parameters
    ----------
    networks : list of Counted
    requests : float
        Requests that the generator started within the window, > 0. [1]
    asked : bool
        Whether packets were to be lost.
    """
    for one in networks:
        again = one.counts.get("retransmits")
        if not again or again / requests <= RETRANSMITS_SHARE:
            continue
        # Probes for a lost tail, which Linux sends when an acknowledgement is late, are counted as sent again too;
        # what the other side had already was not lost and cost nobody a wait. The side that sends learns of that.
        needless = one.counts.get("needless_retransmits")
        had = "" if needless is None else f" (the other side had {needless:,.0f} of them already)"
        wanted = "; losses were asked for" if asked else ""
        text = (
            f"{again:,.0f} segments were sent again by {one.where} within the window{had}, "
            f"{percent(again / requests)} of the requests, limit {percent(RETRANSMITS_SHARE)}{wanted}"
        )
        lost = (again - (needless or 0.0)) / requests
        level = Level.SUSPECT if lost > RETRANSMITS_SHARE and not asked else Level.NOTE
        yield Doubt(Kind.RETRANSMITS, level, text, again / requests, RETRANSMITS_SHARE)


def loses_packets(hosts: dict[str, Any]) -> bool:
    """Whether a link of a host was to lose packets; both of its ends then send again what was lost.

    Parameters
    ----------
    hosts : dict
        `hosts` of the manifest of a run.
    """
    return any(_loss(one) > 0 for one in hosts.values() if isinstance(one, dict))


def _loss(host: dict[str, Any]) -> float:
    """Share of the packets that the link of a host was to lose, in [0, 1]."""
    sizes = host.get("sizes")
    network = sizes.get("network") if isinstance(sizes, dict) else None
    try:
        return units.share(network["loss"]) if isinstance(network, dict) else 0.0
    except (KeyError, ValueError):
        return 0.0
