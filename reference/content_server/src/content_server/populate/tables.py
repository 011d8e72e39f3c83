"""Collects the rows of generated objects, and inserts them into the database in bulk."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from content_server.database import Database, Session
from content_server.populate import words
from content_server.populate.classes import DocumentClass
from content_server.populate.documents import EPOCH, USERS, Document, PropertyValue, identifier, user_name
from content_server.repository import fulltext

OBJECT_COLUMNS = (
    "number", "id", "label", "type", "parent", "name", "path", "created_by", "created_at", "modified_by", "modified_at",
    "change_token", "latest", "major", "content_id", "content_length", "mime_type", "file_name",
)  # fmt: skip
PROPERTY_COLUMNS = ("object", "name", "value", "number")
# Number of stored searches by type, independent of the scale. [1]
SEARCHES = {"personal": 30, "shared": 20, "template": 10}
INBOXES = 10
PER_FOLDER = 100


@dataclass
class Rows:
    """Rows to insert, and the number of the last object."""

    last: int = 1  # The root folder has the number 1.
    objects: list[tuple[Any, ...]] = field(default_factory=list)
    properties: list[tuple[Any, ...]] = field(default_factory=list)
    texts: list[tuple[int, str]] = field(default_factory=list)

    def add(
        self, kind: str, parent: int, name: str, *, id: str, author: str = "system", created: int = EPOCH,
        label: str = "", path: str | None = None, properties: dict[str, PropertyValue] | None = None,
        content: tuple[str, int, str] | None = None, latest: int = 1,
    ) -> int:  # fmt: skip
        """Append the rows of an object, and return its number."""
        self.last += 1
        content_id, length, mime_type = content or (None, None, None)
        row = (
            self.last, id, label, kind, parent, name, path, author, created, author, created,
            1, latest, 1 if label else None, content_id, length, mime_type, name if content else None,
        )  # fmt: skip
        self.objects.append(row)
        self.properties += [(self.last, key, *value) for key, value in (properties or {}).items()]
        return self.last

    def insert(self, database: Database, session: Session) -> None:
        """Insert all rows into the database, and remove them from this object."""
        bulk_insert(database, session, "object", OBJECT_COLUMNS, self.objects)
        bulk_insert(database, session, "property", PROPERTY_COLUMNS, self.properties)
        session.many("populate", fulltext.insert_statement(database), self.texts)
        self.objects, self.properties, self.texts = [], [], []


def bulk_insert(
    database: Database, session: Session, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert many rows, with COPY in PostgreSQL, and with a prepared statement in SQLite."""
    names = ", ".join(columns)
    if database.kind == "sqlite":
        session.many("populate", f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", rows)
        return
    with session.connection.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


@dataclass(frozen=True)
class Folder:
    """Generated folder; `kind` states its use, such as `population` (documents) or `inbox` (empty)."""

    number: int
    id: str
    path: str
    kind: str


def add_folder(rows: Rows, seed: int, parent: int, path: str, kind: str) -> Folder:
    id = str(identifier("folder", seed, path))
    return Folder(rows.add("cmis:folder", parent, path.rpartition("/")[2], id=id, path=path), id, path, kind)


def add_document(rows: Rows, folder: Folder, kind: DocumentClass, document: Document) -> None:
    """Add the rows of a document, with all its versions."""
    versions = (*document.older, document.properties)
    for label, properties in enumerate(versions, start=1):
        rows.add(
            "tt:document",
            folder.number,
            document.name,
            id=document.id,
            author=document.author,
            created=document.created_at,
            label=f"{label}.0",
            properties=properties,
            content=(document.content_id, kind.size, kind.mime_type),
            latest=int(label == len(versions)),
        )
    if document.text is not None:
        rows.texts.append((rows.last, document.text[: fulltext.MAX_INDEXED]))


def add_searches(rows: Rows, seed: int) -> list[tuple[str, str, str]]:
    """Add a folder with stored searches; return identifier, name and search type of each search."""
    source = random.Random(f"{seed}:searches")
    folder = add_folder(rows, seed, 1, "/searches", "system")
    found = []
    for kind, count in SEARCHES.items():
        for index in range(count):
            term = source.choice(words.vocabulary()[400:4000])
            name = f"{kind} search {index + 1:03d} {term}"
            id = str(identifier("search", seed, kind, index))
            owner = user_name(source.randint(1, USERS)) if kind == "personal" else "system"
            properties: dict[str, PropertyValue] = {
                "tt:owner": (owner, None),
                "tt:scope": ("/population", None),
                "tt:searchType": (kind, None),
                "tt:statement": (f"SELECT * FROM tt:document WHERE CONTAINS('{term}')", None),
                "tt:uses": (None, float(source.randint(0, 500))),
            }
            rows.add("tt:search", folder.number, name, id=id, author=owner, properties=properties)
            found.append((id, name, kind))
    return found


def add_workflows(rows: Rows, seed: int, count: int, documents: Sequence[str]) -> None:
    """Add a folder with workflows; each workflow refers to a document."""
    source = random.Random(f"{seed}:workflows")
    folder = add_folder(rows, seed, 1, "/workflows", "system")
    for index in range(count):
        started = EPOCH + source.randrange(365 * 86_400_000)
        properties: dict[str, PropertyValue] = {
            "tt:assignee": (user_name(source.randint(1, USERS)), None),
            "tt:document": (source.choice(documents), None),
            "tt:started": (None, float(started)),
            "tt:state": (source.choice(("running", "running", "waiting", "finished")), None),
            "tt:step": (source.choice(("check", "approve", "sign", "file")), None),
        }
        id = str(identifier("workflow", seed, index))
        rows.add(
            "tt:workflow",
            folder.number,
            f"workflow {index + 1:06d}",
            id=id,
            created=started,
            properties=properties,
        )
