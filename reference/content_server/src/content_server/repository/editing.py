"""Creates and updates objects, and sets the content of documents.

A change to content first writes the new file, then the metadata in a transaction, and then removes unreferenced files.
If the server crashes in between, a superfluous file may remain until the next start (`StorageArea.sweep`), but there is
never metadata without content.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from content_server.database import Session
from content_server.errors import (
    Constraint,
    ContentAlreadyExists,
    InvalidArgument,
    NameConstraintViolation,
    PermissionDenied,
    Storage,
    UniqueViolation,
    UpdateConflict,
    Versioning,
)
from content_server.repository import fulltext
from content_server.repository.base import (
    ROOT_ID,
    Repository,
    Stored,
    User,
    must_be_document,
    must_be_folder,
    now,
    resolve,
    select,
)
from content_server.repository.render import Json, View, object_json
from content_server.repository.values import (
    check_name,
    insert_object,
    parse_changes,
    update_object,
    write_custom,
)
from content_server.types import TYPES, base_of

Properties = Mapping[str, str | None]
DEFAULT_MIME_TYPE = "application/octet-stream"


@dataclass(frozen=True)
class Upload:
    """Uploaded content; the stream is at its start."""

    stream: BinaryIO
    mime_type: str
    file_name: str | None


@dataclass(frozen=True)
class Target:
    """Object that a request addresses, by identifier or by path."""

    object_id: str | None
    path: str


@contextmanager
def stored_content(repository: Repository, upload: Upload | None, fallback_name: str) -> Iterator[dict[str, Any]]:
    """Store an upload, and yield the columns of table `object` that describe it.

    If the block raises an exception, the content is removed.
    """
    if upload is None:
        yield {}
        return
    content_id, length = repository.storage.write(upload.stream)
    try:
        yield {
            "content_id": content_id,
            "content_length": length,
            "mime_type": upload.mime_type or DEFAULT_MIME_TYPE,
            "file_name": (upload.file_name or fallback_name)[:255],
        }
    except Storage:
        # After a failed commit, it is unknown whether the database contains the metadata. So the file is kept; if no
        # metadata refer to it, `StorageArea.sweep` removes it later.
        raise
    except BaseException:
        repository.storage.remove(content_id)
        raise


@contextmanager
def name_conflicts(name: str) -> Iterator[None]:
    """Convert a UniqueViolation in the block to a CMIS exception: a name conflict, or a conflict with another
    request.
    """
    try:
        yield
    except UniqueViolation as error:
        if error.name_taken:
            raise NameConstraintViolation(f"the folder already contains an object with this name: {name}") from error
        raise UpdateConflict("another user changed the object at the same time") from error


def unreferenced(session: Session, contents: set[str]) -> set[str]:
    """Return the identifiers among `contents` that no version refers to."""
    return contents - known_contents(session, sorted(contents))


def known_contents(session: Session, contents: list[str]) -> set[str]:
    """Return the identifiers among `contents` that a version refers to."""
    if not contents:
        return set()
    slots = ", ".join("?" * len(contents))
    rows = session.rows("contents", f"SELECT content_id FROM object WHERE content_id IN ({slots})", contents)
    return {row[0] for row in rows}


def must_be_current(stored: Stored, user: User, token: str | None = None) -> None:
    """Raise a CmisError unless the user may change an object.

    Old versions, checked-out documents, and working copies of other users must not be changed. If the client passes a
    change token, it must be current.
    """
    user.must_write()
    if token and token != str(stored.change_token):
        raise UpdateConflict(
            f"{stored.object_id} was changed in the meantime: its change token is now {stored.change_token}"
        )
    if stored.is_working_copy:
        must_own(stored, user)
    elif not stored.latest:
        raise Versioning(f"{stored.object_id} is not the latest version")
    elif stored.checked_out_by is not None:
        raise UpdateConflict(f"{stored.object_id} is checked out by {stored.checked_out_by}")


def must_own(working_copy: Stored, user: User) -> None:
    """Raise PermissionDenied if a working copy belongs to another user, unless the user is an administrator."""
    if working_copy.checked_out_by != user.name and user.role != "administrator":
        raise PermissionDenied(f"{working_copy.object_id} is the working copy of {working_copy.checked_out_by}")


def _new_columns(user: User, folder: Stored, type_id: str, name: str) -> dict[str, Any]:
    moment = now()
    return {
        "id": str(uuid.uuid4()), "label": "", "type": type_id, "parent": folder.number, "name": name,
        "created_by": user.name, "created_at": moment, "modified_by": user.name, "modified_at": moment,
        "change_token": 1, "latest": 1,
    }  # fmt: skip


def _type_of(properties: Properties, base: str) -> str:
    type_id = properties.get("cmis:objectTypeId")
    if type_id is None:
        raise InvalidArgument("property cmis:objectTypeId is missing")
    if type_id not in TYPES or base_of(type_id) != base or not TYPES[type_id].creatable:
        raise Constraint(f"not a creatable type below {base}: {type_id[:80]}")
    return type_id


def create_document(
    repository: Repository,
    user: User,
    target: Target,
    properties: Properties,
    upload: Upload | None,
    state: str,
    view: View,
) -> Json:
    """Create a document in a folder: version 1.0, or 0.1 if `state` is `minor`."""
    user.must_write()
    if state not in ("major", "minor"):
        raise Constraint(f"versioningState must be major or minor, got {state[:40]!r}")
    type_id = _type_of(properties, "cmis:document")
    changes = parse_changes(properties, type_id)
    name = check_name(properties.get("cmis:name"))
    text = fulltext.text_of(upload.stream, upload.mime_type) if upload else None
    with repository.database.read() as session:
        must_be_folder(resolve(session, target.object_id, target.path))
    with (
        stored_content(repository, upload, name) as content,
        name_conflicts(name),
        repository.database.write() as session,
    ):
        folder = resolve(session, target.object_id, target.path)
        version = {"label": "1.0" if state == "major" else "0.1", "major": int(state == "major")}
        columns = _new_columns(user, folder, type_id, name) | changes.columns | version | content
        number = insert_object(session, columns)
        write_custom(session, number, changes.custom)
        fulltext.add(repository.database, session, number, text)
        return object_json(session, select(session, "object", "WHERE o.number = ?", (number,))[0], view, user)


def create_folder(repository: Repository, user: User, target: Target, properties: Properties, view: View) -> Json:
    """Create a folder in the folder `target`."""
    user.must_write()
    type_id = _type_of(properties, "cmis:folder")
    changes = parse_changes(properties, type_id)
    name = check_name(properties.get("cmis:name"))
    with name_conflicts(name), repository.database.write() as session:
        folder = resolve(session, target.object_id, target.path)
        must_be_folder(folder)
        path = f"{(folder.path or '').rstrip('/')}/{name}"
        columns = _new_columns(user, folder, type_id, name) | changes.columns | {"path": path}
        number = insert_object(session, columns)
        return object_json(session, select(session, "object", "WHERE o.number = ?", (number,))[0], view, user)


def update(
    repository: Repository, user: User, target: Target, properties: Properties, token: str | None, view: View
) -> Json:
    """Change properties of a document's latest version, a working copy, a folder or an item."""
    user.must_write()
    with name_conflicts(properties.get("cmis:name") or ""), repository.database.write() as session:
        stored = resolve(session, target.object_id, target.path)
        must_be_current(stored, user, token)
        changes = parse_changes(properties, stored.type)
        if "name" in changes.columns and stored.id == ROOT_ID:
            raise Constraint("the root folder cannot be renamed")
        if stored.is_folder and changes.columns.get("name", stored.name) != stored.name:
            _rename_folder(session, stored, changes.columns)
        columns = changes.columns | {"modified_by": user.name, "modified_at": now()}
        if not update_object(session, stored.number, stored.change_token, columns):
            raise UpdateConflict(f"{stored.object_id} was changed by someone else at the same time")
        write_custom(session, stored.number, changes.custom)
        changed = select(session, "object", "WHERE o.number = ?", (stored.number,))[0]
        return object_json(session, changed, view, user)


def _rename_folder(session: Session, folder: Stored, columns: dict[str, Any]) -> None:
    """Change the stored paths of a renamed folder and of its subfolders."""
    old = folder.path or ""
    columns["path"] = new = f"{old.rpartition('/')[0]}/{columns['name']}"
    session.change(
        "update",
        "UPDATE object SET path = ? || substr(path, ?) WHERE path IS NOT NULL AND substr(path, 1, ?) = ?",
        (new, len(old) + 1, len(old) + 1, old + "/"),
    )


def set_content(
    repository: Repository,
    user: User,
    target: Target,
    upload: Upload | None,
    overwrite: bool,
    token: str | None,
    view: View,
) -> Json:
    """Replace the content of a document by an upload; if `upload` is None, remove the content."""
    with repository.database.read() as session:
        _check_content_change(resolve(session, target.object_id, target.path), user, overwrite, token)
    text = fulltext.text_of(upload.stream, upload.mime_type) if upload else None
    empty = {"content_id": None, "content_length": None, "mime_type": None, "file_name": None}
    with stored_content(repository, upload, "content") as content, repository.database.write() as session:
        stored = resolve(session, target.object_id, target.path)
        _check_content_change(stored, user, overwrite, token)
        columns = {**(content or empty), "modified_by": user.name, "modified_at": now()}
        if not update_object(session, stored.number, stored.change_token, columns):
            raise UpdateConflict(f"{stored.object_id} was changed by someone else at the same time")
        if stored.latest:
            fulltext.remove(repository.database, session, stored.number)
            fulltext.add(repository.database, session, stored.number, text)
        unused = unreferenced(session, {stored.content_id} if stored.content_id else set())
        changed = select(session, "object", "WHERE o.number = ?", (stored.number,))[0]
        answer = object_json(session, changed, view, user)
    for content_id in unused:
        repository.storage.remove(content_id)
    return answer


def _check_content_change(stored: Stored, user: User, overwrite: bool, token: str | None) -> None:
    must_be_document(stored)
    must_be_current(stored, user, token)
    if stored.content_id is not None and not overwrite:
        raise ContentAlreadyExists(f"{stored.object_id} has content, and overwriteFlag is false")
