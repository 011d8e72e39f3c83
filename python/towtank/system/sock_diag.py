"""Reads the sockets of this machine from the kernel by netlink, as `ss` does.

See sock_diag(7), `linux/unix_diag.h` and `linux/inet_diag.h`. In contrast to the files below `/proc/net`, the response
contains the peers of Unix sockets. The kernel produces it in a twentieth of the time that these files take.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_SOCK_DIAG, _BY_FAMILY, _TCP_OF_ANY_FAMILY = 4, 20, 18
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_SHOW_NAME, _SHOW_VFS, _SHOW_PEER = 0x1, 0x2, 0x4
_NAME, _VFS, _PEER = 0, 1, 2
_CONNECTED, _LISTENS = 1, 10
_ALL_STATES = 0xFFFFFFFF
_HEAD, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_UNIX_REQUEST, _UNIX = struct.Struct("=BBHIII8x"), struct.Struct("=BBBxI8x")
# Formats of the request for TCP sockets, and of each message in the response. The request ends with an empty socket
# description, which selects all sockets; ports are in network byte order.
_TCP_REQUEST, _TCP = struct.Struct("=BBBxI48x"), struct.Struct("=xB2x2s2s16s16s12x16xI")
# The older form of this request, which asks for sockets of IPv4 and IPv6 at once, and the fields of a message from
# which queues and times are read: bytes that were not read, bytes that were not acknowledged, and the attribute
# `tcp_info`.
_ANY_REQUEST, _QUEUES = struct.Struct("=3xB48xI4x"), struct.Struct("=56xII")
_INFO_ATTRIBUTE = 2
_INFO = struct.Struct("=44xI4xII92xII")
# Instructions of a filter that the kernel applies to each socket: code, jump if true, jump if false. The comparison
# with a port has a description of addresses behind it, here any address of any family.
_FILTER_ATTRIBUTE, _INSTRUCTION, _HOST = 1, struct.Struct("=BBH"), struct.Struct("=BB2xi")
_JUMP, _OWN_PORT_IS, _PEER_PORT_IS = 1, 7, 8
# Number of ports whose instructions, of 16 bytes for each, fit in an attribute, whose length has 16 bits. [1]
_PORTS_AT_MOST = ((1 << 16) - 1 - _ATTRIBUTE.size) // (2 * _INSTRUCTION.size + _HOST.size)
_RECEIVED_BYTES = 1 << 17


@dataclass(frozen=True, slots=True)
class UnixSocket:
    """Unix socket, as the kernel reports it.

    Attributes
    ----------
    inode : str
        Number by which `/proc/PID/fd` names the socket.
    listens : bool
        True if the socket accepts connections.
    place : tuple of bytes
        Address of the socket, and device and inode of its file. A socket that resulted from accepting a connection has
        the values of the listening socket. Empty without an address, as for sockets of clients.
    peer : str or None
        Inode of the other end; None without a connection.
    """

    inode: str
    listens: bool
    place: tuple[bytes, ...]
    peer: str | None


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """TCP socket that accepts connections or is connected, as the kernel reports it.

    Attributes
    ----------
    inode : str
        Number by which `/proc/PID/fd` names the socket.
    listens : bool
        True if the socket accepts connections.
    own, peer : tuple of bytes and int
        Address, of 4 or 16 bytes, and port of both ends.
    """

    inode: str
    listens: bool
    own: tuple[bytes, int]
    peer: tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class ClientSocket:
    """Connected TCP socket of a client, with its traffic.

    Attributes
    ----------
    inode : str
        Number by which `/proc/PID/fd` names the socket.
    unread, unacknowledged : int
        Bytes that were received and that the client has not read, and bytes that the client wrote and that the server
        has not acknowledged. [byte]
    sent_ms, received_ms, acknowledged_ms : int
        Time since data was last sent, since data was last received, and since any acknowledgement was received, in
        steps of the kernel's clock. [ms]
    segments_received, segments_sent : int
        Segments with data. [1]
    """

    inode: str
    unread: int
    unacknowledged: int
    sent_ms: int
    received_ms: int
    acknowledged_ms: int
    segments_received: int
    segments_sent: int

    @property
    def waits(self) -> bool | None:
        """True if the client has sent a request and has not read the response, False if it has; None if both happened
        in the same step of the kernel's clock.

        Notes
        -----
        An acknowledgement without data that follows a request shows that the server works on it: Linux sends it after
        at most 0.2 s. A later acknowledgement answers a probe of an idle connection.
        """
        if self.unread or self.unacknowledged or self.sent_ms < self.received_ms:
            return True
        if self.received_ms < self.sent_ms:
            return False
        is_alone = self.acknowledged_ms < self.received_ms
        return True if is_alone and self.sent_ms - self.acknowledged_ms <= _ACKNOWLEDGED_WITHIN_MS else None


_ACKNOWLEDGED_WITHIN_MS = 250


def clients_of(ports: Collection[int]) -> dict[int, list[ClientSocket]] | None:
    """Return the client sockets of this machine that are connected to ports of any address, by port; None if the kernel
    does not report them.
    """
    found = _with_ports(1 << _CONNECTED, _PEER_PORT_IS, ports, extension=1 << _INFO_ATTRIBUTE - 1)
    if found is None:
        return None
    clients: dict[int, list[ClientSocket]] = {}
    for message in found:
        if (client := _client(message)) is not None:
            clients.setdefault(int.from_bytes(_TCP.unpack_from(message)[2], "big"), []).append(client)
    return clients


def accept_queues(ports: Collection[int]) -> list[tuple[int, int]] | None:
    """Return the number of connections that wait to be accepted, and its limit, for each socket that listens on one of
    the ports; None if the kernel does not report them.
    """
    found = _with_ports(1 << _LISTENS, _OWN_PORT_IS, ports, extension=0)
    return None if found is None else [_QUEUES.unpack_from(message) for message in found]


def _with_ports(states: int, side: int, ports: Collection[int], *, extension: int) -> list[bytes] | None:
    """Return the messages about TCP sockets in given states that have one of the ports on one side.

    For connected sockets, the kernel visits all places of its table, of which a large machine has several 100,000. A
    single request for both address families and as many ports as it has room for therefore costs the least.
    """
    request, wanted = _ANY_REQUEST.pack(extension, states), sorted(ports)
    found: list[bytes] = []
    for first in range(0, len(wanted), _PORTS_AT_MOST):
        code = _port_filter(side, wanted[first : first + _PORTS_AT_MOST])
        messages = _answer(request + _attribute(_FILTER_ATTRIBUTE, code), _TCP_OF_ANY_FAMILY)
        if messages is None:
            return None
        found += messages
    return found


def _port_filter(side: int, ports: Collection[int]) -> bytes:
    """Return the instructions that accept sockets with one of the ports.

    The kernel accepts a socket whose instructions end exactly at the end, and rejects it after a jump beyond the end.
    """
    length, jump = _INSTRUCTION.size + _HOST.size, _INSTRUCTION.size
    code = b""
    for port in sorted(ports, reverse=True):
        accept = _INSTRUCTION.pack(_JUMP, jump, jump + len(code)) if code else b""
        compare = _INSTRUCTION.pack(side, length, length + jump) + _HOST.pack(0, 0, port)
        code = compare + accept + code
    return code


def _attribute(kind: int, content: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(content), kind) + content


def _client(message: bytes) -> ClientSocket | None:
    """Parse a message with the attribute `tcp_info`; None if the kernel left the attribute out."""
    *_, inode = _TCP.unpack_from(message)
    info = _attributes(message, _TCP.size).get(_INFO_ATTRIBUTE, b"")
    if len(info) < _INFO.size:
        return None
    unread, unacknowledged = _QUEUES.unpack_from(message)
    return ClientSocket(str(inode), unread, unacknowledged, *_INFO.unpack_from(info))


def unix_sockets() -> list[UnixSocket]:
    """Return all Unix sockets in the network namespace of this process; none if the kernel does not report them."""
    shown = _SHOW_NAME | _SHOW_VFS | _SHOW_PEER
    messages = _answer(_UNIX_REQUEST.pack(socket.AF_UNIX, 0, 0, _ALL_STATES, 0, shown))
    return [_unix_socket(message) for message in messages or ()]


def tcp_sockets() -> list[TcpSocket] | None:
    """Return the TCP sockets in the network namespace of this process; None if the kernel does not report them."""
    found = []
    for family, length in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
        states = 1 << _CONNECTED | 1 << _LISTENS
        messages = _answer(_TCP_REQUEST.pack(family, socket.IPPROTO_TCP, 0, states))
        if messages is None:
            return None
        found += [_tcp_socket(message, length) for message in messages]
    return found


def _answer(body: bytes, kind: int = _BY_FAMILY) -> list[bytes] | None:
    """Send a request to the kernel; return the messages of its response without their headers, or None if the kernel
    does not respond.
    """
    request = _HEAD.pack(_HEAD.size + len(body), kind, _REQUEST | _DUMP, 1, 0) + body
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as channel:
            channel.settimeout(1.0)
            channel.send(request)
            return list(_messages(channel))
    except OSError:
        return None


def _messages(channel: socket.socket) -> Iterator[bytes]:
    while True:
        data, at = channel.recv(_RECEIVED_BYTES), 0
        while at + _HEAD.size <= len(data):
            length, kind, *_ = _HEAD.unpack_from(data, at)
            if kind == _DONE:
                return
            if kind == _ERROR or length < _HEAD.size:
                raise OSError("the kernel does not report these sockets")
            yield data[at + _HEAD.size : at + length]
            at += _aligned(length)


def _unix_socket(message: bytes) -> UnixSocket:
    """Parse a message `unix_diag_msg` of the kernel with its attributes."""
    _, _, state, inode = _UNIX.unpack_from(message)
    found = _attributes(message, _UNIX.size)
    peer = int.from_bytes(found.get(_PEER, b""), sys.byteorder)
    place = (found[_NAME], found.get(_VFS, b"")) if found.get(_NAME) else ()
    return UnixSocket(str(inode), state == _LISTENS, place, str(peer) if peer else None)


def _attributes(message: bytes, at: int) -> dict[int, bytes]:
    """Return the attributes of a message by kind, which begin at a given position."""
    found = {}
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = message[at + _ATTRIBUTE.size : at + length]
        at += _aligned(length)
    return found


def _tcp_socket(message: bytes, length: int) -> TcpSocket:
    """Parse a message `inet_diag_msg` of the kernel, whose addresses have the given length in bytes."""
    state, own_port, peer_port, own, peer, inode = _TCP.unpack_from(message)
    return TcpSocket(
        str(inode),
        state == _LISTENS,
        (own[:length], int.from_bytes(own_port, "big")),
        (peer[:length], int.from_bytes(peer_port, "big")),
    )


def _aligned(length: int) -> int:
    return (length + 3) & ~3
