"""Builds the section that compares requests to storage with the traffic of disks and file servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towtank.analysis import Estimate, Mount
from towtank.digging import dig
from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.document import Block, Section, Table, headings, paragraph
from towtank.report.source import Results, RunResult

# Largest plausible ratio of a cache's size to its limit, which the pages of an open file may exceed. [ratio]
_OVER = 1.25


def build(results: Results) -> Section | None:
    """Build the section on storage; None if no run recorded storage."""
    runs = [run for run in results.measured if run.record.storage is not None]
    if not runs:
        return None
    said = (
        "Requests of the content servers to their storage area, and the traffic of the disks of all hosts of the "
        "provider `namespaces`, in the same window. The two differ because of caches, and because file systems also "
        "write journals and metadata. Brackets contain 95 % confidence intervals."
    )
    blocks: list[Block] = [paragraph(said), _sides(results, runs), *_mounts(results, runs)]
    return Section("storage", "Storage", tuple(blocks))


def _sides(results: Results, runs: list[RunResult]) -> Table:
    columns = headings(
        *heads.columns(results),
        "#Read | asked",
        "#Written | asked",
        "#Calls | asked, /s",
        "#Read | from disks",
        "#Written | to disks",
        "#Reads | of disks, /s",
        "#Writes | of disks, /s",
    )
    rows = tuple(
        (
            *heads.cells(run),
            people.size_rate(_value(storage.asked, "read_bytes_per_s")),
            people.size_rate(_value(storage.asked, "write_bytes_per_s")),
            _rate(storage.asked, "calls_per_s"),
            people.size_rate(_value(storage.reached, "read_bytes_per_s")),
            people.size_rate(_value(storage.reached, "write_bytes_per_s")),
            _rate(storage.reached, "read_operations_per_s"),
            _rate(storage.reached, "write_operations_per_s"),
        )
        for run in runs
        if (storage := run.record.storage) is not None
    )
    return Table("Storage requests and disk traffic", columns, rows)


def _rate(rates: Mapping[str, Estimate], name: str) -> str:
    return people.plain_estimate(rates[name].document()) if name in rates else people.ABSENT


def _value(rates: Mapping[str, Estimate], name: str) -> float | None:
    return rates[name].value if name in rates else None


def _mounts_of(run: RunResult) -> Mapping[str, Mount]:
    return {} if run.record.storage is None else run.record.storage.mounts


def _mounts(results: Results, runs: list[RunResult]) -> list[Block]:
    rows = tuple(row for run in runs for row in _rows(run))
    columns = headings(
        *heads.columns(results),
        "Mount",
        "#Calls | to the mount, /s",
        "#Calls | to its servers, /s",
        "#Cache | of its limit",
        "#Files | in the cache",
        "Server",
        "#Calls | to it, /s",
        "#Share | of reads",
    )
    return [Table("Mounts and their servers", columns, rows, _notes(runs))] if rows else []


def _notes(runs: list[RunResult]) -> tuple[str, ...]:
    """Return a note if the recorded size of a cache is implausible, because it exceeds the limit of the cache."""
    mounts = [mount for run in runs for mount in _mounts_of(run).values()]
    over = any((found.cache_bytes or 0) > _OVER * (found.cache_limit_bytes or float("inf")) for found in mounts)
    note = (
        "If a cache seems to exceed its limit, GlusterFS counts its size wrongly: it removes files without subtracting "
        "their pages. The memory of the mount's tier is the actual size."
    )
    return (note,) if over else ()


def _rows(run: RunResult) -> Iterator[tuple[str, ...]]:
    for name, mount in sorted(_mounts_of(run).items()):
        first = (
            *heads.cells(run),
            _placed(run, name),
            people.plain_estimate(mount.calls_per_s.document()),
            people.plain_estimate(mount.server_calls_per_s.document()),
            _filled(mount),
            people.count(round(mount.cache_files)) if mount.cache_files is not None else people.ABSENT,
        )
        for number, (server, server_counts) in enumerate(mount.servers.items()):
            head = first if number == 0 else ("",) * len(first)
            yield (
                *head,
                server,
                people.plain_estimate(server_counts.calls_per_s.document()),
                people.plain_estimate(server_counts.read_share.document()),
            )


def _placed(run: RunResult, name: str) -> str:
    """Render the name of a mount and, if known, its host."""
    host = dig(run.manifest, "tiers", name, "host")
    return name if host is None else f"{name} on {host}"


def _filled(mount: Mount) -> str:
    used, limit = mount.cache_bytes, mount.cache_limit_bytes
    if used is None or not limit:
        return people.ABSENT
    return f"{people.size(used)} of {people.size(limit)}"
