"""Collects what was recorded about databases after the load: expensive statements, their plans, advice on indexes."""

from __future__ import annotations

from typing import Any

from towtank.analysis.system.tiers import Observed


def databases(observed: Observed) -> dict[str, Any]:
    """Return what was recorded about the database statements of each service, by service name."""
    return {
        name: service.conclusion
        for name, service in sorted(observed.services.items())
        if service.conclusion.get("statements")
    }
