"""Selects disks such that a sum over them counts no byte twice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_STACKED_NAME = re.compile(r"(loop|dm-|md)\d+")


def is_stacked(name: str, disk: Mapping[str, Any]) -> bool:
    """Return True if a disk is built on other disks or on a file. The bytes of such a disk are also counted by another
    device.

    Runs of older versions of Towtank did not record this; their disks are recognised by name.
    """
    stacked = disk.get("stacked")
    return bool(stacked) if isinstance(stacked, bool) else _STACKED_NAME.fullmatch(name) is not None


def disks_counted_once(disks: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the disks that are not built on others, so that their sum counts each byte once. If all are built on
    others, return all.
    """
    found = {name: disk for name, disk in disks.items() if not is_stacked(name, disk)}
    return found or dict(disks)
