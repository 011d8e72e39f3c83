"""Builds the section on hosts: assigned and used resources of each host, and of the machine that runs the hosts."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.digging import dig
from towtank.report import format as people
from towtank.report.content.extremes import SHOWN_AT_MOST, extremes
from towtank.report.document import Block, Column, Section, Table, paragraph
from towtank.report.source import Json, Results, RunResult

_WAYS = ("receive", "transmit")


def build(results: Results) -> Section | None:
    """Build the section on hosts; None if no run has hosts."""
    runs = [run for run in results.measured if run.summary.get("hosts")]
    if not runs:
        return None
    blocks: list[Block] = [paragraph(sentence(runs)), _hosts(runs), *_networks(runs), *_disks(runs), *_machine(runs)]
    return Section("hosts", "Hosts", tuple(blocks))


def sentence(runs: list[RunResult]) -> str:
    """Return a sentence that compares the CPUs assigned to hosts with the CPUs of the machine."""
    ratios = [value for run in runs if isinstance(value := dig(run.summary, "machine", "overcommit"), int | float)]
    if not any(run.summary.get("machine") for run in runs):
        return "Each host is a machine with its own probe."
    if not ratios:
        return "All hosts are parts of one machine."
    real = dig(runs[0].summary, "machine", "cpus")
    promised = people.plain(max(ratios))
    return (
        f"All hosts are parts of one machine and share its {people.plural(int(real or 0), 'CPU')} for the system: "
        f"at most {promised} virtual CPUs were assigned for each real CPU."
    )


def _each(runs: list[RunResult]) -> Iterator[tuple[RunResult, str, Json]]:
    for run in runs:
        listed = [(str(name), each) for name, each in run.summary["hosts"].items()]
        for name, each in extremes(listed, lambda host: dig(host[1], "cpus_used", "value")):
            yield run, name, each


def _left_out(runs: list[RunResult]) -> tuple[str, ...]:
    """Return a note on hosts that the table leaves out; empty if it contains all hosts."""
    most = max(len(run.summary["hosts"]) for run in runs)
    if most <= SHOWN_AT_MOST:
        return ()
    return (
        f"The table shows the {SHOWN_AT_MOST} hosts with the least and the most CPU use, of up to {most:,} in a run.",
    )


def _hosts(runs: list[RunResult]) -> Table:
    swaps = any(dig(host, "swap_bytes") for run in runs for host in run.summary["hosts"].values())
    rows = tuple(
        (
            run.run_id,
            name,
            people.listing([str(tier) for tier in dig(host, "tiers") or ()]) or people.ABSENT,
            people.plain(dig(host, "cpus_allotted")),
            people.plain_estimate(dig(host, "cpus_used")),
            people.share(dig(host, "utilization")),
            people.share(dig(host, "throttled_share")),
            people.size(dig(host, "memory_bytes")),
            people.rate(dig(host, "page_cache_refaults_per_s")),
            *((people.size(dig(host, "swap_bytes")), people.rate(dig(host, "major_faults_per_s"))) if swaps else ()),
        )
        for run, name, host in _each(runs)
    )
    columns = (
        Column("Run"),
        Column("Host"),
        Column("Tiers"),
        Column("CPUs", "may be used", numeric=True),
        Column("CPUs used", numeric=True),
        Column("Utilization", numeric=True),
        Column("Throttled", "of periods with CPU use", numeric=True),
        Column("Memory", "page cache included", numeric=True),
        Column("Cache refaults", "pages", numeric=True),
        *((Column("Swap", numeric=True), Column("Major faults", numeric=True)) if swaps else ()),
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
            *(people.size_rate(host.get(f"{way}_bytes_per_s")) for way in _WAYS),
            *(people.rate(host.get(f"{way}_packets_per_s")) for way in _WAYS),
            people.count(_dropped(host)),
            people.count(dig(host, "tcp", "listen_overflows")),
            people.count(dig(host, "tcp", "retransmits")),
            people.size(host.get("socket_memory_bytes")),
        )
        for run, name, host in _each(runs)
    )
    if not any(cell != people.ABSENT for row in rows for cell in row[3:]):
        return []
    columns = (
        Column("Run"),
        Column("Host"),
        Column("Link"),
        Column("Received", numeric=True),
        Column("Sent", numeric=True),
        Column("Received", "packets", numeric=True),
        Column("Sent", "packets", numeric=True),
        Column("Dropped", "packets", numeric=True),
        Column("Listen overflows", "connections", numeric=True),
        Column("Retransmitted", "segments", numeric=True),
        Column("In sockets", numeric=True),
    )
    notes = (
        "Counts are for the window. Listen overflows are connections that no server accepted in time. Packets are "
        "counted at the network device of the host; with segmentation offload, a packet has up to 64 KiB.",
    )
    return [Table("Network of the hosts", columns, rows, notes)]


def _dropped(host: Json) -> float | None:
    """Return the number of packets that a host's network device dropped; None if not recorded. [1]"""
    counts = [count for way in _WAYS if isinstance(count := host.get(f"{way}_drops"), int | float)]
    return sum(counts) if counts else None


def _disks(runs: list[RunResult]) -> list[Block]:
    rows = tuple(
        (
            run.run_id,
            name,
            str(disk),
            people.size_rate(values.get("read_bytes_per_s")),
            people.size_rate(values.get("write_bytes_per_s")),
            people.rate(values.get("read_operations_per_s")),
            people.rate(values.get("write_operations_per_s")),
            people.share(values.get("utilization")),
            str(dig(values, "utilization_of") or people.ABSENT),
            people.share(dig(values, "busy_share")),
            people.size(values.get("free_bytes_least")),
            people.count(values.get("free_inodes_least")),
        )
        for run, name, host in _each(runs)
        for disk, values in (host.get("disks") or {}).items()
    )
    columns = (
        Column("Run"),
        Column("Host"),
        Column("Disk"),
        Column("Read", numeric=True),
        Column("Written", numeric=True),
        Column("Reads", numeric=True),
        Column("Writes", numeric=True),
        Column("Utilization", numeric=True),
        Column("Measured by"),
        Column("Busy time", numeric=True),
        Column("Smallest free space", numeric=True),
        Column("Fewest free inodes", numeric=True),
    )
    return [Table("Disks of the hosts", columns, rows)] if rows else []


def _machine(runs: list[RunResult]) -> list[Block]:
    rows = tuple(
        (
            run.run_id,
            people.plain(one.get("cpus")),
            people.plain(one.get("cpus_virtual")),
            people.plain(one.get("overcommit")),
            people.plain_estimate(one.get("cpus_used")),
            people.share(one.get("throttled_s_per_s")),
            people.share(one.get("steal")),
            people.listing(_consumers(one)) or people.ABSENT,
        )
        for run in runs
        if (one := run.summary.get("machine"))
    )
    columns = (
        Column("Run"),
        Column("Real CPUs", "for the system", numeric=True),
        Column("Virtual CPUs", numeric=True),
        Column("Overcommit", "virtual : real", numeric=True),
        Column("CPUs used", "by all hosts", numeric=True),
        Column("Held back", "of the window", numeric=True),
        Column("Stolen", "from this machine", numeric=True),
        Column("Top consumers", "CPUs used"),
    )
    return [Table("Resource use of all hosts on the machine", columns, rows)] if rows else []


def _consumers(machine: Json) -> list[str]:
    """Render the three tiers that use the most CPU on the machine, each with its number of used CPUs."""
    first = [each for each in machine.get("consumers") or () if isinstance(each, dict)][:3]
    return [f"{each.get('tier')} {people.number(each.get('cpus_used'))}" for each in first]
