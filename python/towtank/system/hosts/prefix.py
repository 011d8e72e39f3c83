"""Defines the prefix with which the names of all kernel objects and folders of a system begin."""

from __future__ import annotations

import re
import secrets

PREFIX = re.compile(r"towtank-[0-9a-f]{6}")
"""Pattern of a prefix."""
_GROUP = re.compile(rf"/{PREFIX.pattern}/(?P<host>[^/]+)$")


def new_prefix() -> str:
    """Return a random prefix for the names of a system's objects."""
    return f"towtank-{secrets.token_hex(3)}"


def host_of_group(group: str) -> str | None:
    """Return the host for which Towtank created a control group; None if another program created the group.

    Examples
    --------
    >>> host_of_group("/towtank-24efe1/store"), host_of_group("/system.slice/shop.service")
    ('store', None)
    """
    found = _GROUP.search(group)
    return None if found is None else found["host"]
