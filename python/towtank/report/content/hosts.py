"""Builds the section on hosts: assigned and used resources of each host, and of the machine that runs the hosts."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis import HostUse
from towtank.digging import dig
from towtank.report import format as people
from towtank.report.content.extremes import SHOWN_AT_MOST, extremes
from towtank.report.document import Block, Section, Table, headings, paragraph
from towtank.report.source import Results, RunResult


def build(results: Results) -> Section | None:
    """Build the section on hosts; None if no run has hosts."""
    runs = [run for run in results.measured if run.record.hosts]
    if not runs:
        return None
    blocks: list[Block] = [paragraph(sentence(runs)), _hosts(runs), *_networks(runs), *_disks(runs), *_machine(runs)]
    return Section("hosts", "Hosts", tuple(blocks))


def sentence(runs: list[RunResult]) -> str:
    """Return a sentence that compares the CPUs assigned to hosts with the CPUs of the machine."""
    machines = [machine for run in runs if (machine := run.record.machine) is not None]
    ratios = [machine.overcommit for machine in machines if machine.overcommit is not None]
    if not machines:
        return "Each host is a machine with its own probe."
    if not ratios:
        return "All hosts are parts of one machine."
    first = runs[0].record.machine
    real = None if first is None else first.cpus
    promised = people.plain(max(ratios))
    return (
        f"All hosts are parts of one machine and share its {people.plural(int(real or 0), 'CPU')} for the system: "
        f"at most {promised} virtual CPUs were assigned for each real CPU."
    )


def _each(runs: list[RunResult]) -> Iterator[tuple[RunResult, str, HostUse]]:
    for run in runs:
        for name, each in extremes(list(run.record.hosts.items()), lambda host: host[1].cpus_used.value):
            yield run, name, each


def _left_out(runs: list[RunResult]) -> tuple[str, ...]:
    """Return a note on hosts that the table leaves out; empty if it contains all hosts."""
    most = max(len(run.record.hosts) for run in runs)
    if most <= SHOWN_AT_MOST:
        return ()
    return (
        f"The table shows the {SHOWN_AT_MOST} hosts with the least and the most CPU use, of up to {most:,} in a run.",
    )


def _hosts(runs: list[RunResult]) -> Table:
    swaps = any(host.swap_bytes for run in runs for host in run.record.hosts.values())
    rows = tuple(
        (
            run.run_id,
            name,
            people.listing(list(host.tiers)) or people.ABSENT,
            people.plain(host.cpus_allotted),
            people.plain_estimate(host.cpus_used.document()),
            people.share(host.utilization),
            people.share(host.throttled_share),
            people.size(host.memory_bytes),
            people.rate(host.page_cache_refaults_per_s),
            *((people.size(host.swap_bytes), people.rate(host.major_faults_per_s)) if swaps else ()),
        )
        for run, name, host in _each(runs)
    )
    columns = headings(
        "Run",
        "Host",
        "Tiers",
        "#CPUs | may be used",
        "#CPUs used",
        "#Utilization",
        "#Throttled | of periods with CPU use",
        "#Memory | page cache included",
        "#Cache refaults | pages",
        *(("#Swap", "#Major faults") if swaps else ()),
    )
    notes = (
        "Throttled: share of the periods in which a host used up its CPU time and was stopped until the next period.",
    )
    return Table("Assigned and used resources of each host", columns, rows, (*notes, *_left_out(runs)))


def _networks(runs: list[RunResult]) -> list[Block]:
    rows = tuple(
        (
            run.run_id,
            name,
            str(dig(run.manifest, "hosts", name, "link") or people.ABSENT),
            people.size_rate(host.receive_bytes_per_s),
            people.size_rate(host.transmit_bytes_per_s),
            people.rate(host.receive_packets_per_s),
            people.rate(host.transmit_packets_per_s),
            people.count(_dropped(host)),
            people.count(host.tcp.get("listen_overflows")),
            people.count(host.tcp.get("retransmits")),
            people.size(host.socket_memory_bytes),
        )
        for run, name, host in _each(runs)
    )
    if not any(cell != people.ABSENT for row in rows for cell in row[3:]):
        return []
    columns = headings(
        "Run",
        "Host",
        "Link",
        "#Received",
        "#Sent",
        "#Received | packets",
        "#Sent | packets",
        "#Dropped | packets",
        "#Listen overflows | connections",
        "#Retransmitted | segments",
        "#In sockets",
    )
    notes = (
        "Counts are for the window. Listen overflows are connections that no server accepted in time. Packets are "
        "counted at the network device of the host; with segmentation offload, a packet has up to 64 KiB.",
    )
    return [Table("Network of the hosts", columns, rows, notes)]


def _dropped(host: HostUse) -> float | None:
    """Return the number of packets that a host's network device dropped; None if not recorded. [1]"""
    counts = [count for count in (host.receive_drops, host.transmit_drops) if count is not None]
    return sum(counts) if counts else None


def _disks(runs: list[RunResult]) -> list[Block]:
    rows = tuple(
        (
            run.run_id,
            name,
            disk,
            people.size_rate(values.read_bytes_per_s),
            people.size_rate(values.write_bytes_per_s),
            people.rate(values.read_operations_per_s),
            people.rate(values.write_operations_per_s),
            people.share(values.utilization),
            values.utilization_of or people.ABSENT,
            people.share(values.busy_share),
            people.size(values.free_bytes_least),
            people.count(values.free_inodes_least),
        )
        for run, name, host in _each(runs)
        for disk, values in host.disks.items()
    )
    columns = headings(
        "Run",
        "Host",
        "Disk",
        "#Read",
        "#Written",
        "#Reads",
        "#Writes",
        "#Utilization",
        "Measured by",
        "#Busy time",
        "#Smallest free space",
        "#Fewest free inodes",
    )
    return [Table("Disks of the hosts", columns, rows)] if rows else []


def _machine(runs: list[RunResult]) -> list[Block]:
    rows = tuple(
        (
            run.run_id,
            people.plain(machine.cpus),
            people.plain(machine.cpus_virtual),
            people.plain(machine.overcommit),
            people.plain_estimate(machine.cpus_used.document()),
            people.share(machine.throttled_s_per_s),
            people.share(machine.steal),
            # The three tiers that use the most CPU.
            people.listing([f"{each.tier} {people.number(each.cpus_used)}" for each in machine.consumers[:3]])
            or people.ABSENT,
        )
        for run in runs
        if (machine := run.record.machine) is not None
    )
    columns = headings(
        "Run",
        "#Real CPUs | for the system",
        "#Virtual CPUs",
        "#Overcommit | virtual : real",
        "#CPUs used | by all hosts",
        "#Held back | of the window",
        "#Stolen | from this machine",
        "Top consumers | CPUs used",
    )
    return [Table("Resource use of all hosts on the machine", columns, rows)] if rows else []
