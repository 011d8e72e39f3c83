"""Recording forward proxy: relays HTTP requests in absolute form, and HTTPS through CONNECT.

The proxy connects only to servers that its client names, and listens on loopback by default. In a tunnel, the proxy
answers the TLS handshake of the client with a certificate of its own authority. Without an authority, or for a host
that is not recorded, the proxy forwards the tunnel unread.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import h11
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream

from towtank.errors import StudyError
from towtank.record.authority import Authority
from towtank.record.peer import GONE, Peer, PeerGone, Prefixed, join
from towtank.record.recorder import Recorder
from towtank.record.relay import Origin, Relay, refuse

# First byte of a TLS handshake (RFC 8446, section 5.1). It distinguishes TLS from plain HTTP in a tunnel.
_HANDSHAKE = b"\x16"
# Time limit for the first bytes in a tunnel. Clients send these bytes immediately. [s]
_FIRST_BYTES_S = 30.0
_HANDSHAKE_S = 30.0
AUTHORITY_PATH = "/ca.pem"
PROXY_USER = "towtank"
"""User name that clients send together with the proxy password."""


@dataclass
class Proxy:
    """Recording proxy and its settings.

    Attributes
    ----------
    authority : Authority or None
        Authority that issues certificates for hosts. If None, TLS is forwarded unread.
    trust : ssl.SSLContext
        TLS settings for verifying server certificates.
    address : (str, int)
        Host and port to listen on.
    distrusted : str
        Hint that is printed for the user if a client rejects a certificate.
    refuses : callable
        Function that returns True for a host to which requests are refused.
    password : str
        Password of the user `towtank`. If it is empty, clients need no password.
    """

    recorder: Recorder
    authority: Authority | None
    trust: ssl.SSLContext
    address: tuple[str, int] = ("127.0.0.1", 0)
    distrusted: str = ""
    refuses: Callable[[str], bool] = lambda _: False
    password: str = field(default="", repr=False)

    @property
    def where(self) -> str:
        """Address of the proxy (host and port), as written in URLs."""
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def serve(self, stream: SocketStream) -> None:
        """Serve a client until the client disconnects or the recording ends."""
        client = Peer(stream, h11.SERVER)
        try:
            await self._converse(client, Relay(client, self.recorder, self.trust), outside=True)
        finally:
            await client.close()

    async def _converse(self, client: Peer, relay: Relay, *, outside: bool = False) -> None:
        """Relay the exchanges (requests with their responses) of a client one after the other. If `outside` is False,
        the client is in a tunnel and has given the password already.
        """
        try:
            while isinstance(request := await client.next(), h11.Request):
                tunnel, destination = request.method == b"CONNECT", relay.destination(request)
                if outside and (tunnel or destination) and not self._lets_in(request):
                    wanted = ("Proxy-Authenticate", 'Basic realm="towtank"')
                    await refuse(client, 407, "the password of this recording is required", more=[wanted])
                    return
                if tunnel:
                    await self._tunnel(client, request.target.decode("latin-1"))
                    return
                if destination is None or self._is_own(destination[0]):
                    await self._explain(client, request, destination[1] if destination else "")
                elif self.refuses(destination[0].host):
                    await self._refuse(client, destination[0].host)
                else:
                    await relay.exchange(request, *destination)
                if not client.idle:
                    return
                client.http.start_next_cycle()
        except PeerGone as error:
            await refuse(client, 400, f"not understood: {error}")
        finally:
            await relay.close()

    def _lets_in(self, request: h11.Request) -> bool:
        """Return True if a client sends the correct password, or if no password is required."""
        if not self.password:
            return True
        login = base64.b64encode(f"{PROXY_USER}:{self.password}".encode())
        given = dict(request.headers).get(b"proxy-authorization", b"")
        return hmac.compare_digest(b"Basic " + login, given)

    def _is_own(self, origin: Origin) -> bool:
        """Return True if an origin is this proxy. Relaying a request to it would loop forever."""
        return origin.port == self.address[1] and (origin.host == self.address[0] or is_loopback(origin.host))

    async def _explain(self, client: Peer, request: h11.Request, path: str) -> None:
        """Answer a request to the proxy itself, with the authority's certificate or a description of the proxy."""
        asked = path or request.target.decode("latin-1")
        if asked == AUTHORITY_PATH and self.authority is not None:
            await refuse(client, 200, self.authority.pem.decode().strip(), "application/x-x509-ca-cert")
            return
        text = (
            f"This is the recording proxy of towtank at {self.where}: set it as the HTTP and HTTPS proxy of the client."
        )
        if self.authority is not None:
            text += f"\nThe certificate authority to trust while recording HTTPS: http://{self.where}{AUTHORITY_PATH}"
        await refuse(client, 400, text)

    async def _refuse(self, client: Peer, host: str) -> None:
        self.recorder.refused[host] += 1
        await refuse(client, 403, f"{host} is not relayed to")

    async def _tunnel(self, client: Peer, target: str) -> None:
        """Open a tunnel to a server, whose exchanges are recorded if possible; otherwise it is forwarded unread."""
        origin = tunnel_end(target)
        if origin is None or self._is_own(origin):
            await refuse(client, 400, f"CONNECT must name host:port of a server, got {target[:80]!r} instead")
            return
        if self.refuses(origin.host):
            await self._refuse(client, origin.host)
            return
        while not isinstance(await client.next(), h11.EndOfMessage):
            pass
        await client.send(h11.Response(status_code=200, headers=[]))
        if not self.recorder.records(origin.host):
            await self._pass(Prefixed(client.stream, client.rest), origin, "not among the hosts of --only")
            return
        first = await _first_bytes(client)
        stream = Prefixed(client.stream, first)
        if first[:1].isalpha():
            plain = Peer(stream, h11.SERVER)
            await self._converse(plain, Relay(plain, self.recorder, self.trust, Origin("http", *origin.place)))
        elif first[:1] == _HANDSHAKE and self.authority is not None:
            await self._inside(stream, origin, self.authority)
        elif first:
            why = "TLS is passed through with --no-tls" if first[:1] == _HANDSHAKE else "neither HTTP nor TLS"
            await self._pass(stream, origin, why)

    async def _inside(self, stream: ByteStream, origin: Origin, authority: Authority) -> None:
        """Accept the client's TLS handshake in place of the server; relay and record the tunnel's exchanges."""
        try:
            context = authority.context(origin.host)
        except ValueError:  # No certificate can be made if the name of the host is invalid.
            return
        try:
            with anyio.fail_after(_HANDSHAKE_S):
                secure = await TLSStream.wrap(stream, server_side=True, ssl_context=context, standard_compatible=False)
        except (*GONE, TimeoutError):
            self.recorder.distrusted(origin.host, self.distrusted)
            return
        client = Peer(secure, h11.SERVER)
        await self._converse(client, Relay(client, self.recorder, self.trust, origin))

    async def _pass(self, stream: ByteStream, origin: Origin, why: str) -> None:
        """Forward a tunnel to the server without reading the content."""
        self.recorder.passes(origin.host, why)
        try:
            with anyio.fail_after(_FIRST_BYTES_S):
                server = await anyio.connect_tcp(*origin.place)
        except (*GONE, TimeoutError):
            return
        async with server:
            await join(stream, server)


async def _first_bytes(client: Peer) -> bytes:
    """Return the first bytes that the client sends in a tunnel; no bytes if the client disconnects or sends nothing."""
    if client.rest:
        return client.rest
    with anyio.move_on_after(_FIRST_BYTES_S):
        try:
            return await client.stream.receive()
        except GONE:
            return b""
    return b""


# Only ASCII digits are accepted, although Python's `int` accepts the digits of other scripts too. A port has at most
# five digits.
_PORT = re.compile("[0-9]{1,5}")


def tunnel_end(target: str) -> Origin | None:
    """Return the server that a CONNECT request names; None if the name is not valid.

    Examples
    --------
    >>> tunnel_end("shop.example:443"), tunnel_end("shop.example")
    (Origin(scheme='https', host='shop.example', port=443), None)
    """
    host, _, port = target.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        return None
    return Origin("https", host.lower(), int(port))


def is_loopback(host: str) -> bool:
    """Return True if a host is a loopback address or `localhost`; other names are not resolved."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def trust_of(cacert: str | None, *, insecure: bool) -> ssl.SSLContext:
    """Return the TLS settings for verifying server certificates.

    Raises
    ------
    StudyError
        If the file with certificate authorities cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=cacert)
    except (OSError, ssl.SSLError):
        message = f"must be a PEM file of certificate authorities, got {cacert!r} instead"
        raise StudyError.of_option("--cacert", message) from None
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@asynccontextmanager
async def listening(proxy: Proxy) -> AsyncIterator[tuple[str, int]]:
    """Listen for clients while the context is open, and yield host and port of the listening socket. When the context
    is closed, all connections are closed.

    Raises
    ------
    StudyError
        If the address is not available.
    """
    host, port = proxy.address
    try:
        listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    except OSError as error:
        message = f"must be an address of this machine with a free port, got {proxy.where}: {error.strerror or error}"
        raise StudyError.of_option("--listen", message) from None
    proxy.address = (host, listener.extra(SocketAttribute.local_port))
    async with listener, anyio.create_task_group() as tasks:

        async def serve(stream: SocketStream) -> None:
            try:
                await proxy.serve(stream)
            # A client that disconnects must not end the connections of other clients.
            except GONE:
                return

        tasks.start_soon(listener.serve, serve, tasks)
        yield proxy.address
        tasks.cancel_scope.cancel()
