"""Defines the result of reading a file, apart from the individual requests."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.foreign.requests import Summary


@dataclass(frozen=True)
class Found:
    """Result of reading a file; its individual requests are in a `Collector` instead.

    Attributes
    ----------
    summary : Summary or None
        Summary of the file; None for a file of individual requests.
    notes : tuple of str
        Properties of the format that matter for the interpretation of the file's figures.
    not_sent : int
        Requests that the load generator planned and did not send. [1]
    cut : str
        Reason why the file is incomplete; empty if it is complete.
    """

    summary: Summary | None = None
    notes: tuple[str, ...] = ()
    not_sent: int = 0
    cut: str = ""
