"""Defines the object types and their properties, from which type definitions, SQL and value checks follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Property:
    """Definition of a CMIS property.

    Attributes
    ----------
    id : str
        Identifier, also the name in queries.
    kind : str
        `string`, `id`, `integer`, `decimal`, `boolean`, `datetime` or `uri`.
    column : str or None
        Column of table `object` that contains the value. None for a computed property, and for a custom property, whose
        values are rows of table `property`.
    updatable : bool
        True if clients may set the property.
    queryable, orderable : bool
        True if WHERE can test the property, and ORDER BY can sort by it.
    """

    id: str
    kind: str
    column: str | None = None
    updatable: bool = False
    queryable: bool = True
    required: bool = False

    @property
    def custom(self) -> bool:
        """True if the values are rows of table `property`."""
        return self.id.startswith("tt:")


@dataclass(frozen=True)
class ObjectType:
    """Definition of an object type; `properties` does not include properties of the parent type."""

    id: str
    parent: str | None
    description: str
    properties: tuple[Property, ...] = ()
    creatable: bool = True


_COMMON = (
    Property("cmis:name", "string", "name", updatable=True, required=True),
    Property("cmis:objectId", "id", "id"),
    Property("cmis:baseTypeId", "id", queryable=False),
    Property("cmis:objectTypeId", "id", "type", required=True),
    Property("cmis:description", "string", "description", updatable=True),
    Property("cmis:createdBy", "string", "created_by"),
    Property("cmis:creationDate", "datetime", "created_at"),
    Property("cmis:lastModifiedBy", "string", "modified_by"),
    Property("cmis:lastModificationDate", "datetime", "modified_at"),
    Property("cmis:changeToken", "string", "change_token", queryable=False),
)
_DOCUMENT = (
    Property("cmis:isImmutable", "boolean", queryable=False),
    Property("cmis:isLatestVersion", "boolean", "latest"),
    Property("cmis:isMajorVersion", "boolean", "major"),
    Property("cmis:isLatestMajorVersion", "boolean", queryable=False),
    Property("cmis:isPrivateWorkingCopy", "boolean", queryable=False),
    Property("cmis:versionLabel", "string", "label"),
    Property("cmis:versionSeriesId", "id", "id"),
    Property("cmis:isVersionSeriesCheckedOut", "boolean", queryable=False),
    Property("cmis:versionSeriesCheckedOutBy", "string", "checked_out_by"),
    Property("cmis:versionSeriesCheckedOutId", "id", queryable=False),
    Property("cmis:checkinComment", "string", "comment"),
    Property("cmis:contentStreamLength", "integer", "content_length"),
    Property("cmis:contentStreamMimeType", "string", "mime_type"),
    Property("cmis:contentStreamFileName", "string", "file_name"),
    Property("cmis:contentStreamId", "id", "content_id"),
)
_FOLDER = (
    Property("cmis:parentId", "id", queryable=False),
    Property("cmis:path", "string", "path"),
)


def _custom(kind: str, *names: str) -> tuple[Property, ...]:
    return tuple(Property(f"tt:{name}", kind, updatable=True) for name in names)


TYPES: dict[str, ObjectType] = {
    definition.id: definition
    for definition in (
        ObjectType("cmis:document", None, "Document", _DOCUMENT),
        ObjectType("cmis:folder", None, "Folder", _FOLDER),
        ObjectType("cmis:item", None, "Item", creatable=False),
        ObjectType(
            "tt:document",
            "cmis:document",
            "Business document",
            _custom(
                "string",
                "department",
                "customer",
                "invoiceNumber",
                "status",
                "language",
                "country",
                "project",
            )
            + _custom("string", "summary", "retention")
            + _custom("decimal", "amount")
            + _custom("integer", "pages")
            + _custom("datetime", "dueDate"),
        ),
        ObjectType(
            "tt:search",
            "cmis:item",
            "Stored search",
            _custom("string", "searchType", "owner", "statement", "scope") + _custom("integer", "uses"),
        ),
        ObjectType(
            "tt:workflow",
            "cmis:item",
            "Workflow",
            _custom("string", "step", "assignee", "state", "document") + _custom("datetime", "started"),
        ),
    )
}


@cache
def base_of(type_id: str) -> str:
    """Return the base type from which a type is derived; for a base type, the type itself."""
    parent = TYPES[type_id].parent
    return type_id if parent is None else base_of(parent)


@cache
def with_subtypes(type_id: str) -> tuple[str, ...]:
    """Return a type and all types that are derived from it."""
    below = [t for t in TYPES if TYPES[t].parent == type_id]
    return (type_id, *(found for t in below for found in with_subtypes(t)))


@cache
def properties_of(type_id: str) -> dict[str, Property]:
    """Return all properties of a type by identifier; inherited properties come first."""
    definition = TYPES[type_id]
    inherited = properties_of(definition.parent) if definition.parent else {p.id: p for p in _COMMON}
    return {**inherited, **{p.id: p for p in definition.properties}}


ALL_PROPERTIES: dict[str, Property] = {p.id: p for t in TYPES for p in properties_of(t).values()}


def definition_json(type_id: str, with_properties: bool = True) -> dict[str, object]:
    """Return the definition of a type as JSON of the Browser Binding."""
    definition = TYPES[type_id]
    base = base_of(type_id)
    document: dict[str, object] = {
        "id": type_id, "localName": type_id, "displayName": definition.description, "queryName": type_id,
        "description": definition.description, "baseId": base, "creatable": definition.creatable,
        "fileable": True, "queryable": True, "fulltextIndexed": base == "cmis:document",
        "includedInSupertypeQuery": True,
        "controllablePolicy": False, "controllableACL": False,
    }  # fmt: skip
    if definition.parent:
        document["parentId"] = definition.parent
    if base == "cmis:document":
        document |= {"versionable": True, "contentStreamAllowed": "allowed"}
    if with_properties:
        document["propertyDefinitions"] = {p.id: _property_json(p) for p in properties_of(type_id).values()}
    return document


def _property_json(definition: Property) -> dict[str, object]:
    return {
        "id": definition.id, "localName": definition.id, "displayName": definition.id, "queryName": definition.id,
        "propertyType": definition.kind, "cardinality": "single", "required": definition.required,
        "updatability": "readwrite" if definition.updatable else "readonly", "inherited": not definition.custom,
        "queryable": definition.queryable, "orderable": definition.queryable, "openChoice": True,
    }  # fmt: skip
