"""Defines the interface of scrapers, which read metrics of one service."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from towtank.errors import TargetError


class ScrapeError(TargetError):
    """Raised if a service did not return its metrics.

    The error is recorded in the stream of the service, and never makes the run fail.
    """


class Scraper(Protocol):
    """Scraper that reads the metrics of one service, whose name is that of its stream in the run folder, from a source.
    All methods are called from one thread.
    """

    service: str
    kind: str
    source: str

    def scrape(self) -> dict[str, float]:
        """Read all metrics of the service once; connect to the service first if necessary.

        Returns
        -------
        dict of str to float
            Finite numbers by series name in the style of Prometheus, `name{label="value"}`. Names of counters end
            in `_total`, `_count`, `_sum` or `_bucket`. Metrics that the service does not report are left out.

        Raises
        ------
        ScrapeError
            If no response arrives within about a second, or the response cannot be parsed. The next call opens a new
            connection.
        """

    def close(self) -> None:
        """Close the connection to the service; may be called at any time, and more than once."""


@runtime_checkable
class Concluding(Protocol):
    """Scraper that can also report results about the whole run after the load."""

    def conclude(self) -> dict[str, object]:
        """Return the results about the whole run as a JSON object. This takes about five seconds at most.

        Raises
        ------
        ScrapeError
            If the service does not respond.
        """


def number_in(name: str, text: str) -> float:
    """Return the number in the value of a field; raise `ScrapeError` if the value is not a number."""
    try:
        return float(text)
    except ValueError:
        raise ScrapeError(f"{name} must be a number, got {text[:40]!r} instead") from None


def series_name(name: str, **labels: str) -> str:
    """Return the name of a series with its labels, escaped as in the Prometheus text format.

    Examples
    --------
    >>> series_name("connections", state="active")
    'connections{state="active"}'
    >>> series_name("connections")
    'connections'
    """
    if not labels:
        return name
    escaped = (f'{key}="{_escape(value)}"' for key, value in labels.items())
    return f"{name}{{{','.join(escaped)}}}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
