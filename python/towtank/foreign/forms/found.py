"""Defines the result of reading a file, apart from the individual requests."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.foreign.requests import Summary


@dataclass(frozen=True)
class Found:
    """Result of reading a file; its individual requests are in a `Collector` instead.

    The summary is None for a file of individual requests. `notes` are properties of the format that matter for the
    interpretation of the file's figures; `not_sent` requests were planned and not sent [1]; `cut` is the reason why the
    file is incomplete; empty if it is complete.
    """

    summary: Summary | None = None
    notes: tuple[str, ...] = ()
    not_sent: int = 0
    cut: str = ""
