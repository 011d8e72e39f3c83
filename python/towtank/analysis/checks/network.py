"""Checks the network of this machine and of each host for full listen queues and retransmissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from towtank import units
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.system.entries import Rates
from towtank.digging import dig

# Largest number of retransmissions per request that raises no doubt. A retransmission timeout or a tail loss probe may
# delay a request by 200 ms or more (TCP_RTO_MIN of Linux). If one of 1,000 requests is delayed, the delay determines
# p99.9. [1]
RETRANSMITS_SHARE = 1e-3
HERE = "this machine"


def listen_queues(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no connection attempt was refused or delayed because a listen queue was full."""
    yield from overflowed(counted(evidence.summary))


def retransmits(evidence: Evidence) -> Iterator[Doubt]:
    """Check that retransmissions were too rare to affect the highest percentiles of response times."""
    window, started = evidence.window, evidence.summary.generator.requests_started_per_s
    if window is not None and started:
        requests = started * (window.end_s - window.start_s)
        yield from retransmitted(counted(evidence.summary), requests, asked=loses_packets(evidence.observed.hosts))


@dataclass(frozen=True)
class Counted:
    """TCP counts of one network within the analysed window.

    Attributes
    ----------
    where : str
        Name of the machine or host to which the network belongs, for messages.
    counts : dict
        Entry `tcp` of the machine or host in a run summary.
    """

    where: str
    counts: Rates


def counted(summary: RunSummary) -> list[Counted]:
    """Return the TCP counts in a run summary, for this machine and for each host."""
    hosts = {f"host {name}": host.tcp for name, host in summary.hosts.items()}
    return [Counted(where, counts) for where, counts in ({HERE: summary.host.tcp} | hosts).items() if counts]


def overflowed(networks: list[Counted]) -> Iterator[Doubt]:
    """Yield a doubt for each network in which a full listen queue refused or delayed a connection attempt."""
    for network in networks:
        overflows = network.counts.get("listen_overflows")
        if overflows:
            text = (
                f"{overflows:,.0f} connections overflowed a listen queue of {network.where} within the window, limit 0"
            )
            yield Doubt(DoubtKind.LISTEN_OVERFLOW, DoubtLevel.SUSPECT, text, overflows, 0.0)


def retransmitted(networks: list[Counted], requests: float, *, asked: bool) -> Iterator[Doubt]:
    """Yield a doubt for each network that retransmitted too many segments, relative to the number of requests.

    Parameters
    ----------
    networks : list of Counted
    requests : float
        Requests that the generator started within the window, > 0. [1]
    asked : bool
        True if the study configured packet loss on a link.
    """
    for network in networks:
        again = network.counts.get("retransmits")
        if not again or again / requests <= RETRANSMITS_SHARE:
            continue
        # Linux also counts retransmissions of segments that were not lost. An example is a tail loss probe after a late
        # acknowledgement. Another example is a segment that was assumed to be lost because later segments arrived
        # before it. The receiver reports these duplicates.
        needless, waits = network.counts.get("needless_retransmits"), _waits(network.counts)
        reasons = [] if needless is None else [f"{needless:,.0f} of them unnecessarily: the peer had received them"]
        if waits is not None:
            reasons.append(f"{waits:,.0f} after about 200 ms")
        had = f" ({'; '.join(reasons)})" if reasons else ""
        wanted = "; the study configures packet loss" if asked else ""
        text = (
            f"{network.where} retransmitted {again:,.0f} TCP segments within the window{had}, "
            f"{percent_text(again / requests)} of the requests, limit {percent_text(RETRANSMITS_SHARE)}{wanted}"
        )
        costly = waits if waits is not None else again - (needless or 0.0)
        level = DoubtLevel.SUSPECT if costly / requests > RETRANSMITS_SHARE and not asked else DoubtLevel.NOTE
        yield Doubt(DoubtKind.RETRANSMITS, level, text, again / requests, RETRANSMITS_SHARE)


def _waits(counts: Rates) -> float | None:
    """Return the number of lost segments that TCP retransmitted after a timeout or with a tail loss probe; None if not
    counted. [1]
    """
    timeouts, recoveries = counts.get("timeouts"), counts.get("probe_recoveries")
    return None if timeouts is None or recoveries is None else timeouts + recoveries


def loses_packets(hosts: Mapping[str, object]) -> bool:
    """Return True if the study configured packet loss on the link of any host.

    Both ends of such a link retransmit segments.

    Parameters
    ----------
    hosts : dict
        Entry `hosts` of `run.json`.
    """
    return any(_loss(host) > 0 for host in hosts.values())


def _loss(host: object) -> float:
    """Return the configured packet loss on the link of a host, in [0, 1]; 0 if it is missing or cannot be read."""
    loss = dig(host, "sizes", "network", "loss")
    try:
        return 0.0 if loss is None else units.share(loss)
    except ValueError:
        return 0.0
