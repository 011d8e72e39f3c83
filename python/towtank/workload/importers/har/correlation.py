"""Finds values that the server generated and the client sent back (correlation).

The workload extracts these values from each new response instead of sending the recorded values. A value qualifies
under three conditions: an earlier response contains it; no request before that response contains it; and it looks
generated. A value looks generated if it has letters and digits or is long, or if its names in response and request are
names of identifiers. The result is a proposal, because it is based on a single recording.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urljoin, urlsplit

from towtank.secret_names import is_secret_name
from towtank.workload import expressions
from towtank.workload.importers.bodies import changed_leaves
from towtank.workload.importers.draft import ImportDraft, Step, identifier, literal, method_of, unique
from towtank.workload.importers.har.escapes import encoding_of_body, place, written
from towtank.workload.importers.nodes import items_of, place_of, text_of
from towtank.yamlfile import Node

# Longest response that is searched. Generated values occur in pages and small documents, not in longer files.
# [characters]
_BODY_AT_MOST = 2_000_000
# Largest number of JSON values that are searched per response. [1]
_LEAVES_AT_MOST = 20_000
# Numbers of characters before and after a value that its regular expression includes, in the order in which they are
# tried. [characters]
_CONTEXT = (20, 40, 80)

_IDENTIFIER = re.compile(
    r"(?:id|ids|token|key|code|csrf|xsrf|nonce|state|uuid|guid|session|ticket|cursor|ref)$", re.IGNORECASE
)
_TOKEN = re.compile(r"csrf|xsrf|token|nonce|viewstate|__eventvalidation|authenticity", re.IGNORECASE)
# Matches the text before a value in a path with a query: a slash, or the name of a query value with `=`.
_PATH_PIECES = re.compile(r"(/|[?&][^=&]*=)")
_NAME = re.compile(r"[A-Za-z_$][\w$:-]*")


@dataclass
class Exchange:
    """Recorded request with its response, from `start` to `end` [s].

    The body is the text of the response; empty if no text was recorded. An `asset` is a static file of a page, which is
    the same for all users. `step` is the request step in the workload; `bearer` is the token in the Authorization
    header, if any.
    """

    node: Node
    method: str
    url: str
    start: float
    end: float
    status: int
    body: str
    asset: bool
    step: Step = field(default_factory=dict)
    bearer: str | None = None

    def header(self, name: str) -> str | None:
        """Return the value of a response header; None if the response lacks the header."""
        for each in items_of(self.node, "response", "headers"):
            if text_of(each, "name").lower() == name.lower():
                return text_of(each, "value")
        return None


@dataclass(frozen=True)
class Sent:
    """Value that a request sends, with the name of its field. Path segments have an empty name."""

    value: str
    name: str


@dataclass(frozen=True)
class Source:
    """Extraction that finds a value in a response, and the name of the value in this response."""

    extract: Any
    name: str


class Correlation:
    """Finds generated values in a recording, whose exchanges are sorted by start, and adds extractions and templates to
    the recorded steps.
    """

    def __init__(self, exchanges: list[Exchange], draft: ImportDraft) -> None:
        self.exchanges = exchanges
        self.draft = draft
        self.leaves: dict[int, dict[str, tuple[str, str]]] = {}
        self.variables: dict[tuple[int, str], str] = {}
        self.names: set[str] = set()
        self.findings: list[dict[str, object]] = []
        # These texts are computed once, because computing them for each request would be slow in sessions with
        # thousands of requests.
        self.locations = [exchange.header("location") for exchange in exchanges]
        self.headers = [_headers(exchange) for exchange in exchanges]
        # The sent values are collected now, because later steps replace the recorded values by variables.
        self.sent = [list(_sent(exchange)) for exchange in exchanges]
        self.first_sent: dict[str, int] = {}
        for index, values in enumerate(self.sent):
            for sent in values:
                self.first_sent.setdefault(sent.value, index)

    def find(self) -> None:
        """Find all values that the server generated, and replace them by variables."""
        for index, exchange in enumerate(self.exchanges):
            if exchange.asset:
                continue
            self._location(index)
            for sent in {each.value: each for each in self.sent[index]}.values():
                self._trace(index, sent)
            self._bearer(index)
        self.draft.findings["correlations"] = self.findings
        self.draft.findings.setdefault("summary", []).extend(
            f"correlated: {each['variable']} from {each['from']} to {each['to']}" for each in self.findings
        )

    def _trace(self, index: int, sent: Sent) -> None:
        """Replace a value of a request by a variable if an earlier response contains the value."""
        strong = _strong(sent.value)
        if not strong and not (len(sent.value) >= 2 and _identifies(sent)):
            return
        # Only responses before the first request with this value are searched: later responses cannot have generated
        # it.
        for earlier in range(min(index, self.first_sent[sent.value])):
            source = self._source(earlier, sent, strong)
            if source is not None:
                self._replace(index, earlier, sent, source)
                return
        exchange = self.exchanges[index]
        # No variable replaces this value. If its name indicates a secret, the module `secrets` replaces the value by a
        # parameter.
        sends = "a parameter replaces it" if is_secret_name(sent.name) else "the workload sends the recorded value"
        if strong and any(sent.value in each for each in self.headers[:index]):
            why = "is a part of a header of an earlier response; only whole headers can be extracted"
            self.draft.notes.add(place_of(exchange.node), f"value of {sent.name or 'the path'}", why)
        elif strong and any(sent.value in each.body for each in self.exchanges[:index]):
            why = f"is in an earlier response, but no regular expression finds it there: {sends}"
            self.draft.notes.add(place_of(exchange.node), f"value of {sent.name or 'the path'}", why)
        elif strong and _TOKEN.search(sent.name):
            why = f"looks generated by the server, but no earlier response contains it: {sends}"
            self.draft.notes.add(place_of(exchange.node), f"field {sent.name}", why)

    def _location(self, index: int) -> None:
        """Replace the path of a request by a variable if an earlier response redirects to a generated path."""
        exchange = self.exchanges[index]
        made = any(_strong(each.value) or (not each.name and each.value.isdecimal()) for each in self.sent[index])
        for earlier in range(index - 1, -1, -1):
            value = self.locations[earlier]
            if not made or not value or urljoin(self.exchanges[earlier].url, value) != exchange.url:
                continue
            if not value.startswith("/") or value.startswith("//"):
                why = (
                    "is the header Location of an earlier response, which includes the host: a template needs only "
                    "the path"
                )
                self.draft.notes.add(place_of(exchange.node), f"path {urlsplit(exchange.url).path[:80]}", why)
                return
            variable = self._variable(earlier, Sent(value, "location"), Source({"header": "Location"}, "location"))
            exchange.step.pop("query", None)
            method = method_of(exchange.step) or ""
            exchange.step[method] = f"${{{variable}}}"
            exchange.step["name"] = f"{exchange.method} {urlsplit(exchange.url).path}"
            self._found(variable, earlier, index)
            return

    def _source(self, index: int, sent: Sent, strong: bool) -> Source | None:
        """Return an extraction that finds a value in a response; None if the response lacks the value."""
        exchange = self.exchanges[index]
        if exchange.asset:
            return None
        leaf = self._leaves(index).get(sent.value)
        if leaf is not None and (strong or _IDENTIFIER.search(leaf[1])):
            return Source(leaf[0], leaf[1])
        if strong:
            for header in items_of(exchange.node, "response", "headers"):
                if text_of(header, "value") == sent.value:
                    return Source({"header": text_of(header, "name")}, text_of(header, "name"))
            if not self._leaves(index):
                pattern = _pattern(exchange.body, sent.value)
                return Source({"regex": pattern}, sent.name) if pattern is not None else None
        return None

    def _leaves(self, index: int) -> dict[str, tuple[str, str]]:
        """Return the values of a JSON response, each with its JSON path and the last name in this path."""
        if index not in self.leaves:
            body = self.exchanges[index].body
            try:
                value = json.loads(body) if body[:1] in {"{", "["} and len(body) <= _BODY_AT_MOST else None
            except (ValueError, RecursionError):
                value = None
            found: dict[str, tuple[str, str]] = {}
            for path, name, leaf in _walk(value, "$", "", 0):
                found.setdefault(leaf, (path, name))
                if len(found) >= _LEAVES_AT_MOST:
                    break
            self.leaves[index] = found
        return self.leaves[index]

    def _replace(self, index: int, earlier: int, sent: Sent, source: Source) -> None:
        variable = self._variable(earlier, sent, source)
        exchange = self.exchanges[index]
        if put(exchange.step, sent.value, variable):
            self._found(variable, earlier, index)
        else:
            why = "comes from an earlier response, but templates cannot replace it in this part of the request"
            self.draft.notes.add(place_of(exchange.node), f"value of {sent.name or 'the path'}", why)

    def _variable(self, earlier: int, sent: Sent, source: Source) -> str:
        """Return the variable for a value of a response. If the variable is new, add its extraction to the step of this
        response.
        """
        key = (earlier, sent.value)
        if key not in self.variables:
            name = unique(identifier(source.name or sent.name, "value"), self.names)
            self.names.add(name)
            self.variables[key] = name
            self.exchanges[earlier].step.setdefault("extract", {})[name] = source.extract
        return self.variables[key]

    def _found(self, variable: str, earlier: int, index: int) -> None:
        steps = [self.exchanges[each].step for each in (earlier, index)]
        names = [f"{(method_of(step) or '').upper()} {step[method_of(step) or '']}" for step in steps]
        line = self.exchanges[index].node.line
        self.findings.append({"variable": variable, "from": names[0], "to": names[1], "line": line})

    def _bearer(self, index: int) -> None:
        """Replace a bearer token by a variable if an earlier response contains the token, otherwise by a parameter."""
        exchange = self.exchanges[index]
        if exchange.bearer is None:
            return
        sent = Sent(exchange.bearer, "token")
        for earlier in range(index):
            source = self._source(earlier, sent, True)
            if source is not None:
                variable = self._variable(earlier, sent, source)
                exchange.step.setdefault("headers", {})["Authorization"] = f"Bearer ${{{variable}}}"
                self._found(variable, earlier, index)
                return
        self.draft.parameters.setdefault("token", "change-me")
        exchange.step.setdefault("headers", {})["Authorization"] = "Bearer ${parameters.token}"
        why = "is not copied, and no response of the recording contains it: set parameters.token"
        self.draft.notes.add(place_of(exchange.node), "token of the header Authorization", why)


def _strong(value: str) -> bool:
    """Return True if a value looks generated, regardless of its name: it has letters and digits, or is long."""
    if any(char.isspace() for char in value) or len(value) < 8:
        return False
    has_digit, has_letter = any(char.isdigit() for char in value), any(char.isalpha() for char in value)
    return (has_digit and (has_letter or len(value) >= 10)) or (len(value) >= 24 and not value.islower())


def _identifies(sent: Sent) -> bool:
    """Return True if a value has the name of an identifier, or has no name and is a number."""
    return bool(_IDENTIFIER.search(sent.name)) if sent.name else sent.value.isdecimal()


def _sent(exchange: Exchange) -> Iterator[Sent]:
    """Yield the values that a request sends in path, query, form, JSON and special headers, with their names."""
    parts = urlsplit(exchange.url)
    yield from (Sent(unquote(part), "") for part in parts.path.split("/") if part)
    yield from (Sent(value, name) for name, value in parse_qsl(parts.query) if value)
    for name, value in exchange.step.get("form", {}).items():
        yield Sent(value.replace("$${", "${"), name)
    for _, name, value in _walk(exchange.step.get("json"), "$", "", 0):
        yield Sent(value.replace("$${", "${"), name)
    for name, value in exchange.step.get("headers", {}).items():
        if name.lower().startswith("x-") or _TOKEN.search(name):
            yield Sent(value, name)


def _walk(value: Any, path: str, name: str, depth: int) -> Iterator[tuple[str, str, str]]:
    """Yield the JSON path, the last name in the path, and the text of every string and number in a JSON value."""
    if depth > 40:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if _NAME.fullmatch(key):
                yield from _walk(inner, f"{path}.{key}", key, depth + 1)
            elif "'" not in key:
                yield from _walk(inner, f"{path}['{key}']", key, depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{path}[{index}]", name, depth + 1)
    elif isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        yield path, name, str(value)


def _pattern(body: str, value: str) -> str | None:
    """Return a regular expression whose first match in a text is the value; None if no such expression is found."""
    if len(body) > _BODY_AT_MOST:
        return None
    shown = value if value in body else html.escape(value)
    at = body.find(shown)
    if at < 0 or shown != value:
        return None
    following = body[at + len(shown) : at + len(shown) + 1]
    if following not in {'"', "'", "<", "&", " ", "\n", ",", ";", ")"}:
        return None
    for length in _CONTEXT:
        before = body[max(0, at - length) : at].rpartition("\n")[2]
        end = at + len(shown)
        after = body[end : end + length].partition("\n")[0]
        # The expression includes text after the value only if the text before the value does not suffice.
        for behind in ("", after):
            pattern = f"{_escaped(before)}([^{re.escape(following)}]+){_escaped(behind)}"
            match = re.search(pattern, body)
            if (before or behind) and match is not None and match.group(1) == value:
                return expressions.capturing_regex(pattern)
    return None


def _escaped(text: str) -> str:
    """Escape text for a regular expression. Blanks are not escaped, so that the expression stays readable."""
    return re.escape(text).replace("\\ ", " ")


def put(step: Step, value: str, variable: str) -> bool:
    """Replace a value in a step by a variable. Return False if the step does not contain the value."""
    method = method_of(step) or ""
    before = json.dumps(step, sort_keys=True)
    encoded = {literal(value), literal(quote(value, safe="")), literal(quote(value)), literal(quote_plus(value))}
    pieces = _PATH_PIECES.split(step[method])
    step[method] = "".join(f"${{{variable}|url}}" if each in encoded else each for each in pieces)
    for key in ("query", "form", "headers", "multipart"):
        if key in step:
            step[key] = _put(step[key], value, variable)
    if "json" in step:
        _put_json(step, value, variable)
    if "body" in step and len(value) >= 8:
        encoding = encoding_of_body(step)
        step["body"] = _inside(step["body"], written(value, encoding), place(f"${{{variable}}}", encoding))
    return json.dumps(step, sort_keys=True) != before


def _put(value: Any, old: str, variable: str) -> Any:
    return changed_leaves(value, lambda leaf, _: f"${{{variable}}}" if leaf == literal(old) else leaf)


def _inside(text: str, old: set[str], new: str) -> str:
    """Replace the encoded forms of a value inside a text by a placeholder.

    A value after a `$` is not replaced: in `$${...}`, the `$` would turn the placeholder into plain text.
    """
    forms = "|".join(re.escape(literal(each)) for each in sorted(old, key=len, reverse=True))
    return re.sub(rf"(?<!\$)(?:{forms})", lambda _: new, text)


def _put_json(step: Step, value: str, variable: str) -> None:
    """Replace a value in a JSON body by a variable. If the value is a number, the whole body becomes text."""
    step["json"] = _put(step["json"], value, variable)
    marks = f"\ue000{variable}\ue001"
    marked = _mark(step["json"], value, marks)
    if marked == step["json"]:
        return
    # In the strings of a `json` body, the engine encodes the values of placeholders by itself. In a text body, each
    # placeholder must name its encoding.
    text = re.sub(r"(?<!\$)\$\{([a-z][\w.]*)\}", r"${\1|json}", json.dumps(marked, ensure_ascii=False))
    del step["json"]
    step["body"] = text.replace(f'"{marks}"', f"${{{variable}}}")
    step.setdefault("headers", {})["Content-Type"] = "application/json"


def _mark(value: Any, number: str, marks: str) -> Any:
    def marked(leaf: Any, _: str) -> Any:
        return marks if isinstance(leaf, int) and not isinstance(leaf, bool) and str(leaf) == number else leaf

    return changed_leaves(value, marked)


def _headers(exchange: Exchange) -> str:
    return "\n".join(text_of(each, "value") for each in items_of(exchange.node, "response", "headers"))
