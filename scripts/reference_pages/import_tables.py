"""Renders the table of each importer, which states for each key if the importer converts, notes or ignores it."""

from __future__ import annotations

from towtank.workload.importers.accesslog.lines import FIELDS
from towtank.workload.importers.accounting import Fate, Table
from towtank.workload.importers.curl import table as curl_table
from towtank.workload.importers.har import table as har_table
from towtank.workload.importers.jmx import table as jmx_table
from towtank.workload.importers.k6 import table as k6_table
from towtank.workload.importers.openapi import table as openapi_table

TABLES: dict[str, Table] = {
    "jmx": {"every element": jmx_table.COMMON, **jmx_table.ELEMENTS},
    "k6": k6_table.OPTIONS,
    "har": har_table.KEYS,
    "openapi": openapi_table.KEYS,
    "curl": {"options": curl_table.OPTIONS},
    "accesslog": {"fields of a line": FIELDS},
}


def import_table(form: str) -> str:
    """Return the table of a format in Markdown.

    Constructs with the same keys share their rows. Within these, keys that are treated in the same way for the same
    reason share one row.
    """
    lines = ["| construct | keys | treatment | result or reason |", "|---|---|---|---|"]
    kinds: dict[str, list[str]] = {}
    for kind, keys in TABLES[form].items():
        kinds.setdefault(repr(keys), []).append(kind)
    for same in kinds.values():
        rows: dict[tuple[Fate, str], list[str]] = {}
        for name, key in TABLES[form][same[0]].items():
            values = " or ".join(f"`{value}`" for value in key.default)
            unless = f" (unless its value is {values})" if values else ""
            rows.setdefault((key.fate, key.why), []).append(f"`{name}`{unless}")
        for (fate, why), names in sorted(rows.items(), key=lambda row: list(Fate).index(row[0][0])):
            lines.append(f"| {', '.join(same)} | {', '.join(names)} | {fate.value} | {why} |")
    return "\n".join(lines) + "\n"
