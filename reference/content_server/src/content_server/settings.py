"""Defines the settings of a node (server process)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_UNITS = {
    "": 1,
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}


def parse_size(text: str) -> int:
    """Convert a size such as `64MiB` to bytes. [bytes]

    Raises
    ------
    ValueError
        If the text is not a number with an optional unit.

    Examples
    --------
    >>> parse_size("64MiB"), parse_size("1.5 KiB"), parse_size("0")
    (67108864, 1536, 0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"must be a size such as 64MiB, got {text!r}")
    return int(float(match[1]) * _UNITS[match[2]])


@dataclass(frozen=True)
class Settings:
    """Settings of a node; the README explains them."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8080
    database: str = "sqlite"
    storage_area: Path | None = None
    users: Path | None = None
    ldap: str | None = None
    ldap_user_dn: str = "uid={},ou=people,dc=example,dc=org"
    credentials_lifetime: float = 300.0
    threads: int = 16
    database_pool: int = 8
    content_cache_bytes: int = 64 << 20
    handle_cache: int = 256
    drop_index: tuple[str, ...] = ()
    sync: bool = True
    sweep: bool = True
    keep_alive: float = 75.0
    node: str = "node-1"

    @property
    def area(self) -> Path:
        """Directory of the content files."""
        return self.storage_area or self.data / "area"

    @property
    def user_file(self) -> Path:
        """File of users with password hashes."""
        return self.users or self.data / "users.txt"
