"""What a scraper is: something that asks one service for numbers."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from towtank.errors import TargetError


class ScrapeError(TargetError):
    """A service did not tell what it was asked for; recorded as a line, never shown as an error of a run."""


class Scraper(Protocol):
    """Asks one service. All methods are called from one and the same thread.

    Attributes
    ----------
    service : str
        Name of the service in the system file, and of its stream in the run folder.
    kind : str
        Kind of the service.
    source : str
        How it is asked: the name of the scraper in the registry.
    """

    service: str
    kind: str
    source: str

    def scrape(self) -> dict[str, float]:
        """Ask once; connects where there is no connection yet.

        Returns
        -------
        dict of str to float
            Finite numbers by name, Prometheus style: `name{label="value"}`; counters end in `_total`, `_count`,
            `_sum` or `_bucket`. What the service does not tell is left out.

        Raises
        ------
        ScrapeError
            If there was no answer within about a second, or one that cannot be understood. The next call starts
            from a new connection.
        """

    def close(self) -> None:
        """Let go of the connection; may be called at any time, and more than once."""


@runtime_checkable
class Concluding(Protocol):
    """A scraper that has something to say of the whole run, asked once when the load has ended."""

    def conclude(self) -> dict[str, Any]:
        """What there is to say, as it stands in the stream; within about five seconds.

        Raises
        ------
        ScrapeError
            If the service does not tell.
        """


def series(name: str, **labels: str) -> str:
    """Name of a series with its labels, escaped as in the Prometheus text format.

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
