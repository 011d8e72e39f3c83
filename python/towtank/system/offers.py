"""Which servers that others wrote this machine has, for `towtank doctor`."""

from __future__ import annotations

from towtank.observe.offers import Offer
from towtank.system.packages import DOWNLOADS, PACKAGES, Need, Package


def examine_services() -> list[Offer]:
    """One point for each kind of server."""
    return [offer_of(need) for need in (*PACKAGES, *DOWNLOADS)]


def offer_of(need: Need) -> Offer:
    """Whether a server is installed or its files are fetched, and the command that does it."""
    name, absent = (need.kind, "not installed") if isinstance(need, Package) else (need.name, "not fetched")
    found = need.found()
    if found is None:
        return Offer(name, "note", None, f"{absent}; for {need.purpose}", need.install)
    return Offer(name, "ok", found, need.purpose)
