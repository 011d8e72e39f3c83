"""Sums the memory of all sockets in the network namespace of this thread, as reported by the kernel
(`sock_diag(7)`).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY, _DONE, _ERROR = 20, 3, 2
_REQUEST_ALL = 0x301  # Flags NLM_F_REQUEST | NLM_F_DUMP, which request a list of all sockets.
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_ANSWER_BYTES = 2**16
# Lengths of `inet_diag_msg` and `unix_diag_msg`, which precede the attributes in a message [byte], and number of the
# attribute that contains the memory.
_INET, _INET_MEMORY = 72, 7
_UNIX, _UNIX_MEMORY = 16, 5
_UNIX_SHOW_MEMORY = 0x20
# Bit mask of the states of sockets to be listed: all except TIME_WAIT (6) and LISTEN (10), which have no memory.
_STATES = 0xFFFFFFFF & ~(1 << 6 | 1 << 10)
# Indexes, in `SK_MEMINFO_*` of linux/sock_diag.h, of the values that are added.
_RECEIVED, _SENDING, _AHEAD, _QUEUED, _OPTIONS, _BACKLOG = 0, 2, 4, 5, 6, 7


def socket_memory() -> float:
    """Return the memory of all TCP and Unix sockets in the network namespace of this thread. [byte]

    It consists of unread input, unacknowledged output, and memory that the kernel allocated in advance.

    Raises
    ------
    OSError
        If the kernel does not report the memory.
    """
    found = 0
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as channel:
        channel.bind((0, 0))
        for family in (socket.AF_INET, socket.AF_INET6):
            asked = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (_INET_MEMORY - 1), _STATES)
            for body in _answers(channel, asked):
                found += _memory(body, _INET, _INET_MEMORY)
        asked = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, _STATES, 0, _UNIX_SHOW_MEMORY, 0, 0)
        for body in _answers(channel, asked):
            found += _memory(body, _UNIX, _UNIX_MEMORY)
    return float(found)


def _answers(channel: socket.socket, asked: bytes) -> Iterator[bytes]:
    """Request messages about all sockets from the kernel, and yield each message without its header.

    Raises
    ------
    OSError
        If the kernel refuses the request.
    """
    channel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST_ALL, 0, 0) + asked)
    while True:
        answer = channel.recv(_ANSWER_BYTES)
        while len(answer) >= _HEADER.size:
            length, kind, _, _, _ = _HEADER.unpack_from(answer)
            if kind == _DONE:
                return
            if kind == _ERROR:
                (number,) = struct.unpack_from("=i", answer, _HEADER.size)
                raise OSError(-number, "sock_diag")
            yield answer[_HEADER.size : length]
            answer = answer[(length + 3) & ~3 :]


def _memory(body: bytes, start: int, wanted: int) -> int:
    """Return the memory of one socket from the kernel's message about the socket. [byte]

    For a TCP socket, copies of packets in flight are part of the send queue, and are counted only once. For a Unix
    socket, the memory is data that the peer has not read.
    """
    place = start
    while place + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, place)
        if kind == wanted:
            numbers = struct.unpack_from(f"={(length - _ATTRIBUTE.size) // 4}I", body, place + _ATTRIBUTE.size)
            sent = max(numbers[_QUEUED], numbers[_SENDING])
            return int(numbers[_RECEIVED] + sent + numbers[_AHEAD] + numbers[_OPTIONS] + numbers[_BACKLOG])
        place += max(_ATTRIBUTE.size, (length + 3) & ~3)
    return 0
