"""Relays the exchanges of one client: forwards requests to servers and responses back, and records both."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio
import h11

from towtank.record.bodies import CODINGS, lowered
from towtank.record.exchange import Exchange, Headers
from towtank.record.peer import GONE, Event, Peer, PeerGone, Prefixed, join
from towtank.record.recorder import Recorder

# Hop-by-hop headers, which proxies do not forward (RFC 9110, section 7.6.1). Headers with the length of the body are
# forwarded.
_OF_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "expect"}
    | {"proxy-authorization", "proxy-authenticate"}
)
# HTTP methods whose requests may be repeated after the server closed an idle connection.
_REPEATABLE = frozenset({b"GET", b"HEAD", b"OPTIONS"})
_CONNECT_S = 10.0
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Origin:
    """Origin of a resource: scheme, host and port of a server."""

    scheme: str
    host: str
    port: int

    @property
    def address(self) -> str:
        """Host and port as written in URLs, without the default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def place(self) -> tuple[str, int]:
        """Host and port, as needed to open a connection."""
        return self.host, self.port


class ServerGone(Exception):  # noqa: N818 - an event, not an error of the program
    """Raised if the server cannot be reached, or has closed the connection."""


@dataclass
class Relay:
    """Relays the exchanges (requests with their responses) of one client connection.

    `trust` has the TLS settings for verifying server certificates. `origin` is the server at the end of a tunnel, or
    None if every request names a server.
    """

    client: Peer
    recorder: Recorder
    trust: ssl.SSLContext
    origin: Origin | None = None
    _servers: dict[Origin, Peer] = field(default_factory=dict)

    def destination(self, request: h11.Request) -> tuple[Origin, str] | None:
        """Return the server and the path of a request; None if the request names no server."""
        target = request.target.decode("latin-1")
        if self.origin is not None and (target.startswith("/") or target == "*"):
            return self.origin, target
        try:
            parts = urlsplit(target)
            port = parts.port
        except ValueError:
            return None
        if parts.scheme not in _PORTS or not parts.hostname:
            return None
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return Origin(parts.scheme, parts.hostname, port or _PORTS[parts.scheme]), path

    async def exchange(self, request: h11.Request, origin: Origin, path: str) -> None:
        """Relay a request and its response, and record both, even if an error occurs."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw_items()]
        method = request.method.decode("latin-1")
        exchange = self.recorder.begin(method, f"{origin.scheme}://{origin.address}{path}", _end_to_end(headers))
        exchange.error = "the recording ended before the response arrived"
        try:
            asked = h11.Request(method=request.method, target=path, headers=_asked(headers, origin))
            await self._relay(exchange, origin, asked)
            exchange.error = ""
        except ServerGone as error:
            exchange.error = str(error)
            await refuse(self.client, 502, f"{origin.address}: {error}")
        except PeerGone as error:
            exchange.error = f"the connection of the client failed: {error}"
        finally:
            self.recorder.end(exchange)

    async def _relay(self, exchange: Exchange, origin: Origin, request: h11.Request) -> None:
        server, answer = await self._ask(exchange, origin, request)
        try:
            exchange.status, exchange.reason = answer.status_code, answer.reason.decode("latin-1")
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers.raw_items()]
            exchange.answer_headers = _end_to_end(headers)
            self.recorder.answered(exchange)
            if answer.status_code == 101:
                await self._switch(exchange, server, headers)
                return
            await self.client.send(h11.Response(status_code=answer.status_code, headers=exchange.answer_headers))
            await self._carry_answer(exchange, server)
            if server.idle:
                server.http.start_next_cycle()
                self._servers[origin] = server
        finally:
            if self._servers.get(origin) is not server:
                await server.close()

    async def _carry_answer(self, exchange: Exchange, server: Peer) -> None:
        while not isinstance(event := await _from_server(server), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                raise ServerGone("the server closed the connection in the middle of its response")
            exchange.answer_body.add(event.data)
            await self.client.send(h11.Data(data=event.data))
        await self.client.send(h11.EndOfMessage())

    async def _ask(self, exchange: Exchange, origin: Origin, request: h11.Request) -> tuple[Peer, Event]:
        """Send a request to the server, and return the connection to the server and the head of the response."""
        kept = self._servers.pop(origin, None)
        again = request.method in _REPEATABLE and not _has_body(request)
        if again:
            await self._carry_body(exchange, None)
        if kept is not None and again:
            try:
                return kept, await self._head(exchange, kept, request, body=False)
            except ServerGone:  # The server has closed its idle connection in the meantime.
                await kept.close()
        elif kept is not None:
            await kept.close()
        server = await self._connect(origin)
        try:
            return server, await self._head(exchange, server, request, body=not again)
        except (ServerGone, PeerGone):
            await server.close()
            raise

    async def _head(self, exchange: Exchange, server: Peer, request: h11.Request, *, body: bool) -> Event:
        try:
            await server.send(request)
            if not body:
                await server.send(h11.EndOfMessage())
        except PeerGone as error:
            raise ServerGone(f"the connection to the server failed: {error}") from None
        if body:
            await self._carry_body(exchange, server)
        while True:
            event = await _from_server(server)
            if isinstance(event, h11.Response) or getattr(event, "status_code", 0) == 101:
                return event
            # Interim responses (early hints, processing) are optional and are not forwarded.
            if not isinstance(event, h11.InformationalResponse):
                raise ServerGone("the server closed the connection before its response")

    async def _carry_body(self, exchange: Exchange, server: Peer | None) -> None:
        """Forward the request body to the server. Stop if the server no longer reads the body, because it may still
        send a response.
        """
        while not isinstance(event := await self.client.next(), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                raise PeerGone("it closed the connection in the middle of its request")
            exchange.request_body.add(event.data)
            if server is not None and not await _taken(server, h11.Data(data=event.data)):
                return
        if server is not None:
            await _taken(server, h11.EndOfMessage())

    async def _connect(self, origin: Origin) -> Peer:
        try:
            with anyio.fail_after(_CONNECT_S):
                if origin.scheme == "https":
                    stream = await anyio.connect_tcp(
                        origin.host, origin.port, ssl_context=self.trust, tls_standard_compatible=False
                    )
                    return Peer(stream, h11.CLIENT)
                return Peer(await anyio.connect_tcp(origin.host, origin.port), h11.CLIENT)
        except TimeoutError:
            raise ServerGone(f"the server could not be reached within {_CONNECT_S:.0f} s") from None
        except ssl.SSLCertVerificationError as error:
            hint = "give --cacert FILE, or --insecure"
            raise ServerGone(f"the certificate of the server is not trusted ({error.verify_message}): {hint}") from None
        except GONE as error:
            raise ServerGone(f"the server could not be reached: {_why(error)}") from None

    async def _switch(self, exchange: Exchange, server: Peer, headers: Headers) -> None:
        """Switch both connections, to the client and to the server, to another protocol such as WebSocket. All further
        bytes are forwarded unread.
        """
        exchange.kind = "websocket"
        self.recorder.open_ended(exchange)
        await self.client.send(h11.InformationalResponse(status_code=101, headers=headers))
        await join(Prefixed(self.client.stream, self.client.rest), Prefixed(server.stream, server.rest))

    async def close(self) -> None:
        """Close the connections to servers that were kept open."""
        for server in self._servers.values():
            await server.close()


async def refuse(
    client: Peer, status: int, text: str, media: str = "text/plain", *, more: Headers | None = None
) -> None:
    """Send an error response to the client, unless a part of a response has already been sent."""
    if client.http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
        return
    body = f"{text}\n".encode()
    headers = [("Content-Type", f"{media}; charset=utf-8"), ("Content-Length", str(len(body))), ("Connection", "close")]
    headers += more or []
    try:
        await client.send(h11.Response(status_code=status, headers=headers))
        await client.send(h11.Data(data=body))
        await client.send(h11.EndOfMessage())
    except PeerGone:
        return


async def _taken(server: Peer, event: Event) -> bool:
    try:
        await server.send(event)
    except PeerGone:
        return False
    return True


async def _from_server(server: Peer) -> Event:
    try:
        return await server.next()
    except PeerGone as error:
        raise ServerGone(f"the connection to the server failed: {error}") from None


def _why(error: BaseException) -> str:
    """Return the text of the system error that caused a failure to connect."""
    while (below := error.__cause__) is not None:
        error = below.exceptions[0] if isinstance(below, BaseExceptionGroup) else below
    number = getattr(error, "errno", None)
    # Errors of name resolution have negative numbers, which `os.strerror` does not know; the error itself contains
    # their texts.
    named = os.strerror(number) if isinstance(number, int) and number > 0 else getattr(error, "strerror", None)
    return named or str(error) or type(error).__name__


def _has_body(request: h11.Request) -> bool:
    names = {name for name, _ in request.headers}
    return (
        bool(names & {b"transfer-encoding", b"upgrade"}) or dict(request.headers).get(b"content-length", b"0") != b"0"
    )


def _end_to_end(headers: Headers) -> Headers:
    """Return the headers to forward, without hop-by-hop headers."""
    named = {
        each.strip().lower() for name, value in headers if name.lower() == "connection" for each in value.split(",")
    }
    # Headers that determine the length of the body are always forwarded, even if the header Connection names them.
    dropped = (_OF_CONNECTION | named) - {"content-length", "transfer-encoding", "host"}
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def _asked(headers: Headers, origin: Origin) -> Headers:
    """Return the request headers to send to the server.

    The accepted compressions are limited to those that the recorder supports. Headers that request a WebSocket are
    kept.
    """
    asked = [
        (name, _codings(value) if name.lower() == "accept-encoding" else value) for name, value in _end_to_end(headers)
    ]
    asked = [(name, value) for name, value in asked if name.lower() != "host"]
    if lowered(headers).get("upgrade", "").lower() == "websocket":
        asked += [("Connection", "Upgrade"), ("Upgrade", "websocket")]
    return [("Host", origin.address), *asked]


def _codings(accepted: str) -> str:
    """Return the compressions that the client accepts and the recorder supports."""
    parts = [part.strip() for part in accepted.split(",")]
    known = [part for part in parts if part.partition(";")[0].strip().lower() in {*CODINGS, "identity"}]
    return ", ".join(known) or "identity"
