"""Defines users, stored objects and the repository, and looks up objects."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

from content_server.database import Database, Session
from content_server.errors import InvalidArgument, ObjectNotFound, PermissionDenied
from content_server.storage import StorageArea
from content_server.types import base_of

ROOT_ID = "00000000-0000-5000-8000-000000000000"
PWC = "pwc"


@dataclass(frozen=True)
class User:
    """Authenticated user of a request.

    A `reader` may read, an `editor` may also write, and an `administrator` may also use working copies of other users.
    """

    name: str
    role: str = "editor"

    def must_write(self) -> None:
        """Raise PermissionDenied if the role is `reader`."""
        if self.role == "reader":
            raise PermissionDenied(f"user {self.name} may only read")


@dataclass(frozen=True, slots=True)
class Stored:
    """Stored object: a row of table `object`, and the identifier of its parent folder.

    Times are milliseconds since 1970-01-01 UTC. [ms]
    """

    number: int
    id: str
    label: str
    type: str
    parent: int | None
    name: str
    path: str | None
    description: str | None
    created_by: str
    created_at: int
    modified_by: str
    modified_at: int
    change_token: int
    latest: int
    major: int | None
    comment: str | None
    checked_out_by: str | None
    content_id: str | None
    content_length: int | None
    mime_type: str | None
    file_name: str | None
    parent_id: str | None

    @property
    def object_id(self) -> str:
        """CMIS identifier, with the version label if the object has a label."""
        return f"{self.id};{self.label}" if self.label else self.id

    @property
    def is_folder(self) -> bool:
        return self.path is not None

    @property
    def is_document(self) -> bool:
        return base_of(self.type) == "cmis:document"

    @property
    def is_working_copy(self) -> bool:
        return self.label == PWC


STORED_COLUMNS = tuple(f"o.{field.name}" for field in fields(Stored)[:-1])
_SELECT = f"SELECT {', '.join(STORED_COLUMNS)}, (SELECT q.id FROM object q WHERE q.number = o.parent) FROM object o "


@dataclass(frozen=True)
class Repository:
    """Repository with metadata and content files.

    Attributes
    ----------
    id : str
        Repository identifier in URLs.
    """

    database: Database
    storage: StorageArea
    id: str = "content"


def now() -> int:
    """Return the current time in milliseconds since 1970-01-01 UTC. [ms]"""
    return int(time.time() * 1000)


def select(session: Session, kind: str, rest: str, parameters: Any = ()) -> list[Stored]:
    """Return the objects that `rest`, the SQL after `FROM object o`, selects."""
    return [Stored(*row) for row in session.rows(kind, _SELECT + rest, parameters)]


def find(session: Session, object_id: str) -> Stored:
    """Return the object with an identifier; without a version label, return the latest version.

    Raises
    ------
    ObjectNotFound
        If no object has the identifier.
    """
    identifier, _, label = object_id.partition(";")
    if label:
        found = select(session, "object", "WHERE o.id = ? AND o.label = ?", (identifier, label))
    else:
        found = select(session, "object", "WHERE o.id = ? AND o.latest = 1", (identifier,))
    if not found:
        raise ObjectNotFound(f"no object {object_id[:80]}")
    return found[0]


def find_path(session: Session, path: str) -> Stored:
    """Return the object at a path.

    Raises
    ------
    InvalidArgument
        If the path contains `.` or `..` between slashes.
    ObjectNotFound
        If there is no object at the path.
    """
    parts = [part for part in path.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise InvalidArgument("a path cannot contain . or ..")
    if not parts:
        return find(session, ROOT_ID)
    folder = "/" + "/".join(parts[:-1])
    found = select(
        session,
        "object",
        "WHERE o.parent = (SELECT f.number FROM object f WHERE f.path = ?) AND o.name = ? AND o.latest = 1",
        (folder, parts[-1]),
    )
    if not found:
        raise ObjectNotFound(f"no object at /{'/'.join(parts)[:200]}")
    return found[0]


def resolve(session: Session, object_id: str | None, path: str) -> Stored:
    """Return the object that a request names by identifier or, without an identifier, by path."""
    return find(session, object_id) if object_id else find_path(session, path)


def must_be_document(stored: Stored) -> None:
    """Raise InvalidArgument unless an object is a document."""
    if not stored.is_document:
        raise InvalidArgument(f"{stored.object_id} is not a document")


def must_be_folder(stored: Stored) -> None:
    """Raise InvalidArgument unless an object is a folder."""
    if not stored.is_folder:
        raise InvalidArgument(f"{stored.object_id} is not a folder")
