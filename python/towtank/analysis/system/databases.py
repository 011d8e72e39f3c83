"""Conclusions of databases after the load: expensive statements, their plans, advice on indexes."""

from __future__ import annotations

from typing import Any

from towtank.analysis.system.tiers import Observed


def databases(observed: Observed) -> dict[str, Any]:
    """Return the conclusions of the services that have statements, by name of the service."""
    return {
        name: service.conclusion
        for name, service in sorted(observed.services.items())
        if service.conclusion.get("statements")
    }
