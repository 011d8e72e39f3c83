"""Selects the disks that a sum over all disks includes, so that no byte counts twice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_STACKED_NAME = re.compile(r"(loop|dm-|md)\d+")


def is_stacked(name: str, disk: Mapping[str, Any]) -> bool:
    """Return True if a disk is built on other disks or on a file, so that another device counts the same bytes.

    Runs of older versions did not record this, so the name of the disk decides in such runs.
    """
    stacked = disk.get("stacked")
    return bool(stacked) if isinstance(stacked, bool) else _STACKED_NAME.fullmatch(name) is not None


def counted_once(disks: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the disks whose sum counts each byte once, that is, all disks that are not built on others. If all are,
    return all.
    """
    found = {name: disk for name, disk in disks.items() if not is_stacked(name, disk)}
    return found or dict(disks)
