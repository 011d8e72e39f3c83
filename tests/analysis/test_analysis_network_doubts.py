from __future__ import annotations

from typing import Any

import pytest

from towtank.analysis.checks import network
from towtank.analysis.checks.network import counted, loses_packets, overflowed
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.system.entries import HostUse, MachineUse

QUIET = {"listen_overflows": 0.0, "listen_drops": 0.0, "retransmits": 0.0, "needless_retransmits": 0.0}


def summary(here: dict[str, Any] | None = None, **hosts: dict[str, Any]) -> RunSummary:
    host = MachineUse(tcp={**QUIET, **(here or {})})
    return RunSummary(host=host, hosts={name: HostUse(tcp=counts) for name, counts in hosts.items()})


def retransmitted(whole: RunSummary, *, asked: bool = False) -> list[Doubt]:
    return list(network.retransmitted(counted(whole), 1000.0, asked=asked))


def test_an_overflow_names_the_host_that_had_it() -> None:
    (doubt,) = overflowed(counted(summary(web={**QUIET, "listen_overflows": 3.0}, data=QUIET)))
    assert (doubt.kind, doubt.level, doubt.seen) == (DoubtKind.LISTEN_OVERFLOW, DoubtLevel.SUSPECT, 3.0)
    assert doubt.message == "3 connections overflowed a listen queue of host web within the window, limit 0"


def test_this_machine_and_two_hosts_are_reported_each() -> None:
    counts = {"listen_overflows": 1.0}
    found = overflowed(counted(summary(counts, web=counts, data=counts)))
    assert [doubt.message.split(" of ")[1].split(" within")[0] for doubt in found] == [
        "this machine",
        "host web",
        "host data",
    ]


def test_more_than_one_in_a_thousand_retransmitted_is_too_much() -> None:
    assert retransmitted(summary(web={"retransmits": 1.0})) == []
    (doubt,) = retransmitted(summary(web={"retransmits": 2.0, "needless_retransmits": 0.0}))
    assert (doubt.level, doubt.seen, doubt.limit) == (DoubtLevel.SUSPECT, pytest.approx(0.002), 0.001)
    assert doubt.message == (
        "host web retransmitted 2 TCP segments within the window (0 of them unnecessarily: the peer had received "
        "them), 0.2 % of the requests, limit 0.1 %"
    )


def test_what_was_not_lost_is_noted_only() -> None:
    (doubt,) = retransmitted(summary(web={"retransmits": 5.0, "needless_retransmits": 4.0}))
    assert doubt.level is DoubtLevel.NOTE


def test_retransmissions_without_a_wait_are_noted_only() -> None:
    """Reordered segments look like losses. D-SACK reports most of these retransmissions as unnecessary, but not all."""
    counts = {"retransmits": 400.0, "needless_retransmits": 370.0, "probe_recoveries": 0.0}
    (doubt,) = retransmitted(summary(web={**counts, "timeouts": 1.0}))
    assert doubt.level is DoubtLevel.NOTE
    assert "(370 of them unnecessarily: the peer had received them; 1 after about 200 ms), 40 %" in doubt.message
    (doubt,) = retransmitted(summary(web={**counts, "timeouts": 2.0}))
    assert doubt.level is DoubtLevel.SUSPECT


def test_a_lost_end_that_a_probe_repairs_costs_as_much_as_a_timeout() -> None:
    """Of 4,000 responses with 1 % of lost segments, 41 took 200 ms, but only one timeout was counted. Tail loss probes,
    which take as long, repaired the other losses.
    """
    counts = {"retransmits": 78.0, "needless_retransmits": 36.0, "timeouts": 1.0, "probe_recoveries": 40.0}
    (doubt,) = network.retransmitted(counted(summary(web=counts)), 4000.0, asked=False)
    assert doubt.level is DoubtLevel.SUSPECT
    assert "41 after about 200 ms" in doubt.message


def test_losses_that_were_asked_for_are_noted_and_said_so() -> None:
    (doubt,) = retransmitted(summary(web={"retransmits": 50.0}), asked=True)
    assert doubt.level is DoubtLevel.NOTE
    assert doubt.message.endswith("limit 0.1 %; the study configures packet loss")


def test_what_was_not_counted_raises_no_doubt() -> None:
    unknown = summary(dict.fromkeys(QUIET), web=dict.fromkeys(QUIET), old={})
    unknown.hosts["older"] = HostUse()
    assert [*overflowed(counted(unknown)), *retransmitted(unknown)] == []


@pytest.mark.parametrize(
    ("hosts", "asked"),
    [
        ({"web": {"sizes": {"network": {"loss": "0.5 %"}}}, "data": {"sizes": {}}}, True),
        ({"web": {"sizes": {"network": {"loss": "0 %"}}}}, False),
        ({"web": {"sizes": {"network": {}}}, "far": {"provider": "ssh"}, "odd": "text"}, False),
        ({"web": {"sizes": {"network": {"loss": None}}}}, False),
        ({}, False),
    ],
)
def test_losses_are_asked_for_in_the_sizes_of_a_link(hosts: dict[str, Any], asked: bool) -> None:
    assert loses_packets(hosts) is asked
