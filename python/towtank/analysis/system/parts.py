"""Parts of a tier: CPU time that a service reports as spent for another purpose than its own.

A database that runs inside the process of a service is no tier of its own, yet its share of CPU time matters as much.
Each kind of service has its counters here; a database that is a process of its own is a tier and needs no entry.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A part of a tier.

    Attributes
    ----------
    name : str
        As in summaries and figures.
    counter : str
        Metric of the service that counts its CPU time, without labels. [s]
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
