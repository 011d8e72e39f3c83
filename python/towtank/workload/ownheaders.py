"""Lists the headers that only the engine sets, each with advice for the author of a workload."""

from __future__ import annotations

_OWNED = {
    "connection": "use defaults.connections (drive: --connections): new_each_time closes a connection after each "
    "response",
    "content-length": "the engine sends the length of the body",
    "transfer-encoding": "the engine sends every body with its length",
}


def owned_header(name: str) -> str | None:
    """Return advice for a header that only the engine may set; None if a workload may set the header."""
    return _OWNED.get(name.lower())
