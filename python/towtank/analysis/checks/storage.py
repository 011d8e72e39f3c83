"""Checks of what is kept: disks of hosts that are full or will be soon, and what was lost of what users had stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, Kind, Level, percent
from towtank.analysis.stored import count_of
from towtank.units import data_rate, format_data_rate, rate, shown

# Below this share nothing of the size of a document or of a folder finds a place. [1]
SPENT_SHARE = 0.001
# A disk that is used up within so many windows is full in a longer stage, or in a run at a higher load. [1]
SOON_WINDOWS = 10.0
# What lasts longer is told where hardly any is left. [1]
LOW_SHARE = 0.05
# Limits of a disk of a host and the functions that render them; `run.json` has them as texts with units.
_LIMITS: dict[str, Callable[[object], str]] = {
    "read_rate": lambda limit: f"{format_data_rate(data_rate(limit))} read",
    "write_rate": lambda limit: f"{format_data_rate(data_rate(limit))} written",
    "read_operations": lambda limit: f"{rate(limit):g} reads/s",
    "write_operations": lambda limit: f"{rate(limit):g} writes/s",
}
_WORDS = {"bytes": "room", "inodes": "inodes"}


def disks(evidence: Evidence) -> Iterator[Doubt]:
    """Whether disks of hosts had room and inodes left."""
    window = evidence.window
    if window is not None:
        yield from full_storage(evidence.summary["hosts"], window.end_s - window.start_s)


def throttles(evidence: Evidence) -> Iterator[Doubt]:
    """Whether disks of hosts were limited by a control group, which shapes their response times."""
    for host, disk, limits in throttled_disks(evidence.manifest):
        text = f"disk {disk} of host {host} is limited by the control group to {limits}: its percentiles are those of "
        yield Doubt(Kind.DISK_THROTTLED, Level.NOTE, f"{text}the throttle")


def throttled_disks(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Return host, disk and limits as text, for each disk of a run that has limits.

    Parameters
    ----------
    manifest : mapping
        `run.json`.
    """
    for host, facts in (manifest.get("hosts") or {}).items():
        if not isinstance(facts, Mapping):
            continue  # a run on this machine alone has a text here, not a mapping
        for disk, given in (facts.get("disks") or {}).items():
            limits = [_limit(given[key], words) for key, words in _LIMITS.items() if given.get(key) is not None]
            if limits:
                yield str(host), str(disk), ", ".join(limits)


def _limit(value: object, words: Callable[[object], str]) -> str:
    """Render a limit; unchanged if it cannot be parsed."""
    try:
        return words(value)
    except ValueError:
        return shown(value)


def full_storage(hosts: dict[str, Any], window_s: float) -> Iterator[Doubt]:
    """Each disk of each host that is short of room or of inodes.

    Parameters
    ----------
    hosts : dict
        `hosts` of a run summary.
    window_s : float
        Length of the window. [s]
    """
    for name, host in hosts.items():
        for disk, values in (host.get("disks") or {}).items():
            for what in _WORDS:
                yield from _short(f"disk {disk} of host {name}", what, values, SOON_WINDOWS * window_s)


def _short(place: str, what: str, values: dict[str, Any], soon_s: float) -> Iterator[Doubt]:
    size, least = values.get(f"size_{what}"), values.get(f"free_{what}_least")
    if not size or least is None:  # a file system without a fixed number of inodes tells zero
        return
    share, soon = least / size, values.get(f"{what}_full_in_s")
    word = _WORDS[what]
    if share <= SPENT_SHARE:
        text = f"{place} had no {word} left: {least:,.0f} of {size:,.0f}{_meanwhile(what, values)}"
        yield Doubt(Kind.STORAGE_FULL, Level.SUSPECT, text, share, SPENT_SHARE)
    elif soon is not None and soon < soon_s:
        text = (
            f"{place} has {percent(share)} of its {word} left, used up {soon:,.0f} s after the window at the rate of "
            f"the window, limit {soon_s:,.0f} s{_meanwhile(what, values)}"
        )
        yield Doubt(Kind.STORAGE_FULL, Level.NOTE, text, soon, soon_s, "s")
    elif share < LOW_SHARE:
        text = f"{place} has {percent(share)} of its {word} left, limit {percent(LOW_SHARE)}{_meanwhile(what, values)}"
        yield Doubt(Kind.STORAGE_FULL, Level.NOTE, text, share, LOW_SHARE)


def _meanwhile(what: str, values: dict[str, Any]) -> str:
    """How much of the other is free: who watches room alone does not see that inodes run out."""
    other = "inodes" if what == "bytes" else "bytes"
    size, least = values.get(f"size_{other}"), values.get(f"free_{other}_least")
    return f", while {percent(least / size)} of its {_WORDS[other]} is free" if size and least is not None else ""


def stored(evidence: Evidence) -> Iterator[Doubt]:
    """Whether all that users were told is stored could be read back as it was."""
    yield from lost_or_unknown(evidence.summary["stored"])


def lost_or_unknown(found: dict[str, Any] | None) -> Iterator[Doubt]:
    """What was lost, and what nobody knows of."""
    if found is None:
        return
    lost, different = (count_of(found, key) or 0.0 for key in ("lost", "different"))
    if lost or different:
        text = f"of {found['told']} that users were told are stored, {lost:.0f} are lost and {different:.0f} different"
        yield Doubt(Kind.STORED_LOST, Level.SUSPECT, text, lost + different, 0.0)
    unknown = sum(count_of(found, key) or 0.0 for key in ("unreadable", "unread"))
    if unknown:
        why = f": {found['reason']}" if found.get("reason") else ""
        text = f"of {found['told']} that users were told are stored, {unknown:.0f} could not be read back{why}"
        yield Doubt(Kind.STORED_UNKNOWN, Level.SUSPECT, text, unknown, 0.0)
