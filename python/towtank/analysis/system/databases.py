"""Collects the data about databases that were recorded after the load: expensive statements, their plans, and advice on
indexes.
"""

from __future__ import annotations

from collections.abc import Mapping

from towtank.analysis.system.tiers import Observed


def databases(observed: Observed) -> dict[str, Mapping[str, object]]:
    """Return the recorded data about database statements by service name."""
    return {
        name: service.conclusion
        for name, service in sorted(observed.services.items())
        if service.conclusion.get("statements")
    }
