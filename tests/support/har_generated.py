"""Generates random HAR recordings of known requests, for tests of the HAR import."""

from __future__ import annotations

import json
from random import Random
from typing import Any

_PATHS = (
    "/a",
    "/a/",
    "/b%20c",
    "/%C3%A4",
    "/d?x=1",
    "/d?x=1&y=%26",
    "/d?x=1&x=2",
    "/d?flag",
    "/[z]",
    "/a.css",
    "/bad",
    "/",
)
_TEXTS = ("1", "two words", "a+b", "a&b=c", "x/y", "ä", "", "${no}")
# Values for `params` that URL decoding does not change. HAR writers differ: some percent-encode these values, others do
# not.
_PLAIN = ("1", "two words", "x/y", "ä", "")
_HEADERS = (("X-One", "a b"), ("X-Two", "2"), ("X-Two", "again"), ("Accept-Language", "de"), ("X-Empty", ""))


def recorded(seeds: range, address: str) -> dict[str, Any]:
    """Return a recording of consecutive requests that do not overlap, generated from several seeds."""
    entries = [entry for seed in seeds for entry in _requests(Random(seed), address)]
    for number, entry in enumerate(entries):
        entry["startedDateTime"] = f"2026-01-01T00:00:{number // 100:02}.{number % 100:02}0+00:00"
    return {"log": {"version": "1.2", "creator": {"name": "t", "version": "1"}, "entries": entries}}


def _requests(draw: Random, address: str) -> list[dict[str, Any]]:
    return [_entry(draw, address) for _ in range(draw.randint(2, 5))]


def _entry(draw: Random, address: str) -> dict[str, Any]:
    path = draw.choice(_PATHS)
    method = draw.choice(("GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"))
    headers = [{"name": name, "value": value} for name, value in draw.sample(_HEADERS, draw.randint(0, 2))]
    body = _body(draw) if method in {"POST", "PUT", "PATCH"} else None
    if body is not None:
        headers.append({"name": "Content-Type", "value": body["mimeType"]})
    request: dict[str, Any] = {"method": method, "url": f"http://{address}{path}", "headers": headers}
    content = {"mimeType": "text/html", "text": "<p>page</p>"}
    answer = {"status": 404 if path == "/bad" else 200, "headers": [], "content": content}
    return {"time": 5, "request": {**request, **({"postData": body} if body else {})}, "response": answer}


def _body(draw: Random) -> dict[str, Any] | None:
    kind = draw.choice(("none", "json", "form", "params", "text"))
    if kind == "none":
        return None
    if kind == "json":
        value = draw.choice(({}, [], {"a": [1, "x", None]}, "text", ["ä", "${x}"], 7))
        return {
            "mimeType": draw.choice(("application/json", "application/json;charset=utf-8")),
            "text": json.dumps(value),
        }
    if kind == "text":
        return {"mimeType": draw.choice(("text/plain", "application/xml")), "text": draw.choice(_TEXTS[:-2]) + "."}
    media = "application/x-www-form-urlencoded"
    if kind == "form":
        return {"mimeType": media, "text": draw.choice(("a=1&b=two+words", "a=1&a=2", "a=%C3%A4&b", "a="))}
    pairs = [{"name": name, "value": draw.choice(_PLAIN)} for name in draw.sample("pqp", draw.randint(1, 3))]
    return {"mimeType": media, "params": pairs}
