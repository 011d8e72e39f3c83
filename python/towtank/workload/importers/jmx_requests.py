"""HTTP samplers of JMeter as requests."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from towtank.workload.importers.bodies import body_keys
from towtank.workload.importers.draft import METHODS, Draft, Step, address_of, literal, request, seconds, think
from towtank.workload.importers.headers import carry
from towtank.workload.importers.jmx_elements import Elements
from towtank.workload.importers.jmx_texts import Texts
from towtank.workload.importers.jmx_tree import Item, text_of
from towtank.workload.importers.textfile import relative_to_workload
from towtank.workload.importers.xmlfile import Element

_PATH_SAFE = "/%:@!$&'()*+,;=~-._?"
_DEFAULTED = ("domain", "port", "protocol", "path", "connect_timeout", "response_timeout")


@dataclass
class Scope:
    """What holds for samplers somewhere in the plan: whatever stands beside or above them."""

    defaults: dict[str, str] = field(default_factory=dict)
    headers: list[tuple[str, str, tuple[int, int]]] = field(default_factory=list)
    timers: list[Item] = field(default_factory=list)
    extractors: list[Item] = field(default_factory=list)
    assertions: list[Item] = field(default_factory=list)
    logins: list[Element] = field(default_factory=list)

    def copy(self) -> Scope:
        """A scope of its own for what is below."""
        return Scope(
            dict(self.defaults),
            list(self.headers),
            list(self.timers),
            list(self.extractors),
            list(self.assertions),
            list(self.logins),
        )


class Requests:
    """Makes requests of samplers."""

    def __init__(self, draft: Draft, texts: Texts, folder: Path) -> None:
        self.draft = draft
        self.texts = texts
        self.folder = folder
        self.elements = Elements(draft, texts)

    def steps(self, sampler: Item, scope: Scope) -> list[Step]:
        """Pauses of the timers, and the request."""
        steps = [think(pause) for timer in scope.timers if (pause := self.elements.pause(timer)) is not None]
        method = self.texts.static(sampler.text("HTTPSampler.method", "GET")).strip().upper() or "GET"
        if method not in METHODS:
            why = f"left out: requests have the methods {', '.join(sorted(METHODS))}"
            self.draft.notes.add(sampler.place, f"{sampler.name!r} with {method[:20]}", why)
            return []
        self._note_options(sampler)
        headers = carry(
            [(name, self.texts.static(value), place) for name, value, place in _last(scope.headers)], self.draft.notes
        )
        templates = {name: self.texts.template(value, place) for name, value, place in _last(scope.headers)}
        kept = {name: templates[name] for name in headers.headers}
        if headers.bearer is not None:
            name = next(name for name in templates if name.lower() == "authorization")
            kept[name] = templates[name]
        path, query = self._path(sampler, scope)
        body = self._arguments(sampler, method, query, kept)
        check: dict[str, Any] = {}
        for assertion in scope.assertions:
            self.elements.check(assertion, check)
        # What the request reads is translated before its extractors count as having set anything.
        step = request(
            method,
            path,
            name=sampler.name,
            target=self._target(sampler, scope),
            query=query,
            headers=kept,
            auth=self._auth(scope, headers.basic),
            **body,
            check=check,
            timeout=self._timeout(sampler, scope),
        )
        extract: dict[str, Any] = {}
        for extractor in scope.extractors:
            extract.update(self.elements.extract(extractor))
        if extract:
            step["extract"] = extract
        return [*steps, step]

    def _note_options(self, sampler: Item) -> None:
        note = self.draft.notes.add
        if sampler.flag("HTTPSampler.follow_redirects") or sampler.flag("HTTPSampler.auto_redirects"):
            why = "redirects are answers like any other: add the request that follows as a step"
            note(sampler.place, "follow_redirects", why)
        if sampler.flag("HTTPSampler.image_parser"):
            note(sampler.place, "embedded resources", "are not looked for in answers: add them as steps of the page")

    def _value(self, sampler: Item, scope: Scope, name: str) -> str:
        own = sampler.text(f"HTTPSampler.{name}").strip()
        return own or scope.defaults.get(name, "")

    def _target(self, sampler: Item, scope: Scope) -> str | None:
        """Name of the target; None where the plan does not say the host."""
        url = self.texts.static(sampler.text("HTTPSampler.path")).strip()
        if not url.startswith(("http://", "https://")):
            host = self.texts.static(self._value(sampler, scope, "domain"))
            port = self.texts.static(self._value(sampler, scope, "port")).strip()
            scheme = self.texts.static(self._value(sampler, scope, "protocol")).strip().lower() or "http"
            if not host or not port.isdecimal():
                port = ""
            url = f"{scheme}://{host}{f':{port}' if port else ''}" if host else ""
        try:
            return self.draft.target(address_of(url)) if url and "${" not in url else None
        except ValueError as error:
            self.draft.notes.add(sampler.place, f"address {url[:60]!r}", str(error))
            return None

    def _path(self, sampler: Item, scope: Scope) -> tuple[str, dict[str, str]]:
        """Path as a template, and the query of the path as far as it can be taken apart."""
        raw = self._value(sampler, scope, "path")
        if raw.startswith(("http://", "https://")):
            split = urlsplit(raw)
            raw = split.path + (f"?{split.query}" if split.query else "")
        path = self.texts.template(raw, sampler.place, lambda text: literal(quote(text, safe=_PATH_SAFE)))
        return (path if path.startswith("/") else f"/{path}"), {}

    def _arguments(self, sampler: Item, method: str, query: dict[str, str], headers: dict[str, str]) -> dict[str, Any]:
        """Arguments as query, form, multipart or raw body, whatever the sampler makes of them."""
        arguments = [each for each in sampler.collection("Arguments.arguments") if each.tag == "elementProp"]
        files = [each for each in sampler.collection("HTTPFileArgs.files") if each.tag == "elementProp"]
        if sampler.flag("HTTPSampler.postBodyRaw"):
            return self._raw("".join(text_of(each, "Argument.value") for each in arguments), sampler, headers)
        fields: dict[str, str] = {}
        for each in arguments:
            name = self.texts.static(text_of(each, "Argument.name"))
            if not name and method != "GET":
                return self._raw("".join(text_of(each, "Argument.value") for each in arguments), sampler, headers)
            if name in fields:
                self.draft.notes.add(each.place, f"argument {name!r}", "is there twice: the last one is sent")
            fields[name] = self._argument(each)
        if method in {"GET", "DELETE", "HEAD"} and not files:
            query.update(fields)
            return {}
        if files or sampler.flag("HTTPSampler.DO_MULTIPART_POST"):
            parts: dict[str, Any] = dict(fields)
            parts.update(self._file(each) for each in files)
            return {"multipart": parts} if parts else {}
        return {"form": fields} if fields else {}

    def _argument(self, argument: Element) -> str:
        """The value of an argument; what is encoded already is decoded, as the engine encodes it again."""
        encode = text_of(argument, "HTTPArgument.always_encode", "true").strip().lower() == "true"
        value = text_of(argument, "Argument.value")
        if encode:
            return self.texts.template(value, argument.place)
        return self.texts.template(value, argument.place, lambda text: literal(unquote(text)))

    def _raw(self, text: str, sampler: Item, headers: dict[str, str]) -> dict[str, Any]:
        """A raw body: JSON where it is said to be and has places in its texts only."""
        name = next((name for name in headers if name.lower() == "content-type"), None)
        template = self.texts.template(text, sampler.place)
        if not text:
            return {}
        if name is not None and "${" not in text:
            body = body_keys(text, headers[name])
            if "body" not in body and headers[name].lower() in {
                "application/json",
                "application/x-www-form-urlencoded",
            }:
                del headers[name]
            return body
        return {"body": template}

    def _file(self, element: Element) -> tuple[str, Any]:
        file = self.texts.static(text_of(element, "File.path"))
        name = self.texts.static(text_of(element, "File.paramname")) or "file"
        media = text_of(element, "File.mimetype").strip()
        path = Path(self.draft.source).parent / file
        if file and path.is_file():
            part: dict[str, Any] = {"file": relative_to_workload(path, self.folder)}
        else:
            why = "is not here: content of 10 KiB is made in its place"
            self.draft.notes.add(element.place, f"file {file!r}", why)
            part = {"generated": {"size": "10 KiB"}}
        part["filename"] = literal(re.split(r"[/\\]", file)[-1] or "file")
        return name, {**part, **({"content_type": media} if media else {})}

    def _auth(self, scope: Scope, basic: tuple[str, str] | None) -> dict[str, str] | None:
        if basic is not None:
            return {"user": literal(basic[0]), "password": literal(basic[1])}
        for login in reversed(scope.logins):
            mechanism = text_of(login, "Authorization.mechanism", "BASIC").strip().upper()
            if mechanism.startswith("BASIC") or not mechanism:
                user = self.texts.template(text_of(login, "Authorization.username"), login.place)
                password = self.texts.template(text_of(login, "Authorization.password"), login.place)
                self.draft.notes.add(login.place, "password", "is in the workload file as it was here")
                return {"user": user, "password": password}
            self.draft.notes.add(login.place, f"authentication {mechanism[:20]}", "left out: only Basic is spoken")
        return None

    def _timeout(self, sampler: Item, scope: Scope) -> str | None:
        text = self._value(sampler, scope, "response_timeout")
        limit = self.texts.number(text, sampler.place, "response timeout") if text else 0.0
        return seconds(limit / 1000) if limit > 0 else None


def read_defaults(item: Item, scope: Scope) -> None:
    """Take over what a configuration element `HTTP Request Defaults` says."""
    for name in _DEFAULTED:
        value = item.text(f"HTTPSampler.{name}").strip()
        if value:
            scope.defaults[name] = value


def read_headers(item: Item) -> list[tuple[str, str, tuple[int, int]]]:
    """Headers of a header manager."""
    elements = [each for each in item.collection("HeaderManager.headers") if each.tag == "elementProp"]
    pairs = [(text_of(each, "Header.name").strip(), text_of(each, "Header.value"), each.place) for each in elements]
    return [pair for pair in pairs if pair[0]]


def _last(headers: list[tuple[str, str, tuple[int, int]]]) -> list[tuple[str, str, tuple[int, int]]]:
    """The innermost header of each name."""
    return list({name.lower(): (name, value, place) for name, value, place in headers}.values())
