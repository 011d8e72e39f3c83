"""Converts the requests of scripts: URL, body and parameters of `http.get` and the other methods."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from towtank.workload.importers.accounting import Ledger
from towtank.workload.importers.bodies import body_of, parts_of
from towtank.workload.importers.draft import METHODS, Body, ImportDraft, Step, literal, request, seconds
from towtank.workload.importers.encoded import QUERY_SAFE, decoded, encoded, survives, texts_of
from towtank.workload.importers.headers import carry
from towtank.workload.importers.k6.table import OPTIONS
from towtank.workload.importers.k6.urls import located
from towtank.workload.importers.k6.values import File, FilePart, JsonText, Part, Random, Text, Unknown, Writer

_PATH = re.compile(r"([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_PLACE = re.compile(r"(\$\{[^}]*\})")
_SAFE = "/%:@!$&'()*+,;=~-._{}"
# Defaults of k6 for a file in a form: its media type, and its name. The name is the time in nanoseconds (http.file of
# k6 1.0).
_FILE_MEDIA, _FILE_NAME = "application/octet-stream", "${now.ms}000000"
# Largest size of a file that the script opens and whose text is copied into the workload. [character]
_FILE_AT_MOST = 100_000
_METHODS = {"del": "delete", "get": "get", "post": "post", "put": "put", "patch": "patch", "head": "head"}
Place = tuple[int, int]


class Requests:
    """Converts the requests of a script to steps."""

    def __init__(self, draft: ImportDraft, writer: Writer) -> None:
        self.draft = draft
        self.writer = writer
        self.ledger = Ledger(draft.notes, OPTIONS, strict=False)

    def call(self, name: str, arguments: list[Any], place: Place) -> Step | None:
        """Return the request for `http.NAME(...)`. If the call cannot be converted, add a note and return None."""
        if name == "request":
            method, rest = arguments[0] if arguments else None, arguments[1:]
            if not isinstance(method, str):
                self.draft.notes.add(place, "http.request", "left out: its method is not known")
                return None
        else:
            method, rest = _METHODS[name], arguments
        bodyless = name in {"get", "head"}
        url = rest[0] if rest else None
        body = None if bodyless else (rest[1] if len(rest) > 1 else None)
        at = 1 if bodyless else 2
        return self.make(method.upper(), url, body, rest[at] if len(rest) > at else None, place)

    def make(self, method: str, url: Any, body: Any, params: Any, place: Place) -> Step | None:
        """Return a request step. If the request cannot be converted, add a note and return None."""
        text = self.writer.text(url)
        if text is None or method not in METHODS:
            why = (
                url.why
                if isinstance(url, Unknown)
                else f"a workload cannot represent its URL or its method {method[:20]!r}"
            )
            self.draft.notes.add(place, f"{method} request", f"left out: {why}")
            return None
        try:
            found = located(text, self.draft, place)
        except ValueError as error:
            self.draft.notes.add(place, f"{method} request", f"left out: {error}")
            return None
        path, query = _path_and_query(found.path)
        if not isinstance(params, dict):
            if params is not None:
                self.draft.notes.add(place, "parameters of the request", "left out: they are not known before the run")
            params = {}
        headers = self._headers(params.get("headers"), place)
        self._cookies(params.get("cookies"), headers, place)
        sent = self._body(body, headers, place)
        return request(
            method,
            path,
            name=self._name(params, place),
            target=self.draft.target(found.address) if found.address else None,
            query=query,
            headers=headers,
            auth=found.login,
            body=sent,
            timeout=self._timeout(params.get("timeout"), place),
        )

    def _headers(self, headers: Any, place: Place) -> dict[str, str]:
        if headers is None:
            return {}
        if not isinstance(headers, dict):
            self.draft.notes.add(place, "headers", "left out: they are not known before the run")
            return {}
        templates: dict[str, str] = {}
        for name, value in headers.items():
            text = self.writer.text(value)
            if text is None:
                self.draft.notes.add(place, f"header {name}", "left out: its value is not known before the run")
            else:
                templates[name] = text
        plain = [(name, text.replace("$${", "${"), place) for name, text in templates.items()]
        others = [each for each in plain if each[0].lower() != "authorization"]
        carried = carry(others, self.draft.notes, recorded=False, keep={"cookie"})
        login = {name: text for name, text in templates.items() if name.lower() == "authorization"}
        return {**{name: templates[name] for name in carried.headers}, **login}

    def _cookies(self, cookies: Any, headers: dict[str, str], place: Place) -> None:
        """Add the cookies of a request to its Cookie header.

        k6 sends these cookies in addition to the cookies that it keeps for the user.
        """
        if cookies is None:
            return
        if not isinstance(cookies, dict):
            self.draft.notes.add(place, "cookies", "left out: they are not known before the run")
            return
        given = next((name for name in headers if name.lower() == "cookie"), "Cookie")
        pairs = [headers[given]] if given in headers else []
        for name, entry in cookies.items():
            what = f"cookie {name!r}"
            text = self.writer.text(entry.get("value") if isinstance(entry, dict) else entry)
            if text is None:
                self.draft.notes.add(place, what, "left out: its value is not known before the run")
                continue
            if not (isinstance(entry, dict) and entry.get("replace") is True):
                why = "replaces a server cookie with this name; k6 sends both"
                self.draft.notes.add(place, what, why)
            # k6 sends cookies through Go's net/http, which puts values that contain a space or a comma in quotes.
            pairs.append(f'{name}="{text}"' if re.search("[ ,]", _PLACE.sub("", text)) else f"{name}={text}")
        if pairs:
            headers[given] = "; ".join(pairs)

    def _body(self, body: Any, headers: dict[str, str], place: Place) -> Body | None:
        """Return the body of a request. Remove the Content-Type header if the key of the body implies it."""
        if body is None:
            return None
        given = next((name for name in headers if name.lower() == "content-type"), None)
        media = headers[given].partition(";")[0].strip().lower() if given else ""
        found: Body | None
        body = _content(body)
        if isinstance(body, JsonText):
            found = self._json(self._known(body.value, "value", place), media, place)
        elif isinstance(body, dict):
            found = self._fields(self._known(body, "field", place), headers, place)
        elif isinstance(body, str):
            found = body_of(body, media) if media else Body("body", literal(body))
        else:
            text = self.writer.text(body)
            found = Body("body", text) if text is not None else None
        if (
            given is None
            and body != ""
            and found is not None
            and found.key == "body"
            and not isinstance(body, dict | JsonText)
        ):
            self.draft.notes.add(
                place, "header Content-Type", "k6 sends texts without this header; the workload sends text/plain"
            )
        if found is None:
            self.draft.notes.add(
                place, "body", "is not known before the run: a generated text of 1 KiB is sent instead"
            )
            return Body("body", "${random.text(1024)}")
        implied = {
            "json": "application/json",
            "form": "application/x-www-form-urlencoded",
            "multipart": "multipart/form-data",
        }
        if given is not None and media == implied.get(found.key):
            del headers[given]
        return found

    def _known(self, value: Any, name: str, place: Place) -> Any:
        """Return a body in which each value that is not known before the run is replaced by the text `change-me`."""
        value = _content(value)
        if isinstance(value, dict):
            return {key: self._known(inner, key, place) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._known(inner, name, place) for inner in value]
        if isinstance(value, Unknown | File):
            why = value.why if isinstance(value, Unknown) else f"the file {value.path} is not a short text"
            self.draft.notes.add(place, f"field {name}", f"is sent as 'change-me': {why}")
            return "change-me"
        return value

    def _json(self, value: Any, media: str, place: Place) -> Body | None:
        written = self.writer.json(value)
        if written is None:
            return None
        if written[0] is None or not isinstance(written[0], dict | list):
            return Body("body", self.writer.text(JsonText(value)) or "null")
        if _numbers(value):
            why = "values that are only known during the run are sent as texts, even if the script sends numbers"
            self.draft.notes.add(place, "values in a JSON body", why)
        if not media:
            why = "k6 sends JSON without this header as text; the workload sends application/json"
            self.draft.notes.add(place, "header Content-Type", why)
        return Body("json", written[0])

    def _fields(self, fields: Mapping[str, object], headers: dict[str, str], place: Place) -> Body | None:
        """Return a form with its fields sorted by name, as in k6. A form with a file becomes a multipart body."""
        pairs = [
            (name, each)
            for name, value in sorted(fields.items())
            for each in (value if isinstance(value, list) else [value])
        ]
        if any(isinstance(value, FilePart) for _, value in pairs):
            for name in (name for name, value in fields.items() if isinstance(value, list)):
                why = "is sent as several parts with this name; k6 joins the list to one text if the form has a file"
                self.draft.notes.add(place, f"field {name}", why)
            return self._multipart(pairs, place)
        texts = [(name, text) for name, value in pairs if (text := self._field(value)) is not None]
        if len(texts) < len(pairs):
            return None
        if len(dict(texts)) == len(texts):
            return Body("form", dict(texts))
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return Body("body", "&".join(f"{quote(name, safe='')}={encoded(text)}" for name, text in texts))

    def _multipart(self, pairs: list[tuple[str, Any]], place: Place) -> Body | None:
        """Return a multipart body with the fields first and then the files.

        If a name has several values, each value becomes a part.
        """
        parts: list[tuple[str, Any]] = []
        for name, value in sorted(pairs, key=lambda pair: isinstance(pair[1], FilePart)):
            part: Any = self._file(name, value, place) if isinstance(value, FilePart) else self._field(value)
            if part is None:
                return None
            parts.append((name, part))
        return Body("multipart", parts_of(parts))

    def _file(self, field: str, part: FilePart, place: Place) -> dict[str, object]:
        """Return the multipart part for a file. If its content is not known as text, the content is generated."""
        file = part.content if isinstance(part.content, File) else None
        text = self.writer.text(_content(part.content))
        content: Step = {"value": text} if text is not None else {"generated": {"size": "10 KiB"}}
        if text is None:
            what = f"file {file.path}" if file is not None else f"file of the field {field}"
            why = "generated content of 10 KiB is sent; to send the file, name it in the workload"
            self.draft.notes.add(place, what, why)
        name = _FILE_NAME if part.name is None else self.writer.text(part.name)
        media = _FILE_MEDIA if part.media is None else self.writer.text(part.media)
        for what, given, sent in (("name", name, _FILE_NAME), ("media type", media, _FILE_MEDIA)):
            if given is None or not given.isprintable() or (what == "media type" and "${" in given):
                why = f"its {what} cannot be used in a workload: the {what} {sent} is sent instead"
                self.draft.notes.add(place, f"file of the field {field}", why)
                name, media = (sent, media) if what == "name" else (name, sent)
        return {**content, "filename": name, "content_type": media}

    def _field(self, value: Any) -> str | None:
        """Return the value of a form field as k6 sends it. None becomes `<nil>`, because k6 is written in Go."""
        return "<nil>" if value is None else self.writer.text(value)

    def _name(self, params: Mapping[str, object], place: Place) -> str | None:
        """Return the tag `name`, by which k6 groups requests; note the other parameters that are lost."""
        tags = params.get("tags")
        name = tags.get("name") if isinstance(tags, dict) else None
        for key, value in params.items():
            # With `null` as responseCallback, k6 counts no response as failed. For all other parameters `null` is the
            # default.
            text = "null" if key == "responseCallback" and value is None else json_text(value)
            self.ledger.settle("params", key, text, place)
        return name if isinstance(name, str) and name else None

    def _timeout(self, value: Any, place: Place) -> str | None:
        if value is None:
            return None
        limit = duration(value)
        if limit is None and isinstance(value, int | float):
            limit = value / 1000
        if limit is None or limit <= 0:
            self.draft.notes.add(place, "timeout", "left out: it is not a duration that is known before the run")
            return None
        return seconds(limit)


def _path_and_query(template: str) -> tuple[str, dict[str, str]]:
    """Return the path of a URL, and its query as a mapping.

    If a mapping cannot represent the query, it stays in the path.
    """
    found = _PATH.fullmatch(template)
    assert found is not None  # this regular expression matches every text
    path = _each(found[1], lambda text: quote(text, safe=_SAFE))
    if found[2] is None:
        return path, {}
    pairs = [part.partition("=") for part in found[2].split("&")]
    whole = all(sign and "${" not in key and _survives(key) and _survives(value) for key, sign, value in pairs)
    query = {_decoded(key): _each(value, _decoded) for key, _, value in pairs} if whole else {}
    if whole and len(query) == len(pairs):
        return path, query
    return f"{path}?{'&'.join(_as_written(*pair) for pair in pairs)}", {}


def _content(value: Any) -> Any:
    """Return the text of a file that the script opens, if it is short; return any other value unchanged."""
    known = isinstance(value, File) and value.text is not None and len(value.text) <= _FILE_AT_MOST
    return value.text if known else value


def _survives(template: str) -> bool:
    """Return True if the literal texts of a query template stay the same when they are decoded and encoded again."""
    return survives(texts_of(template), in_query=True)


def _decoded(text: str) -> str:
    return decoded(text, in_query=True)


def _as_written(key: str, sign: str, value: str) -> str:
    """Return a name and value of a query as written; the engine encodes values known only at run time."""
    return f"{_each(key, lambda text: quote(text, safe=_SAFE))}{sign}{encoded(value, QUERY_SAFE)}"


def _numbers(value: Any) -> bool:
    """Return True if a JSON value may contain a number that is known only at run time."""
    if isinstance(value, dict | list):
        return any(_numbers(each) for each in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, Random | Part) or (isinstance(value, Text) and value.number)


def json_text(value: Any) -> str:
    """Return a value as JSON text for notes; an empty text for null."""
    try:
        return "" if value is None else json.dumps(value)
    except TypeError:
        return "..."


def duration(value: Any) -> float | None:
    """Parse a k6 duration such as `1m30s`; None if the value is not a duration. [s]

    Examples
    --------
    >>> duration("1m30s")
    90.0
    """
    units = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    if not isinstance(value, str) or not re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h|d))+", value):
        return None
    return sum(float(number) * units[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", value))


def _each(template: str, change: Any) -> str:
    """Apply a function to the literal texts of a template, but not to the placeholders `${...}`."""
    return "".join(piece if piece.startswith("${") else change(piece) for piece in _PLACE.split(template))
