"""Keys and types of the parts of a run summary that are read as JSON objects, and of `stored.json`. An object may have
further keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

# The objects keep their values, so a text such as "5" is no number here.
_Number = Annotated[float, Field(strict=True)]
_Count = _Number | Mapping[str, Any] | None


@dataclass(frozen=True)
class DoubtForm:
    """Reason of a verdict."""

    kind: str
    level: Literal["note", "suspect", "invalid"]
    message: str
    seen: _Number | None = None
    limit: _Number | None = None


def is_written_doubt(document: object) -> bool:
    """Return True if a value is a doubt as `Doubt.document` writes it: kind, level and message are texts."""
    texts = [document.get(key) for key in ("kind", "level", "message")] if isinstance(document, Mapping) else [None]
    return all(isinstance(text, str) for text in texts)


@dataclass(frozen=True)
class _HeldLoad:
    stages: tuple[str, ...]
    stretches: _Number


@dataclass(frozen=True)
class WindowForm:
    """Analysed window of a run: its time [s], and the stages of the load that it covers."""

    start_s: _Number
    end_s: _Number
    load: _HeldLoad | None = None


@dataclass(frozen=True)
class _Plateau:
    level: _Number
    passed: Annotated[bool, Field(strict=True)]


@dataclass(frozen=True)
class _Binding:
    text: str
    metric: str
    limit: _Number


@dataclass(frozen=True)
class LimitForm:
    """Load limit that a search found, with its plateaus."""

    plateaus: tuple[_Plateau, ...] | None = None
    binding: _Binding | None = None


@dataclass(frozen=True)
class SqlStatement:
    """SQL statement, with its calls, its time in all calls [s] and its rows; its plan, or why it has none."""

    queryid: str
    query: str
    calls: _Number
    seconds: _Number
    rows: _Number
    plan: tuple[str, ...] | None = None
    no_plan_because: str | None = ""


@dataclass(frozen=True)
class IndexAdvice:
    """Recommended index: the SQL that creates it, and the statement and the condition that it serves."""

    queryid: str
    statement: str
    table: str
    condition: str
    rows: _Number
    rows_kept: _Number
    sequential_scans: _Number


@dataclass(frozen=True)
class DatabaseWork:
    """Statements of a database that took the most time, recommended indexes, and the time of all statements [s]."""

    statements: tuple[SqlStatement, ...] = ()
    advice: tuple[IndexAdvice, ...] = ()
    seconds: _Number | None = None


@dataclass(frozen=True)
class _StoredItem:
    acknowledged_s: _Number


@dataclass(frozen=True)
class StoredForm:
    """Counts of stored documents, numbers or estimates [1], and the documents that are named."""

    acknowledged: _Count
    removed: _Count
    uncertain: _Count
    read: _Count
    found: _Count
    lost: _Count
    different: _Count
    unreadable: _Count
    unread: _Count
    kinds: dict[str, Mapping[str, object]]
    named: tuple[_StoredItem, ...]


@dataclass(frozen=True)
class _Counts:
    acknowledged: _Number | None = None
    removed: _Number | None = None
    uncertain: _Number | None = None
    read: _Number | None = None
    found: _Number | None = None
    lost: _Number | None = None
    different: _Number | None = None
    unreadable: _Number | None = None
    unread: _Number | None = None


@dataclass(frozen=True)
class _CountsOfKind(_Counts):
    named: tuple[_StoredItem, ...] = ()


@dataclass(frozen=True)
class StoredFileForm(_Counts):
    """Counts of `stored.json`. [1]"""

    kinds: dict[str, _CountsOfKind] = field(default_factory=dict)
