"""Reads HTTP Archives (HAR 1.2) of browsers and proxies as one transaction with the pages of the session."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from towtank.errors import Fault, StudyError
from towtank.workload.importers import jsonfile
from towtank.workload.importers.accounting import Ledger
from towtank.workload.importers.bodies import body_of
from towtank.workload.importers.draft import (
    ASSET_ENDINGS,
    METHODS,
    Body,
    DraftGroup,
    ImportDraft,
    ImportOptions,
    Step,
    common_headers,
    identifier,
    literal,
    page,
    path_and_query,
    request,
    think,
    unique,
    url_address,
)
from towtank.workload.importers.expected import Expected
from towtank.workload.importers.har.correlation import Correlation, Exchange
from towtank.workload.importers.har.forms import FORM, form_text, parts
from towtank.workload.importers.har.secrets import Secrets, without_token
from towtank.workload.importers.har.table import KEYS
from towtank.workload.importers.har.thinking import between_pages
from towtank.workload.importers.headers import carry
from towtank.workload.importers.multipart import multipart_params
from towtank.workload.importers.nodes import child_of, items_of, number_of, place_of, text_of
from towtank.workload.importers.textfile import read_text
from towtank.yamlfile import Node

# Time without a request in flight after which the user is assumed to be reading. It is longer than the gaps between a
# browser's requests for one page, and shorter than the reaction time of a person. [s]
IDLE = 1.0
# First characters of a recording by `towtank record`. Only these recordings have one entry per line.
_RECORDED = '{"log":{"version":"1.2","creator":{"name": "towtank"'

_ASSET_TYPES = frozenset({"stylesheet", "script", "image", "font", "media", "manifest", "texttrack"})
_ASSET_MEDIA = ("image/", "font/", "video/", "audio/", "text/css", "application/javascript", "text/javascript")


@dataclass
class View:
    """Page view, which consists of the requests between two pauses of the recorded user."""

    name: str
    exchanges: list[Exchange]

    @property
    def end(self) -> float:
        """Time at which the last response of the page was complete. [s]"""
        return max(exchange.end for exchange in self.exchanges)


def read(path: Path, options: ImportOptions) -> ImportDraft:
    """Read an HTTP Archive into a draft of a workload."""
    source = options.source or str(path)
    draft = ImportDraft(source, "har", identifier(path.stem, "recording"), f"Recording {path.name}")
    root = _load(path, draft)
    log = root.child("log")
    if log is None or not isinstance(log.value, dict) or log.child("entries") is None:
        message = "must be an HTTP Archive with log.entries, got none"
        raise StudyError.at(path, message, line=root.line, column=root.column)
    exchanges = _main_host(_exchanges(log, draft), draft, options)
    ledger = Ledger(draft.notes, KEYS, own=lambda key: key.startswith("_"))
    ledger.settle_tree(log, "log")
    for exchange in exchanges:
        ledger.settle_tree(exchange.node, "entry")
    if not exchanges:
        return draft
    views = _views(exchanges)
    secrets = Secrets(draft, options.keep_passwords)
    for exchange in exchanges:
        exchange.step = _step(exchange, draft, secrets)
    _cookies_of_nobody(exchanges, draft)
    Correlation(exchanges, draft).find()
    for exchange in exchanges:
        secrets.hide_rest(exchange.step, place_of(exchange.node))
    _targets(draft, exchanges)
    pauses = between_pages([after.exchanges[0].start - before.end for before, after in pairwise(views)], draft)
    items: list[Step] = []
    for index, view in enumerate(views):
        if index:
            items.append(think(pauses.between[index - 1]))
        items.append(page(view.name, [exchange.step for exchange in view.exchanges]))
    draft.transactions = {"session": items}
    draft.groups = {"users": DraftGroup({"session": 100}, pauses.after)}
    _say_what_browsers_do(views, draft)
    return draft


def _load(path: Path, draft: ImportDraft) -> Node:
    """Read the recording, without the incomplete last line of an interrupted `towtank record`."""
    text = read_text(path)
    try:
        return jsonfile.parse(text, str(path))
    except StudyError:
        lines = text.rstrip("\n").split("\n")
        if len(lines) == 1 or not text.startswith(_RECORDED):
            raise
    whole = "\n".join(lines[:-1]).removesuffix(",")
    root = jsonfile.parse(f"{whole}]}}}}", str(path))
    draft.notes.add((len(lines), 1), "last exchange", "left out: the recording ends within it")
    return root


def _exchanges(log: Node, draft: ImportDraft) -> list[Exchange]:
    """Return the entries that the workload includes, sorted by start. The other entries are reported in notes."""
    found: list[Exchange] = []
    faults: list[Fault] = []
    for entry in items_of(log, "entries"):
        try:
            exchange = _exchange(entry)
        except ValueError as error:
            faults.append(Fault(draft.source, *place_of(entry), f"log.entries[{entry.path[-1]}]", str(error)))
            continue
        reason = _why_not(exchange)
        if reason is not None:
            draft.notes.add(place_of(entry), f"{exchange.method} {exchange.url[:100]}", reason)
        else:
            found.append(exchange)
    if faults:
        raise StudyError(faults)
    return sorted(found, key=lambda exchange: exchange.start)


def _exchange(entry: Node) -> Exchange:
    url, method = text_of(entry, "request", "url"), text_of(entry, "request", "method").upper()
    if not url or not method:
        raise ValueError("must have request.url and request.method, got an entry without them")
    text = text_of(entry, "startedDateTime")
    try:
        start = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"must have startedDateTime as ISO 8601, got {text[:40]!r} instead") from None
    duration = max(number_of(entry, "time"), 0.0) / 1000
    return Exchange(
        node=entry,
        method=method,
        url=url,
        start=start,
        end=start + duration,
        status=int(number_of(entry, "response", "status")),
        body=_response_text(entry),
        asset=_is_asset(entry, url),
    )


def _response_text(entry: Node) -> str:
    content = child_of(entry, "response", "content")
    text = text_of(content, "text")
    if text_of(content, "encoding") == "base64":
        try:
            return base64.b64decode(text).decode("utf-8")
        except (binascii.Error, ValueError):
            return ""
    return text


def _is_asset(entry: Node, url: str) -> bool:
    """Return True if a recorded request is for a static file, such as a script, a style sheet or a picture."""
    kind = text_of(entry, "_resourceType").lower()
    if kind:
        return kind in _ASSET_TYPES
    media = text_of(entry, "response", "content", "mimeType").lower()
    return media.startswith(_ASSET_MEDIA) or urlsplit(url).path.rpartition(".")[2].lower() in ASSET_ENDINGS


def _why_not(exchange: Exchange) -> str | None:
    """Return the reason why the workload omits an entry of the recording; None if the workload includes the entry."""
    scheme, kind = urlsplit(exchange.url).scheme, text_of(exchange.node, "_resourceType").lower()
    if scheme in {"ws", "wss"} or kind == "websocket":
        return "left out: WebSocket is not supported"
    try:
        url_address(exchange.url)
    except ValueError:
        return f"left out: {scheme or 'the URL'} leads to no HTTP server"
    noise = _from_browser(exchange) or _noise(exchange, kind)
    if noise is not None:
        return f"left out: {noise}"
    if exchange.method not in METHODS:
        return f"left out: a workload supports the methods {', '.join(sorted(METHODS))}"
    error = text_of(exchange.node, "_error") or text_of(exchange.node, "response", "_error")
    if exchange.status == 0:
        error = f"the recording has no response: {error or 'the request was blocked or aborted'}"
    elif error:
        error = f"its response is incomplete: {error}"
    return f"left out: {error}" if error else None


def _from_browser(exchange: Exchange) -> str | None:
    if text_of(exchange.node, "_fromCache"):
        return "the browser had the content in its cache; new users would request it"
    if _is_true(exchange.node, "response", "_fetchedViaServiceWorker"):
        return "a script in the browser answered it; requests of this script are separate entries"
    return None


def _noise(exchange: Exchange, kind: str) -> str | None:
    """Return the reason why the browser made a request by itself; None if the user caused the request."""
    if kind == "preflight" or (exchange.method == "OPTIONS" and _asks_leave(exchange)):
        return "a preflight request of the browser for another origin; users of a workload do not need it"
    if kind in {"ping", "csp-violation-report", "report"}:
        return "a report that the browser sends while no user waits for it"
    if urlsplit(exchange.url).path == "/favicon.ico":
        return "an icon that browsers request once without an action of the user"
    return None


def _asks_leave(exchange: Exchange) -> bool:
    names = {text_of(each, "name").lower() for each in items_of(exchange.node, "request", "headers")}
    return "access-control-request-method" in names


def _is_true(node: Node, *path: str) -> bool:
    found = child_of(node, *path)
    return found is not None and found.value is True


def _main_host(exchanges: list[Exchange], draft: ImportDraft, options: ImportOptions) -> list[Exchange]:
    """Return the requests to the selected hosts.

    Without a selection, return the requests to the host of the first document and to the hosts of its redirects.
    Requests to other hosts are reported in notes.
    """
    if not exchanges:
        return []
    hosts = {host.lower() for host in options.hosts} or _first_hosts(exchanges)
    kept = []
    for exchange in exchanges:
        host = urlsplit(exchange.url).hostname or ""
        if host in hosts:
            kept.append(exchange)
            continue
        kept_by = f"; use {options.host_option} {host} to keep it" if options.host_option else ""
        reason = f"left out: it goes to another host{kept_by}"
        draft.notes.add(place_of(exchange.node), f"{exchange.method} {exchange.url[:100]}", reason)
    return kept


def _first_hosts(exchanges: list[Exchange]) -> set[str]:
    """Return the host of the first document, and the hosts to which redirects lead from there."""
    hosts: set[str] = set()
    for exchange in [each for each in exchanges if not each.asset] or exchanges[:1]:
        hosts.add(urlsplit(exchange.url).hostname or "")
        if not 300 <= exchange.status < 400 or exchange.status == 304:
            break
    return hosts


def _views(exchanges: list[Exchange]) -> list[View]:
    """Split the session into page views.

    A new view begins whenever the recording names another page, and after `IDLE` seconds without requests in flight.
    """
    views: list[View] = []
    previous: str | None = None
    for exchange in exchanges:
        reference = text_of(exchange.node, "pageref")
        if not views or reference != previous or exchange.start - views[-1].end >= IDLE:
            path = without_token(urlsplit(exchange.url).path.strip("/")) or "home"
            views.append(View(unique(path, [view.name for view in views]), []))
        views[-1].exchanges.append(exchange)
        previous = reference
    return views


def _cookies_of_nobody(exchanges: list[Exchange], draft: ImportDraft) -> None:
    """Add a note about each cookie that no earlier response sets, because virtual users do not send these cookies."""
    known: set[str] = set()
    for exchange in exchanges:
        for name in _cookies(exchange, "request", "cookie", ";"):
            if name not in known:
                known.add(name)
                why = "no recorded response sets it (a script set it, or it is older): users do not send it"
                draft.notes.add(place_of(exchange.node), f"cookie {name[:60]}", why)
        known.update(_cookies(exchange, "response", "set-cookie", "\n"))


def _cookies(exchange: Exchange, side: str, header: str, separator: str) -> list[str]:
    """Return the names of the cookies in a header.

    Browsers join several Set-Cookie headers with line breaks.
    """
    values = [
        text_of(each, "value")
        for each in items_of(exchange.node, side, "headers")
        if text_of(each, "name").lower() == header
    ]
    parts = [part for value in values for part in value.split(separator)]
    return [part.partition("=")[0].strip() for part in parts if "=" in part]


def _step(exchange: Exchange, draft: ImportDraft, secrets: Secrets) -> Step:
    path, query = path_and_query(exchange.url)
    pairs = [
        (text_of(header, "name"), text_of(header, "value"), place_of(header))
        for header in items_of(exchange.node, "request", "headers")
        if text_of(header, "name")
    ]
    carried = carry(pairs, draft.notes)
    body = _body(exchange, carried.headers, draft)
    exchange.bearer = carried.bearer
    auth = None
    login = carried.basic or _login(exchange.url)
    if login is not None:
        user, password = login
        secrets.note(f"password of {user}", password, place_of(exchange.node))
        auth = {"user": literal(user), "password": secrets.place(password)}
    step = request(
        exchange.method,
        literal(path),
        target=draft.target(url_address(exchange.url)),
        query={key: literal(value) for key, value in query or []},
        headers=carried.headers,
        auth=auth,
        body=body,
        check=_check(exchange, draft),
        on_failure="go_on" if exchange.asset else None,
    )
    secrets.hide(step, place_of(exchange.node))
    return step


def _login(url: str) -> tuple[str, str] | None:
    """Return the user and the password in a URL; None if the URL has no login."""
    parts = urlsplit(url)
    return (unquote(parts.username or ""), unquote(parts.password or "")) if "@" in parts.netloc else None


def _check(exchange: Exchange, draft: ImportDraft) -> Expected:
    if exchange.status == 304:
        return Expected().status(200)
    if exchange.status >= 400:
        why = "this error status in the recording is used as the expected status"
        draft.notes.add(place_of(exchange.node), f"status {exchange.status} of {exchange.url[:80]}", why)
    return Expected().status(exchange.status if 100 <= exchange.status <= 599 else "2xx")


def _body(exchange: Exchange, headers: dict[str, str], draft: ImportDraft) -> Body | None:
    """Return the body of a request. Remove the Content-Type header if the key of the body implies it."""
    data = child_of(exchange.node, "request", "postData")
    if data is None:
        _note_size(exchange, draft)
        return None
    media = text_of(data, "mimeType")
    given = next((name for name in headers if name.lower() == "content-type"), None)
    if media.lower().startswith("multipart/form-data"):
        if given is not None:
            del headers[given]
        return _multipart(data, media, draft)
    if left_out := text_of(data, "_left_out"):
        draft.notes.add(
            place_of(data), "body of the request", f"left out, the request is sent without a body: {left_out}"
        )
        return None
    text = text_of(data, "text")
    if not text and (params := items_of(data, "params")):
        text, media = form_text(params, draft), media or FORM
    if not text:
        _note_size(exchange, draft)
        return None
    body = body_of(text, media)
    if given is not None and body.key != "body":
        del headers[given]
    elif given is None and media:
        headers["Content-Type"] = literal(media)
    return body


def _note_size(exchange: Exchange, draft: ImportDraft) -> None:
    """Add a note about a body that was recorded without its content. Browsers record uploads in this way."""
    headers = items_of(exchange.node, "request", "headers")
    lengths = [text_of(each, "value") for each in headers if text_of(each, "name").lower() == "content-length"]
    stated = lengths[0].strip() if lengths else ""
    size = max(number_of(exchange.node, "request", "bodySize"), float(stated) if stated.isdecimal() else 0.0)
    if size > 0:
        why = f"is not in the recording ({size:.0f} B were sent): the request is sent without a body"
        draft.notes.add(place_of(exchange.node), "body of the request", why)


def _multipart(data: Node, media: str, draft: ImportDraft) -> Body:
    """Return the parts of a multipart form.

    Most recordings list the parts. Chromium records only the text of the body, which is then parsed.
    """
    listed = items_of(data, "params")
    if not listed:
        raw = text_of(data, "text").encode("utf-8", "surrogatepass")
        listed = [_node_of(param, data) for param in multipart_params(raw, media)]
    return Body("multipart", parts(listed, draft)) if listed else _no_parts(data, draft)


def _node_of(value: Any, place: Node) -> Node:
    """Convert a value to a node of the document tree, with the source position of the node `place`."""
    inner = {key: _node_of(each, place) for key, each in value.items()} if isinstance(value, dict) else value
    return Node(inner, place.path, place.line, place.column, place.file)


def _no_parts(data: Node, draft: ImportDraft) -> Body:
    why = "its parts are not in the recording: generated content of 10 KiB is sent instead"
    draft.notes.add(place_of(data), "multipart body", why)
    return Body("multipart", {"content": {"generated": {"size": "10 KiB"}, "filename": "content"}})


def _targets(draft: ImportDraft, exchanges: list[Exchange]) -> None:
    """Move headers that all requests share to the defaults. If the workload has only one target, remove the target from
    the steps.
    """
    steps = [exchange.step for exchange in exchanges]
    if len(draft.targets) == 1:
        for step in steps:
            del step["target"]
    common = common_headers(steps)
    if common:
        draft.defaults["headers"] = common


def _say_what_browsers_do(views: list[View], draft: ImportDraft) -> None:
    first = place_of(views[0].exchanges[0].node)
    if any(after.start < before.end for view in views for before, after in pairwise(view.exchanges)):
        why = (
            "are sent one after the other, in the order of their starts, because a user has one connection; "
            "the page takes longer than in a browser"
        )
        draft.notes.add(first, "parallel requests of a page", why)
    if not any(exchange.body for exchange in views[0].exchanges) and not draft.findings.get("correlations"):
        why = "it has no response bodies, so values that the server generated cannot be found"
        draft.notes.add(first, "recording", why)
