"""Speaks HTTP/1.1 with a single peer (client or server) over a byte stream, and forwards bytes between two streams."""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Any, TypeAlias

import anyio
import h11
from anyio.abc import ByteStream

Event: TypeAlias = Any
# Largest head of an HTTP message. Cookies and tokens make a head long; most servers accept at most 64 KiB. [byte]
_HEAD_AT_MOST = 256 * 1024
_PIECE = 65536
# Errors of a byte stream which mean that the peer has disconnected.
GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError, OSError)


class PeerGone(Exception):  # noqa: N818 - an event, not an error of the program
    """Raised if the peer closed the connection, or sent data that is not HTTP."""


class Peer:
    """Connection of the proxy to a peer, over which HTTP/1.1 is spoken in the given role."""

    def __init__(self, stream: ByteStream, role: Any) -> None:
        self.stream = stream
        self.http = h11.Connection(role, max_incomplete_event_size=_HEAD_AT_MOST)

    async def next(self) -> Event:
        """Return the next HTTP event from the peer.

        Raises
        ------
        PeerGone
            If the peer disconnects, or sends data that is not HTTP.
        """
        while True:
            try:
                event = self.http.next_event()
            except h11.RemoteProtocolError as error:
                raise PeerGone(str(error)) from None
            if event is not h11.NEED_DATA:
                return event
            if self.http.our_role is h11.SERVER and self.http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            await self._receive()

    async def _receive(self) -> None:
        try:
            data = await self.stream.receive(_PIECE)
        except anyio.EndOfStream:
            data = b""
        except GONE as error:
            raise PeerGone(str(error) or "the connection broke") from None
        try:
            self.http.receive_data(data)
        except (h11.RemoteProtocolError, RuntimeError) as error:
            raise PeerGone(str(error)) from None

    async def send(self, event: Event) -> None:
        """Send an HTTP event to the peer.

        Raises
        ------
        PeerGone
            If the event cannot be delivered, or HTTP does not allow the event in this state.
        """
        try:
            data = self.http.send(event)
        except h11.LocalProtocolError as error:
            raise PeerGone(str(error)) from None
        if data:
            try:
                await self.stream.send(data)
            except GONE as error:
                raise PeerGone(str(error) or "the connection broke") from None

    @property
    def rest(self) -> bytes:
        """Bytes that were received after the last HTTP event, and belong to another protocol."""
        return self.http.trailing_data[0]

    @property
    def idle(self) -> bool:
        """True if a request and its response are complete, and the connection can be used for another exchange."""
        return self.http.our_state is h11.DONE and self.http.their_state is h11.DONE

    async def close(self) -> None:
        """Close the byte stream in any state of the connection."""
        with suppress(*GONE), anyio.CancelScope(shield=True):
            await anyio.aclose_forcefully(self.stream)


class Prefixed(ByteStream):
    """Byte stream from which some bytes were already read; `receive` first returns these bytes again."""

    def __init__(self, stream: ByteStream, first: bytes) -> None:
        self._stream = stream
        self._first = first

    async def receive(self, max_bytes: int = _PIECE) -> bytes:
        if self._first:
            piece, self._first = self._first[:max_bytes], self._first[max_bytes:]
            return piece
        return await self._stream.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()


async def join(one: ByteStream, other: ByteStream) -> None:
    """Forward bytes in both directions between two streams, until both streams have ended or one of them fails."""
    async with anyio.create_task_group() as tasks:

        async def carry(source: ByteStream, sink: ByteStream) -> None:
            try:
                async for piece in source:
                    await sink.send(piece)
                await sink.send_eof()
            # A TLS stream cannot be closed in only one direction; anyio then raises NotImplementedError.
            except (*GONE, NotImplementedError):
                tasks.cancel_scope.cancel()

        tasks.start_soon(carry, one, other)
        tasks.start_soon(carry, other, one)
