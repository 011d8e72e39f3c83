"""Modules that read result files, one for each format. The first module that recognises a file reads it.

Each module has `NAME` and two functions. `recognises(head)` receives the first 64 KiB of the text. `read(source, rows)`
adds individual requests to `rows`, or returns a summary.
"""

from __future__ import annotations

from typing import Protocol

from towtank.foreign.forms import (
    fio,
    gatling,
    hdr,
    hey,
    jmeter_csv,
    jmeter_xml,
    k6_csv,
    k6_json,
    locust,
    oha_csv,
    oha_json,
    pgbench,
    plain,
    vegeta_csv,
    vegeta_json,
)
from towtank.foreign.forms.found import Found
from towtank.foreign.requests import Collector
from towtank.foreign.source import Source


class Form(Protocol):
    """Interface of a module that reads one format of result files."""

    NAME: str

    @staticmethod
    def recognises(head: str) -> bool:
        """Return True if a file that begins with this text has the format of the module."""

    @staticmethod
    def read(source: Source, rows: Collector) -> Found:
        """Read a file: either add its requests to `rows`, or return a result that contains its summary."""


FORMS: tuple[Form, ...] = (
    plain, jmeter_csv, jmeter_xml, k6_json, k6_csv, locust, gatling, hey, oha_csv, oha_json, vegeta_json, vegeta_csv,
    hdr, fio, pgbench,
)  # type: ignore[assignment]  # fmt: skip
