"""Reads OpenAPI 3.0 and 3.1 descriptions into drafts with one transaction per operation, all with the same weight."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from towtank import yamlfile
from towtank.errors import StudyError
from towtank.workload.importers import jsonfile
from towtank.workload.importers.accounting import Ledger
from towtank.workload.importers.bodies import parts_of
from towtank.workload.importers.draft import (
    METHODS,
    Body,
    DraftGroup,
    ImportDraft,
    ImportOptions,
    equal_weights,
    identifier,
    literal,
    request,
    unique,
    url_address,
    user_info,
)
from towtank.workload.importers.expected import Expected
from towtank.workload.importers.nodes import child_of, entries_of, items_of, place_of, text_of
from towtank.workload.importers.openapi.table import KEYS
from towtank.workload.importers.openapi.values import Maker, References
from towtank.workload.importers.textfile import read_text
from towtank.yamlfile import Node

_PLACE = re.compile(r"\{([^{}]+)\}")
_FORM = "application/x-www-form-urlencoded"
# Headers that an OpenAPI description must not declare as parameters, because other keys declare them.
_NO_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
# Keys of a path item that do not denote an operation such as `get`.
_NOT_OPERATIONS = frozenset({"parameters", "servers", "summary", "description", "$ref"})
_OTHER_METHODS = frozenset({"options", "trace"})


def read(path: Path, options: ImportOptions) -> ImportDraft:
    """Read an OpenAPI description into a draft."""
    root = _tree(path)
    version = child_of(root, "openapi")
    if version is None or not re.fullmatch(r"3\.[01](\.\d+)?", str(version.value)):
        got = "swagger 2.0" if child_of(root, "swagger") is not None else repr(version.value) if version else "none"
        message = f"must be OpenAPI 3.0 or 3.1 with the key openapi, got {got} instead"
        place = version or child_of(root, "swagger") or root
        raise StudyError.at(path, message, line=place.line, column=place.column, where="openapi")
    title = text_of(root, "info", "title") or path.stem
    draft = ImportDraft(str(path), "openapi", identifier(title, "interface"), title)
    reader = _Reader(draft, root, only_reads=options.only_reads)
    reader.read()
    ledger = Ledger(draft.notes, KEYS, own=lambda key: key.startswith(("x-", "/")))
    ledger.settle_tree(root, "openapi", References(root, lambda *_: None).resolve)
    return draft


def _tree(path: Path) -> Node:
    """Read the OpenAPI description as JSON or YAML. The JSON reader does not have the size limits of study files."""
    if read_text(path, at_most=200_000_000).lstrip()[:1] == "{":
        return jsonfile.load(path)
    return yamlfile.load(path).root


class _Reader:
    def __init__(self, draft: ImportDraft, root: Node, *, only_reads: bool = False) -> None:
        self.draft = draft
        self.only_reads = only_reads
        self.root = root
        self.note = draft.notes.add
        self.references = References(root, self.note)
        self.maker = Maker(self.references, self.note)
        self.base = ""

    def read(self) -> None:
        """Create the transactions, the group and the target of the draft."""
        self._server()
        for path, declared in entries_of(self.root, "paths").items():
            item = self.references.resolve(declared)
            for method, operation in entries_of(item).items() if item is not None else ():
                if method.upper() in METHODS:
                    self._operation(path, method, operation, items_of(item, "parameters"))
                elif method in _OTHER_METHODS:
                    why = f"left out: a workload supports the methods {', '.join(sorted(METHODS))}"
                    self.note(place_of(operation), f"{method.upper()} {path}", why)
                elif method not in _NOT_OPERATIONS and not method.startswith("x-"):
                    self.note(place_of(operation), f"{path}.{method}", "left out: it is not an operation")
        hooks = child_of(self.root, "webhooks")
        if hooks is not None:
            self.note(place_of(hooks), "webhooks", "left out: the server sends these requests")
        if self.draft.transactions:
            mix = equal_weights(self.draft.transactions)
            self.draft.groups = {"users": DraftGroup(mix, {"exponential": "1 s"})}
            why = "are not in the description: all operations are equally frequent, and users pause for 1 s on average"
            self.note((1, 0), "mix and think times", why)

    def _server(self) -> None:
        servers = items_of(self.root, "servers")
        url = text_of(servers[0], "url") if servers else ""
        for name, variable in (entries_of(servers[0], "variables") if servers else {}).items():
            url = url.replace(f"{{{name}}}", text_of(variable, "default"))
        for server in servers[1:]:
            self.note(place_of(server), f"server {text_of(server, 'url')}", "left out: the first server is used")
        if "://" in url:
            try:
                address = url_address(url)
            except ValueError as error:
                raise StudyError.at(
                    self.draft.source,
                    str(error),
                    line=servers[0].line,
                    column=servers[0].column,
                    where="servers[0].url",
                ) from None
            self.draft.target(address)
            login = user_info(url)
            if login is not None:
                self.draft.defaults["auth"] = login
            url = url.split("://", 1)[1].partition("/")[2]
        self.base = "/" + url.strip("/") if url.strip("/") else ""

    def _operation(self, path: str, method: str, operation: Node, shared: list[Node]) -> None:
        name = identifier(text_of(operation, "operationId") or f"{method} {path}", "operation")
        name = unique(name, self.draft.transactions)
        label = f"{method.upper()} {path}"
        if self.only_reads and (why := self._why_unready(path, method, operation, shared)) is not None:
            self.note(place_of(operation), label, f"left out: {why}")
            return
        values = self._parameters(label, [*shared, *items_of(operation, "parameters")])
        body, own = self._body(label, operation)
        headers = {**values["header"], **own}
        query = dict(values["query"])
        cookies = dict(values["cookie"])
        auth = self._security(label, operation, {"header": headers, "query": query, "cookie": cookies})
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        for key in ("callbacks",):
            node = operation.child(key)
            if node is not None:
                self.note(place_of(node), f"{label}: {key}", "left out: the server sends these requests")
        if getattr(operation.child("deprecated"), "value", False) is True:
            self.note(
                place_of(operation), label, "is deprecated, but has the same weight in the mix as the other operations"
            )
        self.draft.transactions[name] = [
            request(
                method,
                self._path(label, path, values["path"], operation),
                name=label,
                query=query,
                headers=headers,
                auth=auth,
                body=body,
                check=_check(operation),
            )
        ]

    def _why_unready(self, path: str, method: str, operation: Node, shared: list[Node]) -> str | None:
        """Return the reason why an operation is not suitable for a load that only reads data; None if the operation is
        suitable.

        The operation must not change data, and each required value must have an example.
        """
        if method.lower() != "get":
            return "it may change data"
        declared = [self.references.resolve(each) for each in (*shared, *items_of(operation, "parameters"))]
        known = {text_of(each, "name"): each for each in declared if each is not None}
        places = [name for name in _PLACE.findall(path) if name not in known]
        required = [name for name, each in known.items() if getattr(each.child("required"), "value", False) is True]
        lacking = places + [name for name in required if not self._example(known[name])[0]]
        return None if not lacking else f"it needs {' and '.join(lacking)}, for which it has no example"

    def _path(self, label: str, path: str, values: dict[str, str], operation: Node) -> str:
        whole = literal(quote(self.base + path, safe="/{}:@!$&'()*+,;=~-._%"))

        def value(match: re.Match[str]) -> str:
            name = match.group(1)
            if name not in values:
                self.note(place_of(operation), f"{label}: {{{name}}}", "is not described: the value 1 is sent")
            return values.get(name, "1")

        filled = _PLACE.sub(value, whole.replace("%7B", "{").replace("%7D", "}"))
        return filled if filled.startswith("/") else f"/{filled}"

    def _parameters(self, label: str, declared: list[Node]) -> dict[str, dict[str, str]]:
        """Return the values of an operation's parameters by location and name.

        Parameters of the operation replace parameters of its path that have the same name.
        """
        values: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}, "cookie": {}}
        for each in declared:
            parameter = self.references.resolve(each)
            if parameter is None:
                continue
            name, where = text_of(parameter, "name"), text_of(parameter, "in")
            if where not in values:
                self.note(place_of(parameter), f"{label}: {where} {name}", "left out: its location is unknown")
                continue
            if where == "header" and name.lower() in _NO_PARAMETERS:
                why = "left out: it follows from bodies, responses and logins (OpenAPI 3.1, Parameter Object)"
                self.note(place_of(parameter), f"{label}: header {name}", why)
                continue
            required = getattr(parameter.child("required"), "value", False) is True
            given, value = self._given(parameter)
            if not given and not required:
                self.note(
                    place_of(parameter), f"{label}: {where} {name}", "left out: it is optional and has no example"
                )
                continue
            if not given:
                why = "is generated from its schema: use a data pool to send real values"
                self.note(place_of(parameter), f"{label}: {where} {name}", why)
            text = self._serialised(value, parameter, f"{label}: {where} {name}")
            values[where][name] = quote(text, safe="-._~${}|,") if where == "path" and "${" not in text else text
        return values

    def _example(self, parameter: Node) -> tuple[bool, Any]:
        """Return True and the example of a parameter; (False, None) if it has no example."""
        holders: list[Node | None] = [parameter, self.references.resolve(parameter.child("schema"))]
        for media in entries_of(parameter, "content").values():
            holders += [media, self.references.resolve(media.child("schema"))]
        for holder in holders:
            given, value = self.maker.example(holder) if holder is not None else (False, None)
            if given:
                return True, value
        return False, None

    def _given(self, parameter: Node) -> tuple[bool, Any]:
        """Return True and the example of a parameter; if it has no example, False and a generated value."""
        given, value = self._example(parameter)
        if given:
            return True, value
        schema = parameter.child("schema") or next(
            (m.child("schema") for m in entries_of(parameter, "content").values()), None
        )
        return False, self.maker.value(schema)

    def _serialised(self, value: Any, parameter: Node, label: str) -> str:
        """Return the value of a parameter as text.

        Lists are joined with commas. A mapping becomes JSON, and a note is added.
        """
        if isinstance(value, list):
            if len(value) > 1 and text_of(parameter, "in") == "query":
                self.note(place_of(parameter), label, "several values are sent as one value, joined with commas")
            return ",".join(_text(each) for each in value)
        if isinstance(value, dict):
            self.note(place_of(parameter), label, "a mapping is sent as JSON")
        return "1" if value is None else _text(value)

    def _body(self, label: str, operation: Node) -> tuple[Body | None, dict[str, str]]:
        body = self.references.resolve(operation.child("requestBody"))
        contents = entries_of(body, "content")
        if not contents:
            return None, {}
        media = next((each for each in contents if each.partition(";")[0].strip().endswith(("/json", "+json"))), None)
        media = media or next((each for each in (_FORM, "multipart/form-data") if each in contents), None)
        media = media or next(iter(contents))
        for other in contents:
            if other != media:
                self.note(place_of(contents[other]), f"{label}: body {other}", f"left out: {media} is sent")
        content = contents[media]
        given, value = self.maker.example(content)
        schema = content.child("schema")
        if not given:
            value = self.maker.value(schema)
            resolved = self.references.resolve(schema)
            if resolved is None or not self.maker.example(resolved)[0]:
                self.note(
                    place_of(content),
                    f"{label}: body",
                    "is generated from its schema: check that the server accepts it",
                )
        return self._encoded(label, media, value, content)

    def _encoded(self, label: str, media: str, value: Any, content: Node) -> tuple[Body, dict[str, str]]:
        named = {"Content-Type": literal(media)}
        if media.partition(";")[0].strip().endswith(("/json", "+json")):
            if value is None:
                return Body("body", "null"), named
            return Body("json", value), {} if media == "application/json" else named
        if media == _FORM and isinstance(value, dict):
            for key in (key for key, each in value.items() if isinstance(each, list | dict)):
                self.note(place_of(content), f"{label}: field {key}", "a list or a mapping is sent as JSON")
            return Body("form", {key: _text(each) for key, each in value.items()}), {}
        if media == "multipart/form-data" and isinstance(value, dict):
            parts = [(key, part) for key in value for part in self._parts(key, value[key], content)]
            return Body("multipart", parts_of(parts)), {}
        if isinstance(value, dict | list):
            self.note(place_of(content), f"{label}: body {media}", "cannot be generated: its value is sent as JSON")
        text = _text(value) if value is not None else "text"
        return Body("body", text), named if "*" not in media else {}

    def _parts(self, name: str, value: Any, content: Node) -> list[Any]:
        """Return the parts of a multipart body for a property.

        A file becomes one part, an array of files one part per file, and any other value one text.
        """
        schema = self.references.resolve(child_of(self.references.resolve(content.child("schema")), "properties", name))
        stem = identifier(name, "file")
        if text_of(schema, "format") == "binary":
            names = [f"{stem}.bin"]
        elif text_of(self.references.resolve(child_of(schema, "items")), "format") == "binary":
            number = len(value) if isinstance(value, list) else 1
            names = [f"{stem}_{index}.bin" for index in range(1, max(number, 1) + 1)]
        else:
            return [_text(value)]
        return [{"generated": {"size": "10 KiB"}, "filename": each} for each in names]

    def _security(self, label: str, operation: Node, places: dict[str, dict[str, str]]) -> dict[str, str] | None:
        """Return the login for Basic authentication that the first security requirement of an operation names.

        The result is None if the requirement names no such login. Keys and tokens that the requirement names are added
        to the request, with parameters as values.
        """
        declared = operation.child("security") or self.root.child("security")
        ways, auth = items_of(declared), None
        for way in ways[1:]:
            names = " and ".join(entries_of(way)) or "none"
            self.note(place_of(way), f"{label}: security {names}", "left out: the first kind of login is used")
        for name in entries_of(ways[0]) if ways else ():
            scheme = self.references.resolve(child_of(self.root, "components", "securitySchemes", name))
            kind, how, where = text_of(scheme, "type"), text_of(scheme, "scheme").lower(), text_of(scheme, "in")
            parameter = identifier(name, "secret")
            if scheme is None:
                why = "left out: components.securitySchemes has no entry with this name"
                self.note(place_of(ways[0]), f"security {name}", why)
            elif kind == "http" and how == "basic":
                auth = {
                    "user": f"${{parameters.{parameter}_user}}",
                    "password": f"${{parameters.{parameter}_password}}",
                }
                self._secret(scheme, name, f"{parameter}_user", f"{parameter}_password")
            elif kind == "apiKey" and where in places:
                places[where][text_of(scheme, "name")] = f"${{parameters.{parameter}}}"
                self._secret(scheme, name, parameter)
            elif kind in {"oauth2", "openIdConnect"} or (kind == "http" and how == "bearer"):
                places["header"]["Authorization"] = f"Bearer ${{parameters.{parameter}}}"
                self._secret(scheme, name, parameter)
            else:
                self.note(
                    place_of(scheme), f"security {name} ({kind})", "left out: it has no counterpart in a workload"
                )
        return auth

    def _secret(self, scheme: Node, name: str, *parameters: str) -> None:
        for parameter in parameters:
            self.draft.parameters.setdefault(parameter, "change-me")
        named = " and ".join(f"parameters.{parameter}" for parameter in parameters)
        self.note(place_of(scheme), f"security {name}", f"its values are unknown: set {named}")


def _check(operation: Node) -> Expected | None:
    """Return a check for the status codes that an operation declares as successful; None without such codes."""
    good = [status for status in entries_of(operation, "responses") if re.fullmatch(r"[23](\d\d|XX)", status)]
    statuses = [int(status) if status.isdecimal() else status.lower() for status in good]
    return Expected().status(*statuses) if statuses else None


def _text(value: Any) -> str:
    """Return a value as text for a path, a query or a form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
