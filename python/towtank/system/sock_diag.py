"""Reads the sockets of this machine from the kernel over a netlink socket, as the program `ss` does.

The messages are described in sock_diag(7), `linux/unix_diag.h` and `linux/inet_diag.h`. In contrast to the files below
`/proc/net`, they contain the peers of Unix sockets, and the kernel needs only a twentieth of the time for them.
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
# Formats of the request for TCP sockets of one address family, and of each message in the response. The request ends
# with an empty description of a socket, which selects all sockets. Ports are in network byte order.
_TCP_REQUEST, _TCP = struct.Struct("=BBBxI48x"), struct.Struct("=xB2x2s2s16s16s12x16xI")
# Format of the older request for TCP sockets of both address families, and position of two numbers in a message: unread
# bytes and unacknowledged bytes.
_ANY_REQUEST, _QUEUES = struct.Struct("=3xB48xI4x"), struct.Struct("=56xII")
# Number of the attribute `tcp_info`, and position of its fields that `ClientSocket` contains.
_INFO_ATTRIBUTE = 2
_INFO = struct.Struct("=44xI4xII92xII")
# Formats of a filter that the kernel applies to each socket: instruction (code, jump if true, jump if false), and
# address with which it compares. Here this is a port at any address.
_FILTER_ATTRIBUTE, _INSTRUCTION, _HOST = 1, struct.Struct("=BBH"), struct.Struct("=BB2xi")
_JUMP, _OWN_PORT_IS, _PEER_PORT_IS = 1, 7, 8
# Number of ports whose instructions, of 16 bytes for each, fit in an attribute, whose length has 16 bits. [1]
_PORTS_AT_MOST = ((1 << 16) - 1 - _ATTRIBUTE.size) // (2 * _INSTRUCTION.size + _HOST.size)
_RECEIVED_BYTES = 1 << 17


@dataclass(frozen=True, slots=True)
class UnixSocket:
    """Unix socket.

    Attributes
    ----------
    inode : str
        Number by which `/proc/PID/fd` names the socket.
    listens : bool
        True if the socket accepts connections.
    place : tuple of bytes
        Address of the socket, and device and inode of its file; empty if the socket has no address, as that of a
        client. A socket that was created by accepting a connection has the address of the listening socket.
    peer : str or None
        Inode of the peer socket; None if the socket is not connected.
    """

    inode: str
    listens: bool
    place: tuple[bytes, ...]
    peer: str | None


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """TCP socket that listens or is connected.

    Attributes
    ----------
    inode : str
        Number by which `/proc/PID/fd` names the socket.
    listens : bool
        True if the socket accepts connections.
    own, peer : tuple of bytes and int
        IP address (4 or 16 bytes) and port of the socket and of its peer.
    """

    inode: str
    listens: bool
    own: tuple[bytes, int]
    peer: tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class ClientSocket:
    """Connected TCP socket of a client, with counts of its traffic.

    Attributes
    ----------
    inode : str
        Number by which `/proc/PID/fd` names the socket.
    unread, unacknowledged : int
        Received bytes that the client has not read, and sent bytes that the server has not acknowledged. [byte]
    sent_ms, received_ms, acknowledged_ms : int
        Time since the last data were sent, since the last data were received, and since the last acknowledgement
        was received, in the resolution of the kernel's clock. [ms]
    segments_received, segments_sent : int
        Number of segments with data. [1]
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
        """True if the client waits for a response or has not read it yet; False if not; None if this is unknown.

        Notes
        -----
        The client waits if it has unread or unacknowledged bytes, or sent data later than it received data. If both
        happened in the same step of the kernel's clock, an acknowledgement without data decides. Linux sends one at
        most 0.2 s after a request whose response takes longer. A later one answers a probe of an idle connection.
        """
        if self.unread or self.unacknowledged or self.sent_ms < self.received_ms:
            return True
        if self.received_ms < self.sent_ms:
            return False
        is_alone = self.acknowledged_ms < self.received_ms
        return True if is_alone and self.sent_ms - self.acknowledged_ms <= _ACKNOWLEDGED_WITHIN_MS else None


# Longest time between a request and its acknowledgement without data, with a margin. [ms]
_ACKNOWLEDGED_WITHIN_MS = 250


def clients_of(ports: Collection[int]) -> dict[int, list[ClientSocket]] | None:
    """Return the sockets of clients that are connected to one of the ports, at any address, by port.

    Return None if the kernel does not report them.
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
    """Return the number of connections that wait to be accepted, and its limit, for each socket that listens on a port.

    Return None if the kernel does not report them.
    """
    found = _with_ports(1 << _LISTENS, _OWN_PORT_IS, ports, extension=0)
    return None if found is None else [_QUEUES.unpack_from(message) for message in found]


def _with_ports(states: int, side: int, ports: Collection[int], *, extension: int) -> list[bytes] | None:
    """Return the messages about TCP sockets in the given states that have one of the ports on the given side.

    For connected sockets, the kernel visits its whole table, which has several 100,000 entries on a large machine. One
    request for both address families and as many ports as fit into it is therefore the fastest.
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
    """Return a filter that accepts sockets with one of the ports.

    The kernel accepts a socket if it reaches exactly the end of the filter, and rejects it if a jump leads further.
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
    """Parse a message with the attribute `tcp_info`; return None if the attribute is missing."""
    *_, inode = _TCP.unpack_from(message)
    info = _attributes(message, _TCP.size).get(_INFO_ATTRIBUTE, b"")
    if len(info) < _INFO.size:
        return None
    unread, unacknowledged = _QUEUES.unpack_from(message)
    return ClientSocket(str(inode), unread, unacknowledged, *_INFO.unpack_from(info))


def unix_sockets() -> list[UnixSocket]:
    """Return all Unix sockets in the network namespace of this process; empty if the kernel does not report them."""
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
    """Send a request to the kernel, and return the messages of the response without their headers.

    Return None if the kernel does not respond or refuses the request.
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
    _, _, state, inode = _UNIX.unpack_from(message)
    found = _attributes(message, _UNIX.size)
    peer = int.from_bytes(found.get(_PEER, b""), sys.byteorder)
    place = (found[_NAME], found.get(_VFS, b"")) if found.get(_NAME) else ()
    return UnixSocket(str(inode), state == _LISTENS, place, str(peer) if peer else None)


def _attributes(message: bytes, at: int) -> dict[int, bytes]:
    """Return the attributes of a message by their number. The first attribute begins at the position `at`. [byte]"""
    found = {}
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = message[at + _ATTRIBUTE.size : at + length]
        at += _aligned(length)
    return found


def _tcp_socket(message: bytes, length: int) -> TcpSocket:
    """Parse a message `inet_diag_msg` whose addresses have `length` bytes."""
    state, own_port, peer_port, own, peer, inode = _TCP.unpack_from(message)
    return TcpSocket(
        str(inode),
        state == _LISTENS,
        (own[:length], int.from_bytes(own_port, "big")),
        (peer[:length], int.from_bytes(peer_port, "big")),
    )


def _aligned(length: int) -> int:
    return (length + 3) & ~3
