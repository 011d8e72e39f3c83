"""Collects findings about databases after the load: expensive statements, their plans, advice on indexes."""

from __future__ import annotations

from typing import Any

from towtank.analysis.system.tiers import Observed


def databases(observed: Observed) -> dict[str, Any]:
    """Return the findings about each service that recorded database statements, by service name."""
    return {
        name: service.conclusion
        for name, service in sorted(observed.services.items())
        if service.conclusion.get("statements")
    }
