"""Checks the disks of hosts for free space, and documents that the system confirmed as stored for losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text
from towtank.analysis.stored import STORED_DAMAGED, count_of
from towtank.analysis.system.entries import HostUse
from towtank.analysis.system.limited_disks import LIMITS
from towtank.digging import dig
from towtank.units import shown

# A disk counts as full if the free share of its space or inodes is at most this. Neither a document nor a folder then
# fits on the disk. [1]
SPENT_SHARE = 0.001
# A disk raises a note if it would be full within this many lengths of the window, at the rate of the window. [1]
SOON_WINDOWS = 10.0
# Any other disk raises a note if the free share of its space or inodes is below this. [1]
LOW_SHARE = 0.05


def disks(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the disks of the hosts had enough free space and free inodes."""
    window = evidence.window
    if window is not None:
        least = evidence.limit("storage_free", SPENT_SHARE)
        yield from full_storage(evidence.summary.hosts, window.end_s - window.start_s, least)


def throttles(evidence: Evidence) -> Iterator[Doubt]:
    """Yield a note for each disk of a host whose speed is limited by a control group. The limit determines the response
    times of the disk.
    """
    for host, disk, limits in throttled_disks(evidence.manifest):
        text = (
            f"the control group limits disk {disk} of host {host} to {limits}, which determines the percentiles of "
            "disk times"
        )
        yield Doubt(DoubtKind.DISK_THROTTLED, DoubtLevel.NOTE, text)


def throttled_disks(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each disk whose speed is limited by a control group: name of the host, name of the disk, and the limits as
    text.

    Parameters
    ----------
    manifest : mapping
        Content of `run.json`.
    """
    for host, facts in (manifest.get("hosts") or {}).items():
        if not isinstance(facts, Mapping):
            continue  # If the run has no other hosts, `hosts` is a text.
        for disk, given in (facts.get("disks") or {}).items():
            limits = [
                _limit(given[key], key, int(dig(given, "images") or 1)) for key in LIMITS if given.get(key) is not None
            ]
            if limits:
                yield str(host), str(disk), ", ".join(limits)


def _limit(value: object, key: str, images: int) -> str:
    """Render a limit of a disk with its unit, summed over all images of the disk. A limit that cannot be parsed is
    returned unchanged.
    """
    try:
        of_one = LIMITS[key].read(value)
    except ValueError:
        return shown(value)
    together = LIMITS[key].text(images * of_one)
    return f"{together} ({images} images of {LIMITS[key].text(of_one)})" if images > 1 else together


def full_storage(hosts: Mapping[str, HostUse], window_s: float, least: float = SPENT_SHARE) -> Iterator[Doubt]:
    """Yield a doubt for each disk of a host with too little free space or too few free inodes.

    Parameters
    ----------
    hosts : dict
        Entry `hosts` of a run summary.
    window_s : float
        Length of the window. [s]
    least : float
        Share of the space and of the inodes that must remain free, in [0, 1]; 0 for a study of full disks.
    """
    for name, host in hosts.items():
        for disk, use in host.disks.items():
            space = _Free("space", use.size_bytes, use.free_bytes_least, use.bytes_full_in_s)
            inodes = _Free("inodes", use.size_inodes, use.free_inodes_least, use.inodes_full_in_s)
            for free, other in ((space, inodes), (inodes, space)):
                yield from _short(f"disk {disk} of host {name}", free, other, SOON_WINDOWS * window_s, least)


class _Free(NamedTuple):
    """Size of a disk and the least that was free [byte or inodes], and the time until it is full [s]."""

    word: str
    size: float | None
    least: float | None
    full_in_s: float | None


def _short(place: str, found: _Free, other: _Free, soon_s: float, least: float) -> Iterator[Doubt]:
    word, size, free, soon = found
    if not size or free is None:  # A file system without a fixed number of inodes reports 0 inodes.
        return
    share = free / size
    if share <= least:
        left = f"had no {word} left: {free:,.0f} of {size:,.0f}"
        if share > SPENT_SHARE:
            left = f"has {percent_text(share)} of its {word} left, limit {percent_text(least)}"
        level = DoubtLevel.SUSPECT if least > 0 else DoubtLevel.NOTE
        yield Doubt(DoubtKind.STORAGE_FULL, level, f"{place} {left}{_meanwhile(other)}", share, least)
    elif soon is not None and soon < soon_s:
        text = (
            f"{place} has {percent_text(share)} of its {word} left: enough for {soon:,.0f} s after the "
            "window at the rate of "
            f"the window, limit {soon_s:,.0f} s{_meanwhile(other)}"
        )
        yield Doubt(DoubtKind.STORAGE_FULL, DoubtLevel.NOTE, text, soon, soon_s, "s")
    elif share < LOW_SHARE:
        text = f"{place} has {percent_text(share)} of its {word} left, limit {percent_text(LOW_SHARE)}"
        text += _meanwhile(other)
        yield Doubt(DoubtKind.STORAGE_FULL, DoubtLevel.NOTE, text, share, LOW_SHARE)


def _meanwhile(other: _Free) -> str:
    """Render the free share of the disk's other resource, inodes or space."""
    size, least = other.size, other.least
    return f", with {percent_text(least / size)} of its {other.word} left" if size and least is not None else ""


def stored(evidence: Evidence) -> Iterator[Doubt]:
    """Check that every document that the system confirmed as stored could be read back unchanged."""
    had_events = any(event.begin_s is not None for event in evidence.study_events)
    yield from lost_or_unknown(evidence.summary.stored, had_events=had_events)


def lost_or_unknown(found: Mapping[str, Any] | None, *, had_events: bool = False) -> Iterator[Doubt]:
    """Yield doubts about lost documents, and about documents that could not be read back.

    Parameters
    ----------
    found : dict or None
        Entry `stored` of a run summary.
    had_events : bool
        True if events of the study disturbed the run. Lost documents are then a result of the study, so they are only
        noted. Changed content always makes the run suspect.
    """
    if found is None:
        return
    stored, reason = f"of {found['acknowledged']} documents confirmed as stored", str(found.get("reason") or "")
    lost, different = (count_of(found, key) or 0.0 for key in ("lost", "different"))
    if lost or different:
        text = f"{stored}, {lost:.0f} are lost"
        text += f" and {different:.0f} changed"
        level = DoubtLevel.NOTE if had_events and not different else DoubtLevel.SUSPECT
        yield Doubt(DoubtKind.STORED_LOST, level, text, lost + different, 0.0)
    unknown = sum(count_of(found, key) or 0.0 for key in ("unreadable", "unread"))
    if unknown:
        text = f"{stored}, {unknown:.0f} could not be read back{reason and ': '}{reason}"
        yield Doubt(DoubtKind.STORED_UNKNOWN, DoubtLevel.SUSPECT, text, unknown, 0.0)
    elif STORED_DAMAGED in reason:
        yield Doubt(DoubtKind.DATA_DAMAGED, DoubtLevel.SUSPECT, reason)
