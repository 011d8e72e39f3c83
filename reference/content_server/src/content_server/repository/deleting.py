"""Deletes objects, versions and trees of folders."""

from __future__ import annotations

from content_server.database import Session
from content_server.errors import Constraint, InvalidArgument
from content_server.repository import fulltext
from content_server.repository.base import (
    PWC,
    ROOT_ID,
    Repository,
    Stored,
    User,
    must_be_folder,
    resolve,
    select,
)
from content_server.repository.editing import Target, must_be_current, must_own, unreferenced

_BATCH = 500


def delete(repository: Repository, user: User, target: Target, all_versions: bool) -> None:
    """Delete an object of the repository.

    With `all_versions`, a document is deleted with all its versions. A folder is deleted only if it is empty. Deleting
    a working copy cancels the check-out.
    """
    user.must_write()
    with repository.database.write() as session:
        stored = resolve(session, target.object_id, target.path)
        if stored.id == ROOT_ID:
            raise Constraint("the root folder cannot be deleted")
        if stored.is_working_copy:
            rows = _cancel(session, stored, user)
        elif stored.is_document and not all_versions:
            rows = _one_version(session, stored, user)
        elif stored.is_document:
            current = select(session, "versions", "WHERE o.id = ?", (stored.id,))
            must_be_current(next(version for version in current if version.latest), user)
            rows = current
        else:
            if stored.is_folder and _has_children(session, stored):
                raise Constraint(f"folder {stored.path} is not empty")
            rows = [stored]
        unused = delete_rows(repository, session, rows)
    for content_id in unused:
        repository.storage.remove(content_id)


def cancel_check_out(repository: Repository, user: User, target: Target) -> None:
    """Delete a working copy, so that the document can be checked out again."""
    user.must_write()
    with repository.database.write() as session:
        stored = resolve(session, target.object_id, target.path)
        if not stored.is_working_copy:
            raise InvalidArgument(f"{stored.object_id} is not a private working copy")
        unused = delete_rows(repository, session, _cancel(session, stored, user))
    for content_id in unused:
        repository.storage.remove(content_id)


def _cancel(session: Session, working_copy: Stored, user: User) -> list[Stored]:
    must_own(working_copy, user)
    session.change("update", "UPDATE object SET checked_out_by = NULL WHERE id = ? AND latest = 1", (working_copy.id,))
    return [working_copy]


def _one_version(session: Session, stored: Stored, user: User) -> list[Stored]:
    """Return the row of a version to delete; if it is the latest version, make the previous version the latest."""
    if stored.latest:
        must_be_current(stored, user)
        before = select(
            session,
            "versions",
            "WHERE o.id = ? AND o.label <> ? AND o.number < ? ORDER BY o.number DESC LIMIT 1",
            (stored.id, PWC, stored.number),
        )
        session.change("update", "UPDATE object SET latest = 0 WHERE number = ?", (stored.number,))
        if before:
            session.change("update", "UPDATE object SET latest = 1 WHERE number = ?", (before[0].number,))
    return [stored]


def _has_children(session: Session, folder: Stored) -> bool:
    return (
        session.row("children", "SELECT 1 FROM object WHERE parent = ? AND latest = 1 LIMIT 1", (folder.number,))
        is not None
    )


def delete_rows(repository: Repository, session: Session, rows: list[Stored]) -> set[str]:
    """Delete rows of objects, with their properties and their entries in the full-text index.

    Return the identifiers of contents that no version refers to any more.
    """
    unused: set[str] = set()
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        numbers = [stored.number for stored in batch]
        slots = ", ".join("?" * len(numbers))
        session.change("delete", f"DELETE FROM property WHERE object IN ({slots})", numbers)
        session.change("delete", f"DELETE FROM object WHERE number IN ({slots})", numbers)
        for stored in batch:
            if stored.is_document:
                fulltext.remove(repository.database, session, stored.number)
        contents = {stored.content_id for stored in batch if stored.content_id}
        unused |= unreferenced(session, contents)
    return unused


def delete_tree(repository: Repository, user: User, target: Target) -> list[str]:
    """Delete a folder with all objects in it, except documents that other users have checked out.

    Return the identifiers of the remaining objects.
    """
    user.must_write()
    with repository.database.write() as session:
        root = resolve(session, target.object_id, target.path)
        must_be_folder(root)
        if root.id == ROOT_ID:
            raise Constraint("the root folder cannot be deleted")
        folders = select(
            session,
            "tree",
            "WHERE o.path IS NOT NULL AND (o.number = ? OR substr(o.path, 1, ?) = ?)",
            (root.number, len(root.path or "") + 1, f"{root.path}/"),
        )
        members: list[Stored] = []
        for start in range(0, len(folders), _BATCH):
            numbers = [folder.number for folder in folders[start : start + _BATCH]]
            slots = ", ".join("?" * len(numbers))
            members += select(session, "tree", f"WHERE o.path IS NULL AND o.parent IN ({slots})", numbers)
        held = {m.id for m in members if m.checked_out_by not in (None, user.name) and user.role != "administrator"}
        stay = [m for m in members if m.id in held]
        kept = _folders_of(stay, folders)
        unused = delete_rows(repository, session, [m for m in members if m.id not in held])
        # Subfolders are deleted before their parents, because the database requires it (foreign key).
        gone = sorted((f for f in folders if f.number not in kept), key=lambda f: -(f.path or "").count("/"))
        for folder in gone:
            delete_rows(repository, session, [folder])
    for content_id in unused:
        repository.storage.remove(content_id)
    return [m.object_id for m in stay] + [f.object_id for f in folders if f.number in kept]


def _folders_of(members: list[Stored], folders: list[Stored]) -> set[int]:
    """Return the numbers of the folders that directly or indirectly contain one of the given objects."""
    by_number = {folder.number: folder for folder in folders}
    kept: set[int] = set()
    for member in members:
        number = member.parent
        while number in by_number and number not in kept:
            kept.add(number)
            number = by_number[number].parent
    return kept
