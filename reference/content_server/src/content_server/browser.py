"""Converts requests of the CMIS Browser Binding to calls of the repository, and the results to JSON.

All functions run on worker threads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from content_server import __version__, rendition
from content_server.errors import (
    CmisError,
    Constraint,
    InvalidArgument,
    NotSupported,
    ObjectNotFound,
    RangeNotSatisfiable,
)
from content_server.forms import Parameters
from content_server.repository import Repository, User, deleting, editing, reading, versions
from content_server.repository.base import ROOT_ID, Stored
from content_server.repository.content import Part, content_of, parse_range, read_part
from content_server.repository.editing import Target
from content_server.repository.render import allowable_actions
from content_server.types import TYPES, definition_json

# Longer contents are read and sent in pieces of this size. [bytes]
PIECE = 1 << 20
# Response headers for stored content. A web browser treats content as a page of this server. Without these headers, a
# script in content that a user uploaded would run with the rights of any user who opens it.
_FOREIGN = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"}


@dataclass(frozen=True)
class Call:
    """Authenticated request with parsed parameters, for the services."""

    repository: Repository
    user: User
    parameters: Parameters
    path: str
    base_url: str
    headers: Mapping[str, str]

    @property
    def target(self) -> Target:
        """Object that the request addresses, by identifier or by path."""
        return Target(self.parameters.object_id(), self.path)


@dataclass(frozen=True)
class Answer:
    """Response with either a body, or a part of a content that the caller must read and send."""

    status: int = 200
    body: bytes = b""
    media_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    part: Part | None = None


Service = Callable[[Call], Answer]


def to_json(document: object, status: int = 200) -> Answer:
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Answer(status, body)


def error_answer(error: CmisError) -> Answer:
    """Return a response that reports a CMIS exception."""
    answer = to_json({"exception": error.exception, "message": error.message}, error.status)
    if error.status == 401:
        answer.headers["WWW-Authenticate"] = 'Basic realm="content"'
    if isinstance(error, RangeNotSatisfiable):
        answer.headers["Content-Range"] = f"bytes */{error.length}"
    return answer


# CMIS services for the repository.


def repository_info(call: Call) -> dict[str, Any]:
    """Return the repository info of CMIS: names, versions, URLs and capabilities."""
    url = f"{call.base_url}/browser/{call.repository.id}"
    return {
        "repositoryId": call.repository.id, "repositoryName": "Content", "repositoryDescription": "content-server",
        "vendorName": "content-server", "productName": "content-server", "productVersion": __version__,
        "rootFolderId": ROOT_ID, "cmisVersionSupported": "1.1", "repositoryUrl": url, "rootFolderUrl": f"{url}/root",
        "changesIncomplete": True, "changesOnType": [], "latestChangeLogToken": None,
        "principalIdAnonymous": None, "principalIdAnyone": None,
        "capabilities": {
            "capabilityContentStreamUpdatability": "anytime", "capabilityChanges": "none",
            "capabilityRenditions": "read",
            "capabilityGetDescendants": False, "capabilityGetFolderTree": False, "capabilityMultifiling": False,
            "capabilityUnfiling": False, "capabilityVersionSpecificFiling": False, "capabilityPWCSearchable": False,
            "capabilityPWCUpdatable": True, "capabilityAllVersionsSearchable": False, "capabilityOrderBy": "custom",
            "capabilityQuery": "bothcombined", "capabilityJoin": "none", "capabilityACL": "none",
        },
    }  # fmt: skip


def get_repositories(call: Call) -> Answer:
    return to_json({call.repository.id: repository_info(call)})


def get_type_definition(call: Call) -> Answer:
    type_id = call.parameters.get("typeId")
    if type_id is None:
        raise InvalidArgument("typeId is missing")
    if type_id not in TYPES:
        raise ObjectNotFound(f"no type {type_id[:80]}")
    return to_json(definition_json(type_id))


def get_type_children(call: Call) -> Answer:
    parent = call.parameters.get("typeId")
    if parent is not None and parent not in TYPES:
        raise ObjectNotFound(f"no type {parent[:80]}")
    maximum, skip = call.parameters.paging()
    found = [type_id for type_id, definition in TYPES.items() if definition.parent == parent]
    with_properties = call.parameters.flag("includePropertyDefinitions")
    return to_json(
        {
            "types": [definition_json(type_id, with_properties) for type_id in found[skip : skip + maximum]],
            "hasMoreItems": len(found) > skip + maximum,
            "numItems": len(found),
        }
    )


def query(call: Call) -> Answer:
    statement = call.parameters.get("statement") or call.parameters.get("q")
    if statement is None:
        raise InvalidArgument("statement (or q) is missing")
    if call.parameters.flag("searchAllVersions"):
        raise NotSupported("queries search only the latest versions of documents")
    return to_json(
        reading.query(call.repository, statement, call.parameters.flag("succinct"), call.parameters.paging())
    )


# CMIS services that read objects.


def get_object(call: Call) -> Answer:
    target = call.target
    return to_json(
        reading.get_object(call.repository, call.user, target.object_id, target.path, call.parameters.view())
    )


def get_properties(call: Call) -> Answer:
    target, view = call.target, call.parameters.view()
    document = reading.get_object(call.repository, call.user, target.object_id, target.path, view)
    return to_json(document["succinctProperties" if view.succinct else "properties"])


def get_children(call: Call) -> Answer:
    target, parameters = call.target, call.parameters
    return to_json(
        reading.get_children(
            call.repository,
            call.user,
            target.object_id,
            target.path,
            parameters.view(),
            parameters.paging(),
            parameters.get("orderBy"),
        )
    )


def get_versions(call: Call) -> Answer:
    target = call.target
    return to_json(
        reading.get_versions(call.repository, call.user, target.object_id, target.path, call.parameters.view())
    )


def get_parent(call: Call) -> Answer:
    target = call.target
    child, parent = reading.get_parent(
        call.repository, call.user, target.object_id, target.path, call.parameters.view()
    )
    if not child.is_folder:
        raise InvalidArgument("only a folder has exactly one parent; use cmisselector=parents")
    return to_json(parent)


def get_parents(call: Call) -> Answer:
    target = call.target
    child, parent = reading.get_parent(
        call.repository, call.user, target.object_id, target.path, call.parameters.view()
    )
    return to_json([{"object": parent, "relativePathSegment": child.name}])


def get_allowable_actions(call: Call) -> Answer:
    target = call.target
    return to_json(allowable_actions(reading.get_stored(call.repository, target.object_id, target.path), call.user))


def get_renditions(call: Call) -> Answer:
    target = call.target
    stored = reading.get_stored(call.repository, target.object_id, target.path)
    if stored.content_id is None or not rendition.can_convert(stored.mime_type):
        return to_json([])
    return to_json(
        [
            {
                "streamId": rendition.PDF,
                "mimeType": "application/pdf",
                "kind": "cmis:document",
                "title": f"{stored.name} as PDF",
            }
        ]
    )


def _disposition(call: Call, name: str) -> str:
    kind = "attachment" if call.parameters.get("download") == "attachment" else "inline"
    plain = re.sub(r"[^ !#-\[\]-~]", "_", name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def get_content(call: Call) -> Answer:
    """Return the content of a document or a range of it; or a rendition, if `streamId` names a rendition."""
    target = call.target
    stored = content_of(call.repository, target.object_id, target.path)
    stream = call.parameters.get("streamId")
    if stream == rendition.PDF:
        return _get_rendition(call, stored)
    if stream is not None and stream != stored.content_id:
        raise ObjectNotFound(f"no stream {stream[:80]}")
    etag = f'"{stored.content_id}"'
    headers = {
        **_FOREIGN,
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Content-Disposition": _disposition(call, stored.file_name or stored.name),
    }
    if call.headers.get("if-none-match") in (etag, "*"):
        return Answer(304, headers={"ETag": etag})
    length = stored.content_length or 0
    wanted = parse_range(call.headers.get("range"), length) if call.headers.get("if-range", etag) == etag else None
    offset, count = wanted or (0, length)
    if wanted is not None:
        headers["Content-Range"] = f"bytes {offset}-{offset + count - 1}/{length}"
    part = Part(stored, stored.content_id or "", offset, count, length)
    media_type = stored.mime_type or editing.DEFAULT_MIME_TYPE
    status = 200 if wanted is None else 206
    if count > PIECE and not call.repository.storage.cache.accepts(length):
        return Answer(status, b"", media_type, headers, part)
    return Answer(status, read_part(call.repository, part, offset, count), media_type, headers)


def _get_rendition(call: Call, stored: Stored) -> Answer:
    length = stored.content_length or 0
    if not rendition.can_convert(stored.mime_type):
        raise Constraint(f"{stored.object_id} is {stored.mime_type}, which has no PDF rendition")
    if length > rendition.MAX_CONVERTED:
        raise Constraint(f"{stored.object_id} has {length} bytes, at most {rendition.MAX_CONVERTED} can be converted")
    part = Part(stored, stored.content_id or "", 0, length, length)
    data = read_part(call.repository, part, 0, length)
    pdf = rendition.to_pdf(data, stored.mime_type or "", stored.name)
    return Answer(200, pdf, "application/pdf", {"Content-Disposition": _disposition(call, f"{stored.name}.pdf")})


# CMIS services that change objects.


def create_document(call: Call) -> Answer:
    parameters = call.parameters
    state = parameters.get("versioningState") or "major"
    document = editing.create_document(
        call.repository,
        call.user,
        call.target,
        parameters.properties(),
        parameters.upload,
        state,
        parameters.view(),
    )
    return to_json(document, 201)


def create_folder(call: Call) -> Answer:
    parameters = call.parameters
    return to_json(
        editing.create_folder(call.repository, call.user, call.target, parameters.properties(), parameters.view()),
        201,
    )


def update(call: Call) -> Answer:
    parameters = call.parameters
    properties, token = parameters.properties(), parameters.get("changeToken")
    return to_json(editing.update(call.repository, call.user, call.target, properties, token, parameters.view()))


def set_content(call: Call) -> Answer:
    parameters = call.parameters
    if parameters.upload is None:
        raise InvalidArgument("the part named content is missing")
    overwrite, token = parameters.flag("overwriteFlag", True), parameters.get("changeToken")
    document = editing.set_content(
        call.repository, call.user, call.target, parameters.upload, overwrite, token, parameters.view()
    )
    return to_json(document, 201)


def delete_content(call: Call) -> Answer:
    parameters = call.parameters
    return to_json(
        editing.set_content(
            call.repository,
            call.user,
            call.target,
            None,
            True,
            parameters.get("changeToken"),
            parameters.view(),
        )
    )


def delete(call: Call) -> Answer:
    deleting.delete(call.repository, call.user, call.target, call.parameters.flag("allVersions", True))
    return Answer()


def delete_tree(call: Call) -> Answer:
    left = deleting.delete_tree(call.repository, call.user, call.target)
    return to_json({"ids": left}) if left else Answer()


def check_out(call: Call) -> Answer:
    return to_json(versions.check_out(call.repository, call.user, call.target, call.parameters.view()), 201)


def cancel_check_out(call: Call) -> Answer:
    deleting.cancel_check_out(call.repository, call.user, call.target)
    return Answer()


def check_in(call: Call) -> Answer:
    parameters = call.parameters
    document = versions.check_in(
        call.repository,
        call.user,
        call.target,
        parameters.properties(),
        parameters.upload,
        parameters.flag("major", True),
        (parameters.get("checkinComment") or "")[:2000] or None,
        parameters.view(),
    )
    return to_json(document, 201)


# Maps each operation of `cmisselector` or `cmisaction` to its name in the metrics, and to its function.
REPOSITORY_SELECTORS: dict[str, tuple[str, Service]] = {
    "repositoryInfo": ("getRepositoryInfo", get_repositories),
    "typeDefinition": ("getTypeDefinition", get_type_definition),
    "typeChildren": ("getTypeChildren", get_type_children),
    "query": ("query", query),
}
REPOSITORY_ACTIONS: dict[str, tuple[str, Service]] = {"query": ("query", query)}
OBJECT_SELECTORS: dict[str, tuple[str, Service]] = {
    "object": ("getObject", get_object),
    "properties": ("getProperties", get_properties),
    "children": ("getChildren", get_children),
    "content": ("getContentStream", get_content),
    "versions": ("getAllVersions", get_versions),
    "renditions": ("getRenditions", get_renditions),
    "parent": ("getFolderParent", get_parent),
    "parents": ("getObjectParents", get_parents),
    "allowableActions": ("getAllowableActions", get_allowable_actions),
}
OBJECT_ACTIONS: dict[str, tuple[str, Service]] = {
    "createDocument": ("createDocument", create_document),
    "createFolder": ("createFolder", create_folder),
    "update": ("updateProperties", update),
    "setContent": ("setContentStream", set_content),
    "deleteContent": ("deleteContentStream", delete_content),
    "delete": ("deleteObject", delete),
    "deleteTree": ("deleteTree", delete_tree),
    "checkOut": ("checkOut", check_out),
    "cancelCheckOut": ("cancelCheckOut", cancel_check_out),
    "checkIn": ("checkIn", check_in),
    "query": ("query", query),
}


def default_service(call: Call) -> Answer:
    """Answer a request without `cmisselector`: return a folder's children, a document's content, or else the object."""
    target = call.target
    stored = reading.get_stored(call.repository, target.object_id, target.path)
    if stored.is_folder:
        return get_children(call)
    return get_content(call) if stored.is_document else get_object(call)
