"""Converts objects to JSON of the Browser Binding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from content_server.database import Session
from content_server.errors import FilterNotValid
from content_server.repository.base import ROOT_ID, Stored, User
from content_server.types import ALL_PROPERTIES, Property, base_of, properties_of

Json = dict[str, Any]
_NUMERIC = ("integer", "decimal", "datetime")


@dataclass(frozen=True)
class View:
    """Options of a request for the JSON of objects.

    Attributes
    ----------
    succinct : bool
        True to return only the values of properties, without their definitions.
    names : frozenset of str or None
        Names of the requested properties; None for all properties.
    actions : bool
        True to add the actions that the user may perform on the object.
    """

    succinct: bool = False
    names: frozenset[str] | None = None
    actions: bool = False
    path_segment: bool = False

    @property
    def custom(self) -> bool:
        """True if custom properties are requested."""
        return self.names is None or any(name.startswith("tt:") for name in self.names)


def parse_filter(text: str | None) -> frozenset[str] | None:
    """Return the names in a parameter `filter`, and the names of identifier and types; None for all properties.

    Raises
    ------
    FilterNotValid
        If a name is not a property of any type.
    """
    names = {name.strip() for name in (text or "*").split(",")}
    if "*" in names:
        return None
    unknown = sorted(name for name in names if name not in ALL_PROPERTIES)
    if unknown:
        raise FilterNotValid(f"filter: unknown property {', '.join(unknown)[:200]}")
    return frozenset(names | {"cmis:objectId", "cmis:objectTypeId", "cmis:baseTypeId"})


def custom_properties(session: Session, objects: Sequence[Stored]) -> dict[int, dict[str, Any]]:
    """Return the custom properties of objects, by object number; each statement reads at most 512 objects."""
    wanted = [stored.number for stored in objects if stored.type.startswith("tt:")]
    values: dict[int, dict[str, Any]] = {number: {} for number in wanted}
    for start in range(0, len(wanted), 512):
        numbers = wanted[start : start + 512]
        # The list is padded to a power of two, so that few different statements have to be prepared.
        length = 1 << (len(numbers) - 1).bit_length()
        numbers += [-1] * (length - len(numbers))
        rows = session.rows(
            "properties",
            f"SELECT object, name, value, number FROM property WHERE object IN ({', '.join('?' * length)})",
            numbers,
        )
        for number, name, value, numeric in rows:
            values[number][name] = _number(name, numeric) if value is None else value
    return values


def _number(name: str, value: float | None) -> float | int | None:
    definition = ALL_PROPERTIES.get(name)
    if value is None or definition is None or definition.kind == "decimal":
        return value
    return int(value)


def base_properties(stored: Stored) -> Json:
    """Return the CMIS properties of an object that follow from its row in table `object`."""
    properties: Json = {
        "cmis:objectId": stored.object_id,
        "cmis:baseTypeId": base_of(stored.type),
        "cmis:objectTypeId": stored.type,
        "cmis:name": stored.name,
        "cmis:description": stored.description,
        "cmis:createdBy": stored.created_by,
        "cmis:creationDate": stored.created_at,
        "cmis:lastModifiedBy": stored.modified_by,
        "cmis:lastModificationDate": stored.modified_at,
        "cmis:changeToken": str(stored.change_token),
    }
    if stored.is_folder:
        properties["cmis:path"] = stored.path
        properties["cmis:parentId"] = stored.parent_id
    elif stored.is_document:
        properties |= _document_properties(stored)
    return properties


def _document_properties(stored: Stored) -> Json:
    checked_out = stored.checked_out_by is not None
    latest, major = bool(stored.latest), bool(stored.major)
    return {
        "cmis:isImmutable": False,
        "cmis:isLatestVersion": latest,
        "cmis:isMajorVersion": major,
        "cmis:isLatestMajorVersion": latest and major,
        "cmis:isPrivateWorkingCopy": stored.is_working_copy,
        "cmis:versionLabel": stored.label,
        "cmis:versionSeriesId": stored.id,
        "cmis:isVersionSeriesCheckedOut": checked_out,
        "cmis:versionSeriesCheckedOutBy": stored.checked_out_by,
        "cmis:versionSeriesCheckedOutId": f"{stored.id};pwc" if checked_out else None,
        "cmis:checkinComment": stored.comment,
        "cmis:contentStreamLength": stored.content_length,
        "cmis:contentStreamMimeType": stored.mime_type,
        "cmis:contentStreamFileName": stored.file_name,
        "cmis:contentStreamId": stored.content_id,
    }


def write_properties(values: Json, type_id: str, succinct: bool, names: Iterable[str] | None = None) -> Json:
    """Return the JSON member `properties` or `succinctProperties` of an object."""
    if names is not None:
        values = {name: values[name] for name in values if name in names}
    if succinct:
        return {"succinctProperties": values}
    known = properties_of(type_id)
    return {
        "properties": {name: _full(known.get(name) or ALL_PROPERTIES[name], value) for name, value in values.items()}
    }


def _full(definition: Property, value: Any) -> Json:
    return {
        "id": definition.id, "localName": definition.id, "displayName": definition.id, "queryName": definition.id,
        "type": definition.kind, "cardinality": "single", "value": value,
    }  # fmt: skip


def objects_json(session: Session, objects: Sequence[Stored], view: View, user: User) -> list[Json]:
    """Return objects as JSON."""
    custom = custom_properties(session, objects) if view.custom else {}
    documents = []
    for stored in objects:
        values = base_properties(stored) | custom.get(stored.number, {})
        document = write_properties(values, stored.type, view.succinct, view.names)
        if view.actions:
            document["allowableActions"] = allowable_actions(stored, user)
        documents.append(document)
    return documents


def object_json(session: Session, stored: Stored, view: View, user: User) -> Json:
    return objects_json(session, [stored], view, user)[0]


def allowable_actions(stored: Stored, user: User) -> dict[str, bool]:
    """Return for each CMIS action whether the user may currently perform it on an object."""
    writes = user.role != "reader"
    document, folder = stored.is_document, stored.is_folder
    free = stored.checked_out_by is None or stored.is_working_copy
    own = stored.is_working_copy and (stored.created_by == user.name or user.role == "administrator")
    changes = writes and (not document or own or (bool(stored.latest) and free))
    return {
        "canGetProperties": True,
        "canUpdateProperties": changes,
        "canDeleteObject": changes and stored.id != ROOT_ID,
        "canGetContentStream": document and stored.content_id is not None,
        "canSetContentStream": document and changes,
        "canDeleteContentStream": document and changes and stored.content_id is not None,
        "canGetRenditions": document,
        "canGetObjectParents": stored.parent is not None and not folder,
        "canGetFolderParent": folder and stored.parent is not None,
        "canGetChildren": folder,
        "canCreateDocument": folder and writes,
        "canCreateFolder": folder and writes,
        "canDeleteTree": folder and writes and stored.id != ROOT_ID,
        "canCheckOut": document and writes and bool(stored.latest) and free and not stored.is_working_copy,
        "canCheckIn": own,
        "canCancelCheckOut": own,
        "canGetAllVersions": document,
    }
