"""HTTP/1.1 with one peer over one stream of bytes, and streams joined end to end."""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Any, TypeAlias

import anyio
import h11
from anyio.abc import ByteStream

Event: TypeAlias = Any
# Cookies and tokens make heads long; 64 KiB is what servers take at most, as a rule. [byte]
_HEAD_AT_MOST = 256 * 1024
_PIECE = 65536
# Ways in which a stream says that the peer is gone.
GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError, OSError)


class PeerGone(Exception):  # noqa: N818 - it is what happened, and no fault of ours
    """The peer broke off, or said what is no HTTP."""


class Peer:
    """One side of a relay.

    Parameters
    ----------
    stream : byte stream
        What is spoken over.
    role : h11.SERVER or h11.CLIENT
        What this side is to the peer.
    """

    def __init__(self, stream: ByteStream, role: Any) -> None:
        self.stream = stream
        self.http = h11.Connection(role, max_incomplete_event_size=_HEAD_AT_MOST)

    async def next(self) -> Event:
        """The next event of the peer.

        Raises
        ------
        PeerGone
            If it breaks off in the middle, or what comes is no HTTP.
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
        """Send an event.

        Raises
        ------
        PeerGone
            If it cannot be delivered, or must not be said at this point.
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
        """What came behind the last event: the first bytes of another protocol."""
        return self.http.trailing_data[0]

    @property
    def idle(self) -> bool:
        """Whether one exchange is over and another one may follow."""
        return self.http.our_state is h11.DONE and self.http.their_state is h11.DONE

    async def close(self) -> None:
        """Close the stream, whatever state it is in."""
        with suppress(*GONE), anyio.CancelScope(shield=True):
            await anyio.aclose_forcefully(self.stream)


class Prefixed(ByteStream):
    """A stream some of whose bytes were read before."""

    def __init__(self, stream: ByteStream, first: bytes) -> None:
        self._stream = stream
        self._first = first

    async def receive(self, max_bytes: int = _PIECE) -> bytes:
        """Give what was read before, then what comes."""
        if self._first:
            piece, self._first = self._first[:max_bytes], self._first[max_bytes:]
            return piece
        return await self._stream.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        """Send bytes."""
        await self._stream.send(item)

    async def send_eof(self) -> None:
        """Say that no more will be sent."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close the stream below."""
        await self._stream.aclose()


async def join(one: ByteStream, other: ByteStream) -> None:
    """Carry bytes both ways between two streams until both have ended, or one breaks."""
    async with anyio.create_task_group() as tasks:

        async def carry(source: ByteStream, sink: ByteStream) -> None:
            try:
                async for piece in source:
                    await sink.send(piece)
                await sink.send_eof()
            # A stream of TLS cannot be closed one way, which anyio tells by this error.
            except (*GONE, NotImplementedError):
                tasks.cancel_scope.cancel()

        tasks.start_soon(carry, one, other)
        tasks.start_soon(carry, other, one)
