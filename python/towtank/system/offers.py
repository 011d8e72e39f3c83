"""Which servers that others wrote this machine has, for `towtank doctor`."""

from __future__ import annotations

from towtank.observe.offers import Offer
from towtank.system.packages import PACKAGES, Package


def examine_services() -> list[Offer]:
    """One point for each kind of server."""
    return [offer_of(package) for package in PACKAGES]


def offer_of(package: Package) -> Offer:
    """Whether a server is installed, and the command that installs it."""
    found = package.found()
    if found is None:
        return Offer(package.kind, "note", None, f"not installed; for {package.purpose}", package.install)
    return Offer(package.kind, "ok", found, package.purpose)
