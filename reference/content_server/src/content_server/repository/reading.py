"""Reads objects, children, versions and parents, and executes queries."""

from __future__ import annotations

from typing import Any

from content_server.errors import InvalidArgument
from content_server.query import compile_order, compile_query, parse
from content_server.repository.base import (
    PWC,
    Repository,
    Stored,
    User,
    must_be_document,
    must_be_folder,
    resolve,
    select,
)
from content_server.repository.render import (
    Json,
    View,
    base_properties,
    custom_properties,
    object_json,
    objects_json,
    write_properties,
)
from content_server.types import ALL_PROPERTIES


def get_object(repository: Repository, user: User, object_id: str | None, path: str, view: View) -> Json:
    with repository.database.read() as session:
        return object_json(session, resolve(session, object_id, path), view, user)


def get_stored(repository: Repository, object_id: str | None, path: str) -> Stored:
    """Return the stored object that a request addresses by identifier or path."""
    with repository.database.read() as session:
        return resolve(session, object_id, path)


def parse_order(text: str | None) -> str:
    """Return the ORDER BY clause for a parameter `orderBy`; without the parameter, order by name."""
    order = []
    for term in (text or "cmis:name").split(","):
        name, _, direction = term.strip().partition(" ")
        if direction.strip().upper() not in ("", "ASC", "DESC"):
            raise InvalidArgument(f"orderBy: ASC or DESC expected, got {direction[:40]!r}")
        order.append((name, direction.strip().upper() == "DESC"))
    return compile_order(tuple(order), ALL_PROPERTIES)


def get_children(
    repository: Repository,
    user: User,
    object_id: str | None,
    path: str,
    view: View,
    paging: tuple[int, int],
    order: str | None,
) -> Json:
    """Return children of a folder as JSON: at most `paging[0]` children, after the first `paging[1]` children."""
    order_by = parse_order(order)
    maximum, skip = paging
    with repository.database.read() as session:
        folder = resolve(session, object_id, path)
        must_be_folder(folder)
        found = select(
            session,
            "children",
            f"WHERE o.parent = ? AND o.latest = 1{order_by} LIMIT ? OFFSET ?",
            (folder.number, maximum + 1, skip),
        )
        page = found[:maximum]
        objects = [{"object": document} for document in objects_json(session, page, view, user)]
        total = skip + len(found)
        if len(found) > maximum or (skip and not found):
            row = session.row(
                "children_count",
                "SELECT count(*) FROM object WHERE parent = ? AND latest = 1",
                (folder.number,),
            )
            total = row[0] if row else 0
    if view.path_segment:
        for member, stored in zip(objects, page, strict=True):
            member["pathSegment"] = stored.name  # type: ignore[assignment]
    return {"objects": objects, "hasMoreItems": len(found) > maximum, "numItems": total}


def get_versions(repository: Repository, user: User, object_id: str | None, path: str, view: View) -> list[Json]:
    """Return all versions of a document as JSON: first a working copy, then the versions from new to old."""
    with repository.database.read() as session:
        stored = resolve(session, object_id, path)
        must_be_document(stored)
        found = select(
            session,
            "versions",
            "WHERE o.id = ? ORDER BY CASE WHEN o.label = ? THEN 0 ELSE 1 END, o.latest DESC, o.number DESC",
            (stored.id, PWC),
        )
        return objects_json(session, found, view, user)


def get_parent(repository: Repository, user: User, object_id: str | None, path: str, view: View) -> tuple[Stored, Json]:
    """Return an object, and its parent folder as JSON.

    Raises
    ------
    InvalidArgument
        If the object is the root folder.
    """
    with repository.database.read() as session:
        stored = resolve(session, object_id, path)
        if stored.parent is None:
            raise InvalidArgument("the root folder has no parent")
        parent = select(session, "object", "WHERE o.number = ?", (stored.parent,))[0]
        return stored, object_json(session, parent, view, user)


def query(repository: Repository, statement: str, succinct: bool, paging: tuple[int, int]) -> Json:
    """Execute a query; return results as JSON: at most `paging[0]` results, after the first `paging[1]` results."""
    if "\x00" in statement:
        raise InvalidArgument("query: character NUL is not allowed")
    compiled = compile_query(parse(statement), repository.database.kind)
    maximum, skip = paging
    custom = any(name.startswith("tt:") for name, _ in compiled.columns)
    with repository.database.read() as session:
        found = select(
            session,
            "query",
            f"WHERE {compiled.where}{compiled.order} LIMIT ? OFFSET ?",
            (*compiled.parameters, maximum + 1, skip),
        )
        page = found[:maximum]
        properties = custom_properties(session, page) if custom else {}
        total = skip + len(found)
        if len(found) > maximum or (skip and not found):
            row = session.row(
                "query_count", f"SELECT count(*) FROM object o WHERE {compiled.where}", compiled.parameters
            )
            total = row[0] if row else 0
    results = [_result(stored, properties.get(stored.number, {}), compiled.columns, succinct) for stored in page]
    return {"results": results, "hasMoreItems": len(found) > maximum, "numItems": total}


def _result(stored: Stored, custom: dict[str, Any], columns: tuple[tuple[str, str], ...], succinct: bool) -> Json:
    values = base_properties(stored) | custom
    if succinct:
        return {"succinctProperties": {alias: values.get(name) for name, alias in columns}}
    full = write_properties({name: values.get(name) for name, _ in columns}, stored.type, False)["properties"]
    return {"properties": {alias: full[name] | {"queryName": alias} for name, alias in columns}}
