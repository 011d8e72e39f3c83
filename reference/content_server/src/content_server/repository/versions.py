"""Checks documents out and in.

Unique indexes in the database ensure that a document has at most one working copy and one latest version.
"""

from __future__ import annotations

from content_server.database import Session
from content_server.errors import InvalidArgument, UpdateConflict
from content_server.repository import fulltext
from content_server.repository.base import (
    PWC,
    Repository,
    Stored,
    User,
    must_be_document,
    now,
    resolve,
    select,
)
from content_server.repository.editing import (
    Properties,
    Target,
    Upload,
    must_be_current,
    must_own,
    name_conflicts,
    stored_content,
    unreferenced,
)
from content_server.repository.render import Json, View, object_json
from content_server.repository.values import insert_object, parse_changes, update_object, write_custom

_COPIED = (
    "id",
    "type",
    "parent",
    "name",
    "description",
    "content_id",
    "content_length",
    "mime_type",
    "file_name",
)


def check_out(repository: Repository, user: User, target: Target, view: View) -> Json:
    """Check out a document: create a private working copy of its latest version."""
    user.must_write()
    with name_conflicts(""), repository.database.write() as session:
        stored = resolve(session, target.object_id, target.path)
        must_be_document(stored)
        if stored.is_working_copy:
            raise UpdateConflict(f"{stored.object_id} is already a working copy")
        must_be_current(stored, user)
        if not update_object(session, stored.number, stored.change_token, {"checked_out_by": user.name}):
            raise UpdateConflict(f"{stored.object_id} was changed by someone else at the same time")
        moment = now()
        copied = {name: getattr(stored, name) for name in _COPIED}
        number = insert_object(
            session,
            copied
            | {
                "label": PWC,
                "created_by": user.name,
                "created_at": moment,
                "modified_by": user.name,
                "modified_at": moment,
            }
            | {"change_token": 1, "latest": 0, "major": 0, "checked_out_by": user.name},
        )
        session.change(
            "properties_write",
            "INSERT INTO property (object, name, value, number) "
            "SELECT CAST(? AS BIGINT), name, value, number FROM property WHERE object = ?",
            (number, stored.number),
        )
        return object_json(session, select(session, "object", "WHERE o.number = ?", (number,))[0], view, user)


def next_label(label: str, major: bool) -> str:
    """Return the label of the next major or minor version.

    Examples
    --------
    >>> next_label("1.4", major=True), next_label("1.4", major=False)
    ('2.0', '1.5')
    """
    first, _, second = label.partition(".")
    return f"{int(first) + 1}.0" if major else f"{first}.{int(second) + 1}"


def check_in(
    repository: Repository,
    user: User,
    target: Target,
    properties: Properties,
    upload: Upload | None,
    major: bool,
    comment: str | None,
    view: View,
) -> Json:
    """Check in a document: set properties and content of the working copy, and make it the latest version."""
    user.must_write()
    with repository.database.read() as session:
        _working_copy(session, target, user)
    text = fulltext.text_of(upload.stream, upload.mime_type) if upload else None
    unused: set[str] = set()
    with (
        stored_content(repository, upload, "content") as content,
        name_conflicts(properties.get("cmis:name") or ""),
        repository.database.write() as session,
    ):
        copy = _working_copy(session, target, user)
        latest = select(session, "object", "WHERE o.id = ? AND o.latest = 1", (copy.id,))[0]
        changes = parse_changes(properties, copy.type)
        session.change(
            "update",
            "UPDATE object SET latest = 0, checked_out_by = NULL WHERE number = ?",
            (latest.number,),
        )
        columns = changes.columns | content | _checked_in(user, latest, major, comment)
        if not update_object(session, copy.number, copy.change_token, columns):
            raise UpdateConflict(f"{copy.object_id} was changed by someone else at the same time")
        write_custom(session, copy.number, changes.custom)
        _index(repository, session, latest, copy, upload is not None, text)
        if content and copy.content_id:
            unused = unreferenced(session, {copy.content_id})
        changed = select(session, "object", "WHERE o.number = ?", (copy.number,))[0]
        answer = object_json(session, changed, view, user)
    for content_id in unused:
        repository.storage.remove(content_id)
    return answer


def _checked_in(user: User, latest: Stored, major: bool, comment: str | None) -> dict[str, object]:
    return {
        "label": next_label(latest.label, major), "latest": 1, "major": int(major), "comment": comment,
        "checked_out_by": None, "modified_by": user.name, "modified_at": now(),
    }  # fmt: skip


def _working_copy(session: Session, target: Target, user: User) -> Stored:
    stored = resolve(session, target.object_id, target.path)
    if not stored.is_working_copy:
        raise InvalidArgument(f"{stored.object_id} is not a private working copy")
    must_own(stored, user)
    return stored


def _index(
    repository: Repository, session: Session, latest: Stored, copy: Stored, replaced: bool, text: str | None
) -> None:
    """Replace the previous version in the full-text index by the new version."""
    if replaced:
        fulltext.remove(repository.database, session, latest.number)
        fulltext.add(repository.database, session, copy.number, text)
    elif copy.content_id == latest.content_id:
        fulltext.move(repository.database, session, latest.number, copy.number)
    else:  # The content was uploaded to the working copy before, so the text is read from the content file.
        fulltext.remove(repository.database, session, latest.number)
        fulltext.add(repository.database, session, copy.number, _stored_text(repository, copy))


def _stored_text(repository: Repository, copy: Stored) -> str | None:
    if copy.content_id is None or not (copy.mime_type or "").startswith("text/"):
        return None
    length = copy.content_length or 0
    data = repository.storage.read(copy.content_id, 0, min(length, fulltext.MAX_INDEXED), length)
    return data.decode("utf-8", "replace").replace("\x00", " ")
