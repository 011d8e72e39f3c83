"""Result of the reader of a form, beside the rows."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.foreign.requests import Summary


@dataclass(frozen=True)
class Found:
    """Result of a reader.

    Attributes
    ----------
    summary : Summary or None
        None for a file of single requests.
    notes : tuple of str
        What the reader of the figures must know about this form.
    not_sent : int
        Requests that the load generator planned and did not send. [1]
    cut : str
        Why the file ends early; empty if it does not.
    """

    summary: Summary | None = None
    notes: tuple[str, ...] = ()
    not_sent: int = 0
    cut: str = ""
