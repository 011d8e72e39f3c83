"""Converts the connection options of `towtank drive` to keys of the engine's plan."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from towtank import files
from towtank.errors import Fault, StudyError

UNIX = "unix:"
_fault = Fault.of_option


@dataclass(frozen=True)
class ConnectionOptions:
    """Connection options of `towtank drive`, with the same defaults as in the engine's plan.

    Attributes
    ----------
    connections : str or None
        `per-user` (each user keeps its connections), `new` (each request opens a connection), or a number: the size of
        a connection pool for each target.
    sources : tuple of str
        Addresses of this host from which the generator connects, in turn.
    connect_to : tuple of str
        Addresses `host:port` or `unix:/path` to which the generator connects instead of the host of the URL.
    insecure : bool
        True to accept any certificate of the server without verification.
    cacert, cert, key : str or None
        PEM files with the trusted certificate authorities, the client's certificate, and the client's key.
    http2 : bool
        True to use HTTP/2.
    streams : int or None
        Largest number of simultaneous requests over each pooled connection with HTTP/2. [1]
    """

    connections: str | None = None
    sources: tuple[str, ...] = ()
    connect_to: tuple[str, ...] = ()
    insecure: bool = False
    cacert: str | None = None
    cert: str | None = None
    key: str | None = None
    http2: bool = False
    streams: int | None = None

    def check(self, threads: int) -> None:
        """Refuse invalid connection options, and options that contradict each other.

        Raises
        ------
        StudyError
            If an option is invalid or contradicts another one; the error lists every fault.
        """
        faults = [*self._connection_faults(threads), *self._source_faults(), *self._file_faults()]
        if self.streams is not None and not (self.http2 and self._is_pool):
            faults.append(_fault("--streams", "must be given together with --http2 and a number of --connections"))
        if self.insecure and self.cacert is not None:
            faults.append(
                _fault("--cacert", "must not be given together with --insecure, which accepts every certificate")
            )
        if faults:
            raise StudyError(faults)

    @property
    def has_tls(self) -> bool:
        """True if the command line has an option for TLS."""
        return self.insecure or any((self.cacert, self.cert, self.key))

    def connections_part(self, said: dict[str, object] | None = None) -> dict[str, object]:
        """Return the entry `connections` of the plan. Command-line options override `said`, the entry of the
        workload.
        """
        part = dict(said or {"mode": "per_user"})
        if self.connections is not None:
            sources = {"sources": part["sources"]} if "sources" in part else {}
            streams = {} if self.streams is None else {"streams": self.streams}
            mode = {"per-user": "per_user", "new": "new_each_time"}.get(self.connections, "pool")
            size = {"size": int(self.connections)} if self._is_pool else {}
            part = {"mode": mode, **size, **streams, **sources}
        return {**part, "sources": list(self.sources)} if self.sources else part

    @property
    def http_part(self) -> dict[str, object]:
        """Entry `http` of a target in the plan; empty if HTTP/2 is not requested."""
        return {"http": "2"} if self.http2 else {}

    @property
    def _is_pool(self) -> bool:
        return self.connections is not None and self.connections not in {"per-user", "new"}

    def tls_part(self) -> dict[str, object]:
        """Return the entry `tls` of the plan for a target that uses TLS."""
        named = {"ca": self.cacert, "client_certificate": self.cert, "client_key": self.key}
        given = {name: files.engine_path(Path(path).absolute()) for name, path in named.items() if path is not None}
        return {"verify": not self.insecure, **given}

    def _connection_faults(self, threads: int) -> list[Fault]:
        text = self.connections
        if text is None or text in {"per-user", "new"}:
            return []
        if not (text.isascii() and text.isdecimal() and int(text) > 0):
            return [_fault("--connections", f"must be per-user, new, or a number above 0, got {text!r} instead")]
        if int(text) < threads:
            message = f"must be at least one for each of {threads} load threads, got {text} instead"
            return [_fault("--connections", message)]
        return []

    def _source_faults(self) -> list[Fault]:
        faults = []
        for source in self.sources:
            try:
                ipaddress.ip_address(source)
            except ValueError:
                faults.append(_fault("--source", f"must be an IP address of this host, got {source!r} instead"))
        return faults

    def _file_faults(self) -> list[Fault]:
        faults = []
        for option, path in (("--cacert", self.cacert), ("--cert", self.cert), ("--key", self.key)):
            if path is not None and not Path(path).is_file():
                faults.append(_fault(option, f"must be a PEM file that can be read, got {path!r} instead"))
        if (self.cert is None) != (self.key is None):
            faults.append(_fault("--cert", "must be given together with --key"))
        return faults
