"""Selects disks so that a sum over them counts each byte once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from towtank.digging import dig

_Disk = TypeVar("_Disk")
_STACKED_NAME = re.compile(r"(loop|dm-|md)\d+")


def is_stacked(name: str, disk: object) -> bool:
    """Return True if a disk is built on other disks or on a file. Another device then counts its bytes as well.

    Runs of older versions of Towtank did not record this. Their disks are recognised by name.
    """
    stacked = dig(disk, "stacked")
    return bool(stacked) if isinstance(stacked, bool) else _STACKED_NAME.fullmatch(name) is not None


def disks_counted_once(disks: Mapping[str, _Disk]) -> dict[str, _Disk]:
    """Return the disks that are not built on other disks, so that a sum over them counts each byte once. If there is no
    such disk, return all disks.
    """
    found = {name: disk for name, disk in disks.items() if not is_stacked(name, disk)}
    return found or dict(disks)
