"""Converts JMeter HTTP samplers to requests."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from towtank.workload.importers.bodies import body_of, parts_of
from towtank.workload.importers.draft import (
    METHODS,
    Body,
    ImportDraft,
    Step,
    literal,
    request,
    seconds,
    think,
    url_address,
)
from towtank.workload.importers.expected import Expected
from towtank.workload.importers.headers import carry
from towtank.workload.importers.jmx.arguments import Field, as_written, fields_of, named_of
from towtank.workload.importers.jmx.cookies import CookieManagers
from towtank.workload.importers.jmx.elements import Elements
from towtank.workload.importers.jmx.pacing import THROUGHPUT_TIMERS, Paced
from towtank.workload.importers.jmx.paths import ADDRESSES, path_of, split_address
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import Item, text_of
from towtank.workload.importers.textfile import beside, relative_to_workload
from towtank.workload.importers.xmlfile import Element

_DEFAULTED = ("domain", "port", "protocol", "path", "connect_timeout", "response_timeout")


@dataclass(frozen=True)
class Login:
    """Entry of an authorization manager: the login for all addresses that begin with the URL of the entry."""

    url: str
    user: str
    password: str
    mechanism: str
    element: Element


@dataclass
class Scope:
    """Elements that apply to the samplers at a position in the test plan."""

    defaults: dict[str, str] = field(default_factory=dict)
    arguments: list[Element] = field(default_factory=list)
    headers: list[tuple[str, str, tuple[int, int]]] = field(default_factory=list)
    timers: list[Item] = field(default_factory=list)
    extractors: list[Item] = field(default_factory=list)
    assertions: list[Item] = field(default_factory=list)
    logins: list[Login] | None = None
    cookies: Item | None = None

    def copy(self) -> Scope:
        """Return a copy of the scope, so that changes for elements below leave the original scope unchanged."""
        return Scope(
            dict(self.defaults),
            list(self.arguments),
            list(self.headers),
            list(self.timers),
            list(self.extractors),
            list(self.assertions),
            self.logins,
            self.cookies,
        )


class Requests:
    def __init__(self, draft: ImportDraft, texts: Texts, folder: Path) -> None:
        self.draft = draft
        self.texts = texts
        self.folder = folder
        self.elements = Elements(draft, texts)
        self.cookies = CookieManagers(draft, texts)
        # `on_failure` is the value of this key in the steps. `paced` has each throughput timer with the mean number of
        # executions of samplers in its scope.
        self.on_failure: str | None = "go_on"
        self.paced: dict[int, Paced] = {}
        # Mean number of times that a round executes the current part of the test plan. [1]
        self.per_round = 1.0
        self.keepalive: list[tuple[Item, bool]] = []
        self.connecting: list[tuple[Item, float]] = []
        self.endless = False

    def pauses(self, scope: Scope) -> list[Step]:
        """Return the pauses that the timers of a sampler cause.

        A throughput timer causes no pause; instead, the number of samplers in its scope is increased.
        """
        steps = []
        for timer in scope.timers:
            if timer.tag in THROUGHPUT_TIMERS:
                self.paced.setdefault(id(timer.element), Paced(timer)).samplers += self.per_round
            elif (pause := self.elements.pause(timer)) is not None:
                steps.append(think(pause))
        return steps

    def steps(self, sampler: Item, scope: Scope) -> list[Step]:
        """Return the pauses of a sampler's timers, followed by its request."""
        steps = self.pauses(scope)
        method = self.texts.static(sampler.text("HTTPSampler.method", "GET")).strip().upper() or "GET"
        if method not in METHODS:
            why = f"left out: a workload supports the methods {', '.join(sorted(METHODS))}"
            self.draft.notes.add(sampler.place, f"{sampler.name!r} with {method[:20]}", why)
            sampler.left_out = True
            return steps
        self._note_options(sampler, scope)
        given = [(name, self.texts.static(value), place) for name, value, place in _last(scope.headers)]
        if scope.cookies is not None:
            given = self._without_cookies(given)
        headers = carry(given, self.draft.notes, recorded=False, keep={"cookie"})
        templates = {name: self.texts.template(value, place) for name, value, place in _last(scope.headers)}
        kept = {name: templates[name] for name in headers.headers}
        if headers.bearer is not None:
            name = next(name for name in templates if name.lower() == "authorization")
            kept[name] = templates[name]
        target = self._target(sampler, scope)
        self._own_cookies(sampler, scope, target, kept)
        path = path_of(self._value(sampler, scope, "path"), sampler.place, self.texts)
        query: dict[str, str] = {}
        arguments = [*_arguments_of(sampler), *scope.arguments]
        body, more = self._arguments(sampler, arguments, method, query, kept)
        path += f"{'&' if '?' in path else '?'}{more}" if more else ""
        check = Expected()
        for assertion in scope.assertions:
            self.elements.check(assertion, check)
        # The request is converted before its extractors are read, because their variables get values only after the
        # request.
        step = request(
            method,
            path,
            name=sampler.name,
            target=target,
            query=query,
            headers=kept,
            auth=self._auth(sampler, scope, headers.basic),
            body=body,
            check=check,
            timeout=self._timeout(sampler, scope),
            on_failure=self.on_failure,
        )
        extracts = [self.elements.extract(extractor) for extractor in scope.extractors]
        if any(extracts):
            step["extract"] = {name: spec for each in extracts for name, spec in each.items()}
        if any(extracts) and self.on_failure is not None:
            why = (
                "JMeter searches failed responses, too; in the workload, values from a failed request get their default"
            )
            self.draft.notes.add(sampler.place, "extracted values", why)
        return [*steps, step]

    def _note_options(self, sampler: Item, scope: Scope) -> None:
        note = self.draft.notes.add
        self.keepalive.append((sampler, sampler.flag("HTTPSampler.use_keepalive")))
        limit = self._value(sampler, scope, "connect_timeout")
        known = self.texts.number(limit, sampler.place, "connect timeout") / 1000 if limit else 0.0
        self.connecting.append((sampler, known))
        follow, auto = sampler.flag("HTTPSampler.follow_redirects"), sampler.flag("HTTPSampler.auto_redirects")
        if follow or auto:
            why = "redirects are not followed: add the next request as a step"
            note(sampler.place, "follow_redirects", why)
        if sampler.flag("HTTPSampler.image_parser"):
            note(sampler.place, "embedded resources", "are not requested: add them as steps of the page")

    def _value(self, sampler: Item, scope: Scope, name: str) -> str:
        own = sampler.text(f"HTTPSampler.{name}").strip()
        return own or scope.defaults.get(name, "")

    def _address(self, sampler: Item, scope: Scope) -> str:
        """Return the address and path of a request; an empty text if the request has no host.

        Values that are not known before the run stay as `${...}`.
        """
        url = self.texts.static(self._value(sampler, scope, "path")).strip()
        host = self.texts.static(self._value(sampler, scope, "domain"))
        port = self.texts.static(self._value(sampler, scope, "port")).strip()
        scheme = self.texts.static(self._value(sampler, scope, "protocol")).strip().lower() or "http"
        if url.startswith(ADDRESSES):
            return url
        place = f":{port}" if host and port.isdecimal() else ""
        return f"{scheme}://{host}{place}/{url.removeprefix('/')}" if host else ""

    def _target(self, sampler: Item, scope: Scope) -> str | None:
        """Return the name of a request's target; None if the test plan does not name the host."""
        url = self._address(sampler, scope)
        url = "/".join(url.split("/")[:3])
        if "${" in url:
            name = self.draft.target(url, url.split("/")[2].partition(":")[0])
            why = f"is not known before the run: these requests go to the target {name}; set its address with --address"
            self.draft.notes.add(sampler.place, f"address {url[:60]!r}", why)
            return name
        try:
            return self.draft.target(url_address(url)) if url else None
        except ValueError as error:
            self.draft.notes.add(sampler.place, f"address {url[:60]!r}", str(error))
            return None

    def _arguments(
        self, sampler: Item, arguments: list[Element], method: str, query: dict[str, str], headers: dict[str, str]
    ) -> tuple[Body | None, str]:
        """Return the arguments of a sampler as query, form, multipart body or raw body, depending on the sampler.

        Returns
        -------
        body : Body or None
        query : str
            Encoded arguments of a query that a mapping cannot represent; otherwise empty.
        """
        files = [each for each in sampler.collection("HTTPFileArgs.files") if each.tag == "elementProp"]
        raw, multipart = sampler.flag("HTTPSampler.postBodyRaw"), sampler.flag("HTTPSampler.DO_MULTIPART_POST")
        values = "".join(text_of(each, "Argument.value") for each in arguments)
        in_parts = method not in {"GET", "HEAD"} and bool(files or multipart)
        named = named_of(arguments, self.texts)
        given = fields_of(named if named or in_parts else arguments, self.texts, in_parts=in_parts)
        fields = {field.name: field.value for field in given}
        # The values are a raw body only if no argument has a name (HTTPSamplerBase.getSendParameterValuesAsPostBody).
        if raw or (method not in {"GET", "HEAD"} and "" in fields):
            self._note_encoded(arguments)
            return self._raw(values, sampler, headers), ""
        if method == "GET" and set(fields) == {""}:
            why = (
                "JMeter sends arguments without a name as the body, even with GET; the workload sends them in the query"
            )
            self.draft.notes.add(sampler.place, f"{sampler.name!r}", why)
        if method in {"GET", "HEAD"}:
            self._without_body(files, multipart, sampler, method)
            if method == "HEAD" and fields:
                self.draft.notes.add(
                    sampler.place, f"{sampler.name!r}", "left out: JMeter sends no arguments with HEAD"
                )
                return None, ""
        more = as_written(given, in_query=True) if method in {"GET", "DELETE"} else ""
        if more is None:
            query.update(fields)
            more = ""
        if method == "GET":
            return None, more
        if in_parts:
            return self._in_parts(sampler, given, files), more
        encoded = as_written(given, in_query=False)
        if encoded is not None:
            if not any(name.lower() == "content-type" for name in headers):
                headers["Content-Type"] = "application/x-www-form-urlencoded"
            return Body("body", encoded), more
        return Body("form", fields) if fields else None, more

    def _in_parts(self, sampler: Item, fields: list[Field], files: list[Element]) -> Body | None:
        if not sampler.flag("HTTPSampler.BROWSER_COMPATIBLE_MULTIPART"):
            why = "parts are sent as browsers send them; JMeter adds headers to each part (charset, transfer encoding)"
            self.draft.notes.add(sampler.place, "multipart body", why)
        parts = [(field.name, _typed(field.value, field.media)) for field in fields]
        parts += [self._file(each) for each in files]
        return Body("multipart", parts_of(parts)) if parts else None

    def _note_encoded(self, arguments: list[Element]) -> None:
        """Add a note for each body text that JMeter would encode, because the workload sends it unchanged."""
        for each in arguments:
            encode = text_of(each, "HTTPArgument.always_encode", "false").strip().lower() == "true"
            value = self.texts.static(text_of(each, "Argument.value"))
            if encode and quote_plus(value) != value:
                self.draft.notes.add(each.place, "body", "is sent unchanged; JMeter encodes it (always_encode)")

    def _without_body(self, files: list[Element], multipart: bool, sampler: Item, method: str) -> None:
        """Add notes about the files and the multipart form of a request that is sent without a body."""
        for each in files:
            file = self._file_name(each)
            if file:
                why = f"left out: JMeter sends no body with {method}"
                self.draft.notes.add(each.place, f"file {file!r}", why)
        if multipart:
            self.draft.notes.add(sampler.place, "DO_MULTIPART_POST", f"left out: JMeter sends no body with {method}")

    def _raw(self, text: str, sampler: Item, headers: dict[str, str]) -> Body | None:
        """Return a raw body, whose key depends on its media type; `body` if it contains variables."""
        name = next((name for name in headers if name.lower() == "content-type"), None)
        template = self.texts.template(text, sampler.place)
        if not text:
            return None
        if name is not None and "${" not in text:
            body = body_of(text, headers[name])
            if body.key != "body" and headers[name].lower() in {
                "application/json",
                "application/x-www-form-urlencoded",
            }:
                del headers[name]
            return body
        return Body("body", template)

    def _file_name(self, element: Element) -> str:
        text_of(element, "File.paramname")
        text_of(element, "File.mimetype")
        return self.texts.static(text_of(element, "File.path"))

    def _file(self, element: Element) -> tuple[str, Any]:
        file = self._file_name(element)
        name = self.texts.static(text_of(element, "File.paramname")) or "file"
        media = text_of(element, "File.mimetype").strip()
        path = beside(self.draft.source, file)
        if file and path is not None:
            part: dict[str, object] = {"file": relative_to_workload(path, self.folder)}
        else:
            why = "does not exist: generated content of 10 KiB is sent instead"
            self.draft.notes.add(element.place, f"file {file!r}", why)
            part = {"generated": {"size": "10 KiB"}}
        part["filename"] = literal(re.split(r"[/\\]", file)[-1] or "file")
        return name, {**part, **({"content_type": media} if media else {})}

    def _auth(self, sampler: Item, scope: Scope, basic: tuple[str, str] | None) -> dict[str, str] | None:
        """Return the login of the first entry whose URL begins the address (AuthManager.getAuthForURL)."""
        if basic is not None:
            return {"user": literal(basic[0]), "password": literal(basic[1])}
        addresses = _spellings(self._address(sampler, scope))
        for login in scope.logins or []:
            if not any(address.startswith(login.url) for address in addresses):
                continue
            place = login.element.place
            if login.mechanism.startswith("BASIC") or not login.mechanism:
                self.draft.notes.add(place, "password", "is copied into the workload file")
                return {
                    "user": self.texts.template(login.user, place),
                    "password": self.texts.template(login.password, place),
                }
            self.draft.notes.add(
                place, f"authentication {login.mechanism[:20]}", "left out: only Basic authentication is supported"
            )
            return None
        return None

    def _without_cookies(self, headers: list[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
        """Remove a Cookie header and add a note, because the cookie manager replaces the header once it has a cookie.

        This is the behaviour of HTTPHC4Impl in JMeter 5.5.
        """
        for name, _, place in headers:
            if name.lower() == "cookie":
                why = "left out: JMeter sends it only while the cookie manager has no cookie for the request"
                self.draft.notes.add(place, f"header {name}", why)
        return [each for each in headers if each[0].lower() != "cookie"]

    def _own_cookies(self, sampler: Item, scope: Scope, target: str | None, headers: dict[str, str]) -> None:
        """Record the cookies of a request.

        Cookies that only this request sends are put into a Cookie header.
        """
        own = self.cookies.of_request(scope.cookies, self._address(sampler, scope), target)
        if own:
            headers["Cookie"] = own

    def _timeout(self, sampler: Item, scope: Scope) -> str | None:
        text = self._value(sampler, scope, "response_timeout")
        limit = self.texts.number(text, sampler.place, "response timeout") if text else 0.0
        self.endless = self.endless or limit <= 0
        return seconds(limit / 1000) if limit > 0 else None


def _typed(value: str, media: str) -> Any:
    """Return a part of a multipart body, with its media type unless it is the default type."""
    return {"value": value, "content_type": literal(media)} if media not in {"", "text/plain"} else value


def read_defaults(item: Item, scope: Scope, outer: Scope) -> None:
    """Read an `HTTP Request Defaults` element.

    If a scope has several such elements, only the first takes effect.
    """
    for name in _DEFAULTED:
        value = item.text(f"HTTPSampler.{name}").strip()
        if value and scope.defaults.get(name) == outer.defaults.get(name):
            scope.defaults[name] = value
    # JMeter appends default arguments to those of the request, beginning with the innermost defaults (TestCompiler
    # of JMeter 5.5).
    inner = len(scope.arguments) - len(outer.arguments)
    scope.arguments[inner:inner] = _arguments_of(item)


def _arguments_of(item: Item) -> list[Element]:
    return [each for each in item.collection("Arguments.arguments") if each.tag == "elementProp"]


def read_logins(item: Item, texts: Texts) -> list[Login]:
    return [
        Login(
            texts.static(text_of(each, "Authorization.url")).strip(),
            text_of(each, "Authorization.username"),
            text_of(each, "Authorization.password"),
            # The default mechanism is BASIC_DIGEST, which uses Basic authentication if the server requests Basic.
            text_of(each, "Authorization.mechanism").strip().upper(),
            each,
        )
        for each in item.collection("AuthManager.auth_list")
        if each.tag == "elementProp"
    ]


def _spellings(address: str) -> list[str]:
    """Return an address with its port and, if this is the default port of the scheme, also without the port."""
    split = split_address(address.split("${", maxsplit=1)[0])
    if not split.hostname:
        return []
    usual = 80 if split.scheme == "http" else 443
    try:
        port = split.port or usual
    except ValueError:
        return []
    rest = f"{split.path or '/'}{f'?{split.query}' if split.query else ''}"
    spelled = [f"{split.scheme}://{split.hostname}:{port}{rest}"]
    return [*spelled, f"{split.scheme}://{split.hostname}{rest}"] if port == usual else spelled


def read_headers(item: Item) -> list[tuple[str, str, tuple[int, int]]]:
    """Return the headers of a header manager, with headers of the same name joined."""
    elements = [each for each in item.collection("HeaderManager.headers") if each.tag == "elementProp"]
    pairs = [(text_of(each, "Header.name").strip(), text_of(each, "Header.value"), each.place) for each in elements]
    found: dict[str, tuple[str, str, tuple[int, int]]] = {}
    for name, value, place in [pair for pair in pairs if pair[0]]:
        first = found.get(name.lower())
        if first is None:
            found[name.lower()] = name, value, place
        else:
            # JMeter sends a header for each value, which is equivalent to one header with both values (RFC 9110, 5.3).
            sign = "; " if name.lower() == "cookie" else ", "
            found[name.lower()] = first[0], f"{first[1]}{sign}{value}", first[2]
    return list(found.values())


def _last(headers: list[tuple[str, str, tuple[int, int]]]) -> list[tuple[str, str, tuple[int, int]]]:
    """Return the headers of all levels of the test plan; the innermost level has precedence."""
    return list({name.lower(): (name, value, place) for name, value, place in headers}.values())
