"""Parts of a tier: CPU time that a service reports for an embedded component, such as a database.

A database inside the process of a service is no separate tier, but its share of CPU time matters as much. This module
lists the counters by kind of service. A database in a separate process is a tier and needs no entry.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Part of a tier with its own CPU time.

    Attributes
    ----------
    name : str
        Name in summaries and figures.
    counter : str
        Metric of the service that counts the CPU time of the part, without labels. [s]
    how : str
        Meaning of the counter, for the reader of a report.
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
"""Parts by kind of service."""
