"""Updates the full-text index of the latest versions' texts: FTS5 in SQLite, a tsvector column in PostgreSQL."""

from __future__ import annotations

from typing import BinaryIO

from content_server.database import Database, Session

# Length up to which a text is indexed, because PostgreSQL limits a tsvector to 1 MiB. [bytes]
MAX_INDEXED = 256 * 1024


def text_of(content: BinaryIO, mime_type: str) -> str | None:
    """Return the text of an upload to index, and rewind the stream; None if the MIME type is not text."""
    if not mime_type.startswith("text/"):
        return None
    text = content.read(MAX_INDEXED).decode("utf-8", "replace").replace("\x00", " ")
    content.seek(0)
    return text


def insert_statement(database: Database) -> str:
    """Return the SQL statement that indexes a text, with an object's number and the text as parameters."""
    if database.kind == "sqlite":
        return "INSERT INTO fulltext (rowid, words) VALUES (?, ?)"
    return "INSERT INTO fulltext (object, words) VALUES (?, to_tsvector('simple', ?))"


def _key(database: Database) -> str:
    return "rowid" if database.kind == "sqlite" else "object"


def add(database: Database, session: Session, number: int, text: str | None) -> None:
    """Add the text of object `number` to the index; do nothing if the text is None."""
    if text is not None:
        session.change("fulltext", insert_statement(database), (number, text))


def remove(database: Database, session: Session, number: int) -> None:
    """Remove the text of object `number` from the index."""
    session.change("fulltext", f"DELETE FROM fulltext WHERE {_key(database)} = ?", (number,))


def move(database: Database, session: Session, source: int, target: int) -> None:
    """Move an index entry from object `source` to object `target`."""
    if database.kind == "postgresql":
        session.change("fulltext", "UPDATE fulltext SET object = ? WHERE object = ?", (target, source))
        return
    session.change(
        "fulltext",
        "INSERT INTO fulltext (rowid, words) SELECT ?, words FROM fulltext WHERE rowid = ?",
        (target, source),
    )
    remove(database, session, source)
