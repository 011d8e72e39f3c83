"""Reads the content of documents, or the part of a content that a Range header selects."""

from __future__ import annotations

import re
from dataclasses import dataclass

from content_server.errors import Constraint, ObjectNotFound, RangeNotSatisfiable, Storage
from content_server.repository.base import Repository, Stored, must_be_document, resolve

_RANGE = re.compile(r"bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.ASCII)


@dataclass(frozen=True)
class Part:
    """Part of a document's content.

    `offset` and `count` are the start and the length of the part, `length` is the length of the whole content. [bytes]
    """

    stored: Stored
    content_id: str
    offset: int
    count: int
    length: int

    @property
    def partial(self) -> bool:
        """True if the part is not the whole content."""
        return self.count != self.length


def parse_range(header: str | None, length: int) -> tuple[int, int] | None:
    """Return offset and length of a Range header; None for the whole content. [bytes]

    A header in an unknown format is ignored (RFC 9110, 14.2).

    Raises
    ------
    RangeNotSatisfiable
        If the range lies outside the content.

    Examples
    --------
    >>> parse_range("bytes=10-19", 100), parse_range("bytes=-5", 100), parse_range("lines=1-2", 100)
    ((10, 10), (95, 5), None)
    """
    match = _RANGE.fullmatch(header or "")
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        count = min(int(match[2]), length)
        if count == 0:
            raise RangeNotSatisfiable("the range is empty", length)
        return length - count, count
    first = int(match[1])
    last = min(int(match[2]), length - 1) if match[2] else length - 1
    if match[2] and int(match[2]) < first:
        return None  # RFC 9110 requires that an invalid range is ignored.
    if first >= length:
        raise RangeNotSatisfiable(f"the range begins at {first}, the content has {length} bytes", length)
    return first, last - first + 1


def content_of(repository: Repository, object_id: str | None, path: str) -> Stored:
    """Return the document that a request addresses by identifier or path, if it has content.

    Raises
    ------
    Constraint
        If the document has no content.
    """
    with repository.database.read() as session:
        stored = resolve(session, object_id, path)
    must_be_document(stored)
    if stored.content_id is None:
        raise Constraint(f"{stored.object_id} has no content")
    return stored


def read_part(repository: Repository, part: Part, offset: int, count: int) -> bytes:
    """Read `count` bytes of the content of `part`, from `offset` in the whole content. [bytes]

    Raises
    ------
    ObjectNotFound
        If another request replaced or deleted the content in the meantime.
    Storage
        If the content file is missing, although the database contains its identifier.
    """
    try:
        return repository.storage.read(part.content_id, offset, count, part.length)
    except FileNotFoundError:
        with repository.database.read() as session:
            known = session.row("contents", "SELECT 1 FROM object WHERE content_id = ?", (part.content_id,))
        if known is None:
            raise ObjectNotFound(f"the content of {part.stored.object_id} was deleted") from None
        raise Storage(f"the content file of {part.stored.object_id} is missing") from None
