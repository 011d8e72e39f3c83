"""Reads metrics of Redis through the command `INFO`, described at https://redis.io/docs/latest/commands/info/."""

from __future__ import annotations

import io
import re
import socket
import time

from towtank.observe.scraper import ScrapeError, number_in, series_name
from towtank.observe.timely import TimelyStream

_TIMEOUT_S = 1.0
# Largest accepted sizes of a line and of a whole response. `INFO all` returns about 10 kB. [byte]
_LINE_AT_MOST, _ANSWER_AT_MOST = 4096, 8 * 1024 * 1024
_FIELDS = {
    "connected_clients": "redis_clients",
    "blocked_clients": "redis_clients_blocked",
    "used_memory": "redis_memory_used_bytes",
    "used_memory_rss": "redis_memory_resident_bytes",
    "maxmemory": "redis_memory_limit_bytes",
    "mem_fragmentation_ratio": "redis_memory_fragmentation_ratio",
    "total_connections_received": "redis_connections_total",
    "total_commands_processed": "redis_commands_total",
    "total_net_input_bytes": "redis_received_bytes_total",
    "total_net_output_bytes": "redis_sent_bytes_total",
    "rejected_connections": "redis_connections_rejected_total",
    "expired_keys": "redis_expired_keys_total",
    "evicted_keys": "redis_evicted_keys_total",
    "keyspace_hits": "redis_hits_total",
    "keyspace_misses": "redis_misses_total",
    "used_cpu_user": "redis_cpu_user_seconds_total",
    "used_cpu_sys": "redis_cpu_system_seconds_total",
    "aof_current_size": "redis_append_log_bytes",
    "aof_delayed_fsync": "redis_append_syncs_delayed_total",
}
_LENGTH = re.compile(rb"-1|\d{1,9}")
_DATABASE = re.compile(r"db(\d+)")
_COMMAND = re.compile(r"cmdstat_(.+)")


def parse(text: str) -> dict[str, float]:
    """Parse the response to `INFO all`, and return its numbers by series name.

    Raises
    ------
    ScrapeError
        If the response has another format.
    """
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line and not line.startswith("#"))
    if "connected_clients" not in fields:
        raise ScrapeError(f"INFO must report connected_clients, got {text[:80]!r} instead")
    values = {name: number_in(key, fields[key]) for key, name in _FIELDS.items() if key in fields}
    for key, value in fields.items():
        if found := _DATABASE.fullmatch(key):
            values[series_name("redis_keys", database=found[1])] = _part(key, value, "keys")
        elif found := _COMMAND.fullmatch(key):
            values[series_name("redis_calls_total", command=found[1])] = _part(key, value, "calls")
            values[series_name("redis_call_seconds_total", command=found[1])] = _part(key, value, "usec") / 1e6
    return values


def _part(key: str, text: str, name: str) -> float:
    """Return the value of `name` in a text such as `name=value,name=value`."""
    parts = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    return number_in(f"{name} of {key}", parts.get(name, ""))


class RedisConnection:
    """Connection to a Redis server that uses the protocol RESP 2.

    The protocol is described at https://redis.io/docs/latest/develop/reference/protocol-spec/.
    """

    def __init__(self, address: str, password: str | None = None) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S)
        self._answers = TimelyStream(self._socket, time.monotonic() + _TIMEOUT_S)
        self._stream = io.BufferedReader(self._answers)
        if password is not None:
            try:
                self.ask("AUTH", password)
            except BaseException:
                self.close()
                raise

    def ask(self, *words: str) -> str | None:
        """Send a command to the server and return the response; None for a null response.

        Raises
        ------
        ScrapeError
            If the server responds with an error, or the response is too long or has another type than text, integer
            or null.
        OSError
            If the response does not arrive in time.
        """
        parts = [word.encode() for word in words]
        request = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
        self._socket.settimeout(_TIMEOUT_S)
        self._socket.sendall(request)
        self._answers.deadline = time.monotonic() + _TIMEOUT_S
        return self._answer()

    def _answer(self) -> str | None:
        line = self._stream.readline(_LINE_AT_MOST)
        kind, rest = line[:1], line[1:].strip()
        if kind in (b"+", b":") and line.endswith(b"\n"):
            return rest.decode("utf-8", "replace")
        if kind != b"$" or not _LENGTH.fullmatch(rest) or int(rest) > _ANSWER_AT_MOST:
            raise ScrapeError(f"must be a response of Redis, got {line[:80]!r} instead")
        length = int(rest)
        return None if length < 0 else self._stream.read(length + 2)[:-2].decode("utf-8", "replace")

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def ask_redis(address: str, *words: str, password: str | None = None) -> str | None:
    """Send one command to a Redis server over a new connection, and return the response; None for a null response.

    Raises
    ------
    ScrapeError
        If the server cannot be reached, responds with an error, or does not respond in time.
    """
    try:
        connection = RedisConnection(address, password)
        try:
            return connection.ask(*words)
        finally:
            connection.close()
    except OSError as error:
        raise ScrapeError(f"{address}: {error.strerror or error}") from error


class RedisScraper:
    """Scraper of one Redis server at `host:port`, over a persistent connection."""

    source = "redis"
    kind = "redis"

    def __init__(self, service: str, address: str, password: str | None = None) -> None:
        self.service, self._address, self._password = service, address, password
        self._connection: RedisConnection | None = None

    def scrape(self) -> dict[str, float]:
        """Read all sections of `INFO`, and return their numbers by series name."""
        try:
            if self._connection is None:
                self._connection = RedisConnection(self._address, self._password)
            return parse(self._connection.ask("INFO", "all") or "")
        except ScrapeError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise ScrapeError(f"{self._address}: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the connection to the Redis server; the next scrape opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
