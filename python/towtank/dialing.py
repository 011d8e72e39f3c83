"""Connects to the first address of a host name that accepts the connection, and describes failures as sentences."""

from __future__ import annotations

import errno
import http.client
import os
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Sequence

# Time from the start of one connection attempt to the start of the next (RFC 8305, section 5). [s]
ATTEMPT_DELAY_S = 0.25

_CONNECTION = "is the server up, and is the port right?"
# Advice to the user, by error number of a connection attempt on Linux.
NEXT_STEPS = {
    errno.ECONNREFUSED: _CONNECTION,
    errno.ETIMEDOUT: "is the host up, and does a firewall drop packets to this port?",
    errno.EHOSTUNREACH: "is the host up, and is its address right (ping, ip route get ADDRESS)?",
    errno.EHOSTDOWN: "is the host up, and is its address right (ping, ip route get ADDRESS)?",
    errno.ENETUNREACH: "this machine has no route to the address (ip route get ADDRESS)",
    errno.ENETDOWN: "bring the network interface up (ip link)",
    errno.ECONNRESET: "is the queue of the server full, or does it expect another protocol on this port?",
    errno.ECONNABORTED: "does a firewall or proxy close the connection?",
    errno.EPIPE: "see the log of the server for the reason",
    errno.EADDRNOTAVAIL: "widen net.ipv4.ip_local_port_range, or name further source addresses",
    errno.EADDRINUSE: "name further source addresses, or keep connections open",
    errno.EACCES: "is this user allowed to open the socket, and does a firewall rule refuse the connection?",
    errno.EPERM: "does a firewall rule or a sandbox refuse the connection (nft list ruleset)?",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise fs.file-max of this machine",
    errno.ENOBUFS: "this machine has no memory left for the network: raise net.ipv4.tcp_mem",
    errno.ENOMEM: "this machine has no memory left",
    errno.ENOENT: "is the server up, and is the path of its socket right?",
    errno.EAGAIN: "the queue of the server's socket is full: raise its backlog",
    errno.EAFNOSUPPORT: "this machine has no network for IPv4 or for IPv6: name an address of the other family",
    errno.EINVAL: "is the address right? A link-local address needs its interface, such as fe80::1%eth0",
}

_SPELLING = "is the name spelled right? `getent hosts NAME` prints the addresses that this machine finds"
# Description and advice to the user, by error of name resolution (RFC 3493, section 6.1).
NAME_ERRORS = {
    socket.EAI_NONAME: ("the name is not known", _SPELLING),
    socket.EAI_NODATA: ("the name has no address", _SPELLING),
    socket.EAI_ADDRFAMILY: ("the name has no address of the requested family", _SPELLING),
    socket.EAI_AGAIN: ("the name server does not respond", "is the network up, and is /etc/resolv.conf right?"),
    socket.EAI_FAIL: ("the name server refused the request", "is /etc/resolv.conf right?"),
    socket.EAI_FAMILY: ("this machine has no network for IPv6", "name an IPv4 address, or bring up IPv6"),
    socket.EAI_SERVICE: ("the name of the port is not known", "give the port as a number"),
    socket.EAI_SOCKTYPE: ("this machine has no TCP", "use another machine"),
    socket.EAI_BADFLAGS: ("this machine cannot resolve names in this way", "give the address as a number"),
    socket.EAI_MEMORY: ("this machine has no memory left to resolve the name", "end other programs"),
    socket.EAI_OVERFLOW: ("the name is too long", "give the address as a number"),
    socket.EAI_SYSTEM: ("this machine failed to resolve the name", "is /etc/resolv.conf readable?"),
}

_AUTHORITY = "add the authority to the authorities of this machine (SSL_CERT_FILE)"
# Description and advice to the user, by error code of certificate verification in OpenSSL (X509_V_ERR_...).
CERTIFICATE_ERRORS = {
    9: ("the certificate is not valid yet", "set the clocks of both machines"),
    10: ("the certificate has expired", "renew it"),
    18: ("the certificate is self-signed", "add it to the authorities of this machine (SSL_CERT_FILE)"),
    19: ("the root authority of the certificate is not known", _AUTHORITY),
    20: ("the authority of the certificate is not known", _AUTHORITY),
    21: ("the server sent no certificate of the issuing authority", "let the server send the whole chain"),
    62: ("the certificate is not valid for the name", "use a name that the certificate contains"),
    64: ("the certificate is not valid for the address", "use a name that the certificate contains"),
}


class UnreachedError(OSError):
    """Raised if no address of a host name accepted a connection; `attempts` has the error of each address, in their
    order.
    """

    def __init__(self, attempts: dict[str, OSError]) -> None:
        last = next(reversed(attempts.values()))
        super().__init__(last.errno or errno.ETIMEDOUT, str(last))
        self.attempts = attempts
        self.strerror = _together([(number, fact(error)) for number, error in attempts.items()])


def _together(facts: list[tuple[str, str]]) -> str:
    """Describe the connection failure at each address; a single failure is described without its address."""
    if len(facts) == 1:
        return facts[0][1]
    if len({text for _, text in facts}) == 1:
        return f"{facts[0][1]}, tried at {', '.join(number for number, _ in facts)}"
    return "; ".join(f"{number}: {text}" for number, text in facts)


def addresses_of(host: str, port: int) -> list[str]:
    """Return the numeric addresses of a host name in the order of RFC 6724, without repetitions.

    Raises
    ------
    OSError
        If the name has no address.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def connect_first(numbers: Sequence[str], port: int, limit_s: float) -> tuple[socket.socket, str]:
    """Connect to the first address that accepts the connection (RFC 8305).

    After a failure, the next address is tried at once. If an attempt has not ended after 250 ms, the next attempt
    starts in parallel.

    Parameters
    ----------
    numbers : sequence of str
        Numeric addresses, at least one, in the order of the attempts.
    port : int
    limit_s : float
        Time limit for all attempts together. [s]

    Returns
    -------
    socket.socket, str
        Connection in blocking mode, and its address.

    Raises
    ------
    UnreachedError
        If no address accepts the connection.
    """
    attempts = _Attempts(numbers, port)
    try:
        return attempts.run(time.monotonic() + limit_s)
    finally:
        attempts.close()


class _Attempts:
    """Connection attempts to several addresses: waiting, pending and failed."""

    def __init__(self, numbers: Sequence[str], port: int) -> None:
        self._waiting = deque(dict.fromkeys(numbers))
        self._port = port
        self._selector = selectors.DefaultSelector()
        self._failed: dict[str, OSError] = {}

    def run(self, until_s: float) -> tuple[socket.socket, str]:
        next_s = 0.0
        while (now_s := time.monotonic()) < until_s and (self._waiting or self._selector.get_map()):
            if self._waiting and (now_s >= next_s or not self._selector.get_map()):
                self._begin(self._waiting.popleft())
                next_s = now_s + ATTEMPT_DELAY_S
                continue
            wake_s = min(until_s, next_s) if self._waiting else until_s
            for key, _ in self._selector.select(max(0.0, wake_s - now_s)):
                if (made := self._settle(key)) is not None:
                    return made, key.data
        for key in list(self._selector.get_map().values()):
            self._failed[key.data] = OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        if not self._failed:
            self._failed[self._waiting[0]] = OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        raise UnreachedError(self._failed)

    def _begin(self, number: str) -> None:
        family = socket.AF_INET6 if ":" in number else socket.AF_INET
        try:
            made = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            self._failed[number] = error
            return
        try:
            made.setblocking(False)
            place = socket.getaddrinfo(number, self._port, family, socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
            code = made.connect_ex(place[0][4])
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, os.strerror(code))
            self._selector.register(made, selectors.EVENT_WRITE, number)
        except OSError as error:
            self._failed[number] = error
            made.close()

    def _settle(self, key: selectors.SelectorKey) -> socket.socket | None:
        made = key.fileobj
        assert isinstance(made, socket.socket)
        self._selector.unregister(made)
        code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._failed[key.data] = OSError(code, os.strerror(code))
            made.close()
            return None
        made.setblocking(True)
        return made

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()


def fact(error: BaseException) -> str:
    """Describe a failure of name resolution, connection, TLS or HTTP in words of the network, not of a library."""
    return _described(error)[0]


def next_step(error: BaseException) -> str:
    """Return advice to the user after a failure of name resolution, connection, TLS or HTTP."""
    return _described(error)[1]


def _described(error: BaseException) -> tuple[str, str]:
    if isinstance(error, socket.gaierror):
        return NAME_ERRORS.get(error.errno or 0, ("this machine failed to resolve the name", _SPELLING))
    if isinstance(error, ssl.SSLCertVerificationError):
        unknown = ("the certificate is not accepted", "give the server another certificate")
        return CERTIFICATE_ERRORS.get(error.verify_code, unknown)
    for kind, described in _KINDS:
        if isinstance(error, kind):
            return described
    number = getattr(error, "errno", None) or 0
    step = NEXT_STEPS.get(number, _CONNECTION)
    if isinstance(error, UnreachedError):
        return str(error.strerror), step
    return os.strerror(number) if number else getattr(error, "strerror", None) or "the connection failed", step


_LOG = "see the log of the server for the reason"
# Description and advice to the user, by class of error. The first matching class is used, so subclasses come before
# their base classes.
_KINDS: tuple[tuple[type[BaseException], tuple[str, str]], ...] = (
    (UnicodeError, ("the name is not valid: a part is empty or longer than 63 letters", _SPELLING)),
    (ssl.SSLError, ("the TLS handshake failed", "does the port speak TLS, with a version that this machine accepts?")),
    (http.client.RemoteDisconnected, ("the server closed the connection before any byte of a response", _LOG)),
    (http.client.IncompleteRead, ("the server closed the connection before the end of its response", _LOG)),
    (http.client.HTTPException, ("the response is not HTTP", "does the port speak HTTP, and without TLS (https://)?")),
)
