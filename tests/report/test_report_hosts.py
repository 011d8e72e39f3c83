"""The numbers in the report section on hosts. The section is left out if no host has a configured size."""

from __future__ import annotations

from towtank.report.content import hosts
from towtank.report.document import Table
from towtank.report.source import Results, RunResult

WEB = {
    "tiers": ["content"],
    "cpus_allotted": 0.5,
    "cpus_used": {"value": 0.25, "low": None, "high": None, "confidence": 0.95, "method": "none", "n": 1},
    "utilization": 0.5,
    "throttled_share": 0.4,
    "memory_bytes": 2**27,
    "page_cache_refaults_per_s": None,
    "receive_bytes_per_s": 5000.0,
    "transmit_bytes_per_s": 2048.0,
    "receive_packets_per_s": 12.0,
    "receive_drops": 3.0,
    "tcp": {"listen_overflows": 7.0, "retransmits": None},
    "socket_memory_bytes": 65536.0,
    "disks": {"data": {"write_bytes_per_s": 1024.0, "utilization": 0.2, "free_inodes_least": 60.0}},
}
MACHINE = {
    "cpus": 1,
    "cpus_virtual": 1.5,
    "overcommit": 1.5,
    "cpus_used": WEB["cpus_used"],
    "throttled_s_per_s": None,
    "steal": 0.0,
    "consumers": [{"tier": "content", "host": "web", "cpus_used": 0.25}],
}


def results(**summary: object) -> Results:
    manifest = {"status": "complete", "hosts": {"web": {"link": "veth"}}}
    return Results("results", {}, {}, (RunResult("r001", manifest, {"run": "r001", **summary}),))


def test_what_hosts_were_given_and_used() -> None:
    section = hosts.build(results(hosts={"web": WEB}, machine=MACHINE))
    assert section is not None
    given, network, disks, machine = [block for block in section.blocks if isinstance(block, Table)]
    assert given.rows[0][:8] == ("r001", "web", "content", "0.5", "0.250", "50.0 %", "40.0 %", "128 MiB")
    assert given.rows[0][8] == "–", "an unknown value is shown as a dash, not as zero"
    cells = ("veth", "4.88 KiB/s", "2.00 KiB/s", "12.0 /s", "–", "3", "7", "–", "64.0 KiB")
    assert network.rows == (("r001", "web", *cells),)
    assert disks.rows[0][:3] == ("r001", "web", "data")
    assert disks.rows[0][-1] == "60"
    assert machine.rows[0][1:4] == ("1", "1.5", "1.5")
    assert machine.rows[0][5] == "–"
    assert machine.rows[0][-1] == "content 0.250"


def test_swap_is_shown_if_a_host_swapped() -> None:
    section = hosts.build(results(hosts={"web": {**WEB, "swap_bytes": 2**20, "major_faults_per_s": 40.0}}))
    assert section is not None
    given = next(block for block in section.blocks if isinstance(block, Table))
    assert [column.title for column in given.columns[-2:]] == ["Swap", "Major faults"]
    assert given.rows[0][-2:] == ("1.00 MiB", "40.0 /s")


def test_machines_of_their_own_have_no_machine_below() -> None:
    far = {"tiers": ["content"], "cpus_used": WEB["cpus_used"], "tcp": {"retransmits": 4.0}}
    section = hosts.build(results(hosts={"far": far}, machine=None))
    assert section is not None
    assert [block.caption for block in section.blocks if isinstance(block, Table)] == [
        "Assigned and used resources of each host",
        "Network of the hosts",
    ]
    assert hosts.sentence([RunResult("r001", {}, {"hosts": {"far": far}})]).startswith("Each host is a machine")


def test_of_many_hosts_the_extremes_are_shown() -> None:
    many = {f"server-{number}": {**WEB, "cpus_used": {"value": number / 100}} for number in range(1, 41)}
    section = hosts.build(results(hosts=many, machine=MACHINE))
    assert section is not None
    given = next(block for block in section.blocks if isinstance(block, Table))
    assert [row[1] for row in given.rows] == [f"server-{number}" for number in (*range(1, 7), *range(35, 41))]
    assert (
        given.footnotes[-1] == "The table shows the 12 hosts with the least and the most CPU use, of up to 40 in a run."
    )


def test_no_section_without_such_hosts() -> None:
    assert hosts.build(results(hosts={}, machine=None)) is None
    assert hosts.build(results()) is None
