"""Names of the kernel objects and folders of a system: they begin with the prefix of the system."""

from __future__ import annotations

import re
import secrets

PREFIX = re.compile(r"towtank-[0-9a-f]{6}")
"""Pattern of the prefix of a system."""
_GROUP = re.compile(rf"/{PREFIX.pattern}/(?P<host>[^/]+)$")


def new_prefix() -> str:
    """Return a random prefix for the objects of a system."""
    return f"towtank-{secrets.token_hex(3)}"


def host_of_group(group: str) -> str | None:
    """Return the host for which Towtank made a control group; None for a group of another origin.

    Examples
    --------
    >>> host_of_group("/towtank-24efe1/store"), host_of_group("/system.slice/shop.service")
    ('store', None)
    """
    found = _GROUP.search(group)
    return None if found is None else found["host"]
