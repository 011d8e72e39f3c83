"""Stores the derived documents of a results folder. A document is computed again only if its sources, or the programs
that made it, have changed.

The key `made_from` of a stored document contains the digests of its sources and of these programs.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from towtank.containment import failures_so_far
from towtank.engine import binary
from towtank.errors import EngineError, StudyError
from towtank.files import read_regular
from towtank.files import sha256_of as sha256
from towtank.results.folder import offer_json
from towtank.results.manifests import object_of

__all__ = ["Document", "Sources", "code", "finite", "made_or_kept", "read_finite", "sha256", "sources_of"]

MADE_FROM = "made_from"
_CONTENT = "content"
Document = dict[str, Any]
Sources = Mapping[str, str | None]
# Texts of numbers that Python may read as infinity or NaN. They include numbers with large exponents, such as 1e999.
_NOT_FINITE = re.compile(r"NaN|Infinity|\d[eE]\+?\d{3}")


def made_or_kept(path: Path, make: Callable[[], Document], sources: Callable[[], Sources | None]) -> Document:
    """Return the stored document if it is up to date; otherwise compute and store a new document.

    If a part of a document cannot be computed, the document is stored, but computed again the next time. In a read-only
    folder no document is stored. `sources` returns the digests of the document's sources, or None if they are unknown:
    a stored document is not used then.
    """
    kept = read_finite(path)
    known = sources()
    if known is not None and kept.pop(MADE_FROM, None) == {**known, _CONTENT: _digest_of(kept)}:
        return kept
    failures = failures_so_far()
    document = dict(finite(make()))
    is_whole = failures_so_far() == failures
    now = sources() if is_whole else None
    offer_json(path, {**document, MADE_FROM: None if now is None else {**now, _CONTENT: _digest_of(document)}})
    return document


def _digest_of(document: Document) -> str:
    """Return the digest of a document. A digest that differs shows that the stored file was changed or damaged."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def sources_of(lines: Iterable[str]) -> dict[str, str | None]:
    """Return the digest of a document's sources, given as lines, and the digest of the programs."""
    return {"files": hashlib.sha256("".join(lines).encode()).hexdigest(), "code": code()}


@cache
def code() -> str:
    """Return a digest of the source code of this package and of the engine program."""
    programs = sorted(Path(__file__).parents[1].rglob("*.py"))
    with suppress(EngineError):
        programs.append(binary())
    digest = hashlib.sha256()
    for program in programs:
        digest.update(sha256(program).encode())
    return digest.hexdigest()


def read_finite(path: Path) -> Document:
    """Read a JSON object, with None in place of NaN and infinity; return an empty dict if the file cannot be read."""
    try:
        text = read_regular(path)
        document = object_of(path, text)
        return dict(finite(document)) if _NOT_FINITE.search(text) else document
    except (ValueError, OSError, StudyError):
        return {}


def finite(document: Any) -> Any:
    """Return a copy of a document in which None replaces NaN and infinity, which JSON and figures do not support."""
    if isinstance(document, Mapping):
        return {key: finite(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [finite(value) for value in document]
    return None if isinstance(document, float) and not math.isfinite(document) else document
