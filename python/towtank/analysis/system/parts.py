"""Lists the parts of tiers: embedded components, such as a database, whose CPU time a service reports.

A database inside the process of a service is not a separate tier, but its CPU time matters as much. This module lists
the counters of such parts by kind of service. A database in a separate process is a tier, so it is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Embedded component (part) of a tier whose CPU time is known separately.

    Attributes
    ----------
    name : str
        Name of the part in summaries and diagrams.
    counter : str
        Name without labels of the metric that counts the CPU time of the part. [s]
    how : str
        Meaning of the counter, for reports.
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
"""Parts (embedded components) whose CPU time a service may report, by kind of service."""
