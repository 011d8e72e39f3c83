"""Headers that the engine sets itself, and what to do in place of setting them."""

from __future__ import annotations

_OWNED = {
    "connection": "use defaults.connections (drive: --connections): new_each_time closes a connection after its answer",
    "content-length": "the engine sends the length of the body",
    "transfer-encoding": "the engine sends every body with its length",
}


def owned_header(name: str) -> str | None:
    """What to do in place of setting a header; None where it may be set."""
    return _OWNED.get(name.lower())
