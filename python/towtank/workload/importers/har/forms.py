"""Converts forms whose fields or parts a recording lists (`params` of HAR 1.2)."""

from __future__ import annotations

import re
from typing import Any

from towtank.units import exact_size
from towtank.workload.importers.bodies import parts_of
from towtank.workload.importers.draft import ImportDraft, literal
from towtank.workload.importers.nodes import number_of, place_of, text_of
from towtank.workload.templates import percent_encoded
from towtank.yamlfile import Node

FORM = "application/x-www-form-urlencoded"
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")


def form_text(params: list[Node], draft: ImportDraft) -> str:
    """Return the encoded text of a form from its recorded names and values (`params`)."""
    pairs = [(text_of(each, "name"), text_of(each, "value"), place_of(each)) for each in params]
    for name, value, place in pairs:
        if _ESCAPE.search(name + value):
            why = "is read as decoded text, as HAR 1.2 requires without `text`: its % is sent as %25"
            draft.notes.add(place, f"field {name}", why)
    return "&".join(f"{percent_encoded(name)}={percent_encoded(value)}" for name, value, _ in pairs)


def parts(listed: list[Node], draft: ImportDraft) -> Any:
    """Return the parts of a multipart body as they are written in a workload file.

    A file is replaced by generated content of the same size.
    """
    made: list[tuple[str, Any]] = []
    for each in listed:
        name, file = text_of(each, "name"), text_of(each, "fileName")
        if file:
            size = exact_size(int(number_of(each, "_size", default=10 * 1024)))
            why = f"its content is not imported: generated content of {size} is sent instead"
            draft.notes.add(place_of(each), f"file {file}", why)
            made.append((name, {"generated": {"size": size}, "filename": literal(file), **_media(each)}))
        else:
            value, media = literal(text_of(each, "value")), _media(each)
            made.append((name, {"value": value, **media} if media else value))
    return parts_of(made)


def _media(part: Node) -> dict[str, str]:
    media = text_of(part, "contentType")
    return {"content_type": literal(media)} if media else {}
