"""Encodes and decodes values inside recorded texts: forms, queries, JSON, XML."""

from __future__ import annotations

import html
import json
from urllib.parse import quote, quote_plus, unquote_plus

from towtank.workload.importers.draft import Step
from towtank.workload.importers.encoded import decoded, survives
from towtank.workload.importers.har.forms import FORM


def encoding_of_body(step: Step) -> str:
    """Return the encoding of values in the body of a request, which follows from the media type.

    The result is an empty text if the encoding is unknown.

    Examples
    --------
    >>> encoding_of_body({"headers": {"content-type": "application/problem+json; charset=utf-8"}})
    'json'
    """
    given = [text for name, text in step.get("headers", {}).items() if name.lower() == "content-type"]
    kind = given[-1].partition(";")[0].strip().lower() if given else ""
    if kind == FORM:
        return "url"
    ending = kind.rpartition("/")[2].rpartition("+")[2]
    return {"json": "json", "xml": "html", "html": "html"}.get(ending, "")


def written(value: str, encoding: str) -> set[str]:
    """Return all texts by which an encoding may represent a value."""
    if encoding == "url":
        return {each for each in (value, quote(value, safe=""), quote_plus(value)) if unquote_plus(each) == value}
    if encoding == "json":
        return {json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]}
    return {html.escape(value), html.escape(value, quote=False)} if encoding == "html" else {value}


def read(text: str, encoding: str, *, in_query: bool = False) -> str | None:
    """Return the value that a text represents in an encoding; None if the text is not valid in this encoding, or if
    encoding the value again would give other bytes.

    Examples
    --------
    >>> read("a%2Bb", "url"), read("100%", "url"), read('q\\\\"', "json"), read("a&amp;b", "html")
    ('a+b', None, 'q"', 'a&b')
    """
    if encoding == "url":
        return decoded(text, in_query=in_query) if survives(text, in_query=in_query) else None
    if encoding == "json":
        try:
            value = json.loads(f'"{text}"')
        except ValueError:
            return None
        return value if isinstance(value, str) else None
    return html.unescape(text) if encoding == "html" else text


def place(template: str, encoding: str) -> str:
    """Return a template placeholder `${...}` with an encoding.

    Examples
    --------
    >>> place("${parameters.token}", "url"), place("${token}", "")
    ('${parameters.token|url}', '${token}')
    """
    return f"{template[:-1]}|{encoding}}}" if encoding else template
