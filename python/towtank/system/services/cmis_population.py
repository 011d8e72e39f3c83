"""Writes the documents and folders of the content server as a list, from which a CMIS repository is filled.

The repository then contains the same documents, with the same identifiers, as the content server, so that a workload
can use either server.
"""

from __future__ import annotations

import csv
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

SEARCHES_FOLDER = "7f3d2c86-6a54-5d0b-9c1e-5ea7c4e50001"
"""Identifier of the folder `/searches`, which contains a document for each stored search of the content server."""

LISTS = ("documents", "folders", "searches", "terms", "accounts")
"""Names of the lists `NAME.csv` of a population, which workloads read."""


def write_list(data: Path, target: Path) -> None:
    """Write the objects in the data folder of a populated content server that uses SQLite to a list, in the format of
    `system/java/towtank/Populate.java`.
    """
    target.write_text("".join("\t".join(fields) + "\n" for fields in _objects(data)), "utf-8")


def _objects(data: Path) -> Iterator[tuple[str, ...]]:
    folders = {row["path"]: row["id"] for row in _rows(data, "folders")}
    contents = _contents(data)
    made: set[str] = set()
    for path in folders:
        yield from _folder(path, folders, made)
    for row in _rows(data, "documents"):
        yield "document", row["id"], row["path"], row["mime_type"], str(contents[row["id"]]), ""
    yield "folder", SEARCHES_FOLDER, "/searches", "", "", ""
    for row in _rows(data, "searches"):
        yield "document", row["id"], f"/searches/{row['name']}", "text/plain", "", row["search_type"]


def _folder(path: str, identifiers: dict[str, str], made: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield a folder after its parents, unless it is in `made`. A missing identifier is computed from the path."""
    if path == "" or path in made:
        return
    yield from _folder(path.rpartition("/")[0], identifiers, made)
    made.add(path)
    yield "folder", identifiers.get(path) or str(uuid.uuid5(uuid.NAMESPACE_URL, path)), path, "", "", ""


def _rows(data: Path, name: str) -> Iterator[dict[str, str]]:
    with (data / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _contents(data: Path) -> dict[str, Path]:
    """Return the path of each document's content by the identifier of the document."""
    with closing(sqlite3.connect(f"{(data / 'content.sqlite').as_uri()}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT id, content_id FROM object WHERE latest = 1 AND content_id IS NOT NULL")
        return {number: data / "area" / content[:2] / content[2:4] / content for number, content in rows}
