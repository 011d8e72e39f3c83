"""Defines the parts of a tier: embedded components, such as a database, whose CPU time a service reports.

A database inside the process of a service is no separate tier, but its share of CPU time matters as much. This module
lists the counters of such parts, by kind of service. A database in a separate process is a tier and is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Part of a tier whose CPU time is known separately.

    Attributes
    ----------
    name : str
        Name in summaries and figures.
    counter : str
        Metric, without labels, in which the service counts the CPU time of the part. [s]
    how : str
        Meaning of the counter, as reports explain it.
    """

    name: str
    counter: str
    how: str


PARTS: dict[str, tuple[Part, ...]] = {
    "content_server": (
        Part(
            "database",
            "content_server_database_cpu_seconds_total",
            "CPU time of the server's threads inside database calls",
        ),
    ),
}
"""Parts (embedded components) of a tier that a service may report, by kind of service."""
