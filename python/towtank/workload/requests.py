"""Compiles requests with their headers, bodies, extractions and checks for the engine."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towtank import files
from towtank.workload.calls import bounds_of
from towtank.workload.model import Defaults
from towtank.workload.noted import note_part
from towtank.workload.parts import Part
from towtank.workload.steps import Auth, Check, Extract, Request
from towtank.workload.templates import Writer, append_text, extend, percent_encoded

_FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_BYTES = "application/octet-stream"


@dataclass(frozen=True)
class RequestWriter:
    """Compiles HTTP requests to operations of the engine's plan. `variable` and `list_` return the index of a variable
    and of a list. File names are relative to `folder`.
    """

    writer: Writer
    variable: Callable[[str], int]
    list_: Callable[[str], int]
    defaults: Defaults
    folder: Path

    def write(
        self, request: Request, step: int, target: int, login: tuple[str, str] | None = None
    ) -> dict[str, object]:
        """Return the operation of the engine's plan for a request.

        `step` and `target` are indexes. `login` is the user and password in the target's address.
        """
        return {
            "op": "request",
            "step": step,
            "target": target,
            "method": request.method,
            "path": self._path(request),
            "headers": self._headers(request),
            "auth": self._auth(request, login),
            "body": self._body(request),
            "extract": [self._extract(name, spec) for name, spec in request.extract.items()],
            "checks": self._checks(request.check) if request.check is not None else [],
            "timeout_s": request.timeout,
            "on_failure": request.on_failure,
            **note_part(request, self.writer.write),
        }

    def _path(self, request: Request) -> list[Any]:
        path = self.writer.write(request.path)
        if request.query:
            append_text(path, "&" if "?" in request.path else "?")
            extend(path, self._fields(request.query))
        return path

    def _fields(self, fields: dict[str, str]) -> list[Any]:
        """Return the encoded fields of a query or a form as a template."""
        written: list[Any] = []
        for index, (name, value) in enumerate(fields.items()):
            append_text(written, ("&" if index else "") + percent_encoded(name) + "=")
            extend(written, self.writer.write(value, "url", literal=percent_encoded))
        return written

    def _headers(self, request: Request) -> list[Any]:
        """Return the headers of a request, and the defaults that it does not replace in any case of letters."""
        content_type = self._content_type(request)
        named = {"Content-Type": content_type} if content_type else {}
        headers: dict[str, tuple[str, str]] = {}
        for source in (self.defaults.headers, named, request.headers):
            headers.update({name.lower(): (name, value) for name, value in source.items()})
        return [[name, self.writer.write(value)] for name, value in headers.values()]

    @staticmethod
    def _content_type(request: Request) -> str | None:
        if request.form is not None:
            return _FORM
        if request.json_ is not None:
            return _JSON
        if request.body is not None:
            return _TEXT
        if request.file is not None:
            return mimetypes.guess_type(request.file)[0] or _BYTES
        return None

    def _auth(self, request: Request, login: tuple[str, str] | None) -> dict[str, object] | None:
        """Return the login for Basic authorization. The first login that exists is used: of the request, the defaults,
        or the target's address.
        """
        auth = self.defaults.auth if request.auth is None else request.auth
        if auth is None and login is not None and not self._authorizes(request):
            return {"user": [login[0]], "password": [login[1]]}
        if not isinstance(auth, Auth):
            return None
        return {"user": self.writer.write(auth.user), "password": self.writer.write(auth.password)}

    def _authorizes(self, request: Request) -> bool:
        return "authorization" in {name.lower() for name in (*self.defaults.headers, *request.headers)}

    def _body(self, request: Request) -> dict[str, object] | None:
        if request.form is not None:
            return {"kind": "text", "template": self._fields(request.form)}
        if request.json_ is not None:
            return {"kind": "text", "template": self._json(request.json_)}
        if request.body is not None:
            return {"kind": "text", "template": self.writer.write(request.body)}
        if request.file is not None:
            return {"kind": "file", "path": self._file(request.file)}
        if request.multipart is not None:
            return {"kind": "multipart", "parts": [self._part(name, part) for _, name, part in request.parts]}
        return None

    def _file(self, name: str) -> str:
        return files.engine_path((self.folder / name).resolve())

    def _json(self, value: Any) -> list[Any]:
        """Return a JSON value as a template, written without blanks."""
        written: list[Any] = []
        if isinstance(value, str):
            extend(written, ['"', *self.writer.write(value, "json", literal=_inside_json), '"'])
        elif isinstance(value, dict):
            for index, (key, inner) in enumerate(value.items()):
                append_text(written, ("," if index else "{") + json.dumps(key, ensure_ascii=False) + ":")
                extend(written, self._json(inner))
            append_text(written, "}" if value else "{}")
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                append_text(written, "," if index else "[")
                extend(written, self._json(inner))
            append_text(written, "]" if value else "[]")
        else:
            append_text(written, json.dumps(value))
        return written

    def _part(self, name: str, part: Part) -> dict[str, object]:
        written: dict[str, object] = {
            "name": name,
            "filename": None if part.filename is None else self.writer.write(part.filename),
            "content_type": part.content_type,
        }
        if part.file is not None:
            written["filename"] = written["filename"] or [Path(part.file).name]
            written["content_type"] = part.content_type or mimetypes.guess_type(part.file)[0] or _BYTES
            return {**written, "file": self._file(part.file)}
        if part.generated is not None:
            return {**written, "generated": {"bytes": part.generated.size, "form": part.generated.form}}
        return {**written, "content": self.writer.write(part.value or "")}

    def _extract(self, name: str, spec: Extract) -> dict[str, object]:
        source, expression = next((key, value) for key, value in spec.source.items() if value is not None)
        return {
            "into": {"list": self.list_(name)} if spec.fills_list else {"variable": self.variable(name)},
            "from": source,
            "expression": "" if source == "status" else expression,
            "pick": spec.pick,
            "required": spec.required and spec.default is None,
            "default": spec.default,
        }

    def _checks(self, check: Check) -> list[dict[str, object]]:
        written: list[dict[str, object]] = []
        if check.status is not None:
            written.append({"kind": "status", **_statuses(check.status)})
        if check.size is not None:
            written.append({"kind": "size", **bounds_of(check.size)})
        for texts, negated in ((check.contains, False), (check.not_contains, True)):
            written += [{"kind": "contains", "text": self.writer.write(text), "not": negated} for text in texts]
        for patterns, negated in ((check.regex, False), (check.not_regex, True)):
            written += [{"kind": "regex", "pattern": pattern, "not": negated} for pattern in patterns]
        for path, value in check.json_.items():
            equals = None if value is None else self.writer.write(value)
            written.append({"kind": "json", "expression": path, "equals": equals})
        for name, value in check.header.items():
            written.append({"kind": "header", "name": name, "contains": self.writer.write(value)})
        return written


def _inside_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _statuses(statuses: list[int | str]) -> dict[str, object]:
    """Return the accepted status codes in the form of the engine's plan.

    The result is a list of codes, or the bounds of a class such as `2xx` if only this class is accepted.
    """
    if len(statuses) == 1 and isinstance(statuses[0], str):
        first = int(statuses[0][0]) * 100
        return {"min": first, "max": first + 99}
    wanted: set[int] = set()
    for status in statuses:
        first = status if isinstance(status, int) else int(status[0]) * 100
        wanted.update([first] if isinstance(status, int) else range(first, first + 100))
    return {"in": sorted(wanted)}
