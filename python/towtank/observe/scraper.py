"""Interface of scrapers, which read numbers from one service."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from towtank.errors import TargetError


class ScrapeError(TargetError):
    """A service did not return its metrics; recorded in the stream, and never an error of the run."""


class Scraper(Protocol):
    """Reads one service. All methods are called from the same thread.

    Attributes
    ----------
    service : str
        Name of the service in the system file, and of its stream in the run folder.
    kind : str
        Kind of the service.
    source : str
        Name of the scraper in the registry.
    """

    service: str
    kind: str
    source: str

    def scrape(self) -> dict[str, float]:
        """Read all numbers once; connect first if necessary.

        Returns
        -------
        dict of str to float
            Finite numbers by name, Prometheus style: `name{label="value"}`; counters end in `_total`, `_count`,
            `_sum` or `_bucket`. Numbers that the service does not report are left out.

        Raises
        ------
        ScrapeError
            If no answer arrives within about a second, or the answer cannot be parsed. The next call starts
            from a new connection.
        """

    def close(self) -> None:
        """Close the connection; may be called at any time, and more than once."""


@runtime_checkable
class Concluding(Protocol):
    """A scraper that also returns results about the whole run, read once after the load."""

    def conclude(self) -> dict[str, Any]:
        """Return the results, as they are stored in the stream; within about five seconds.

        Raises
        ------
        ScrapeError
            If the service does not answer.
        """


def series(name: str, **labels: str) -> str:
    """Return the name of a series with its labels, escaped as in the Prometheus text format.

    Examples
    --------
    >>> series("connections", state="active")
    'connections{state="active"}'
    >>> series("connections")
    'connections'
    """
    if not labels:
        return name
    escaped = (f'{key}="{_escape(value)}"' for key, value in labels.items())
    return f"{name}{{{','.join(escaped)}}}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
