"""Reads counts of calls and the use of caches of a GlusterFS mount from the files below its folder `.meta`.

Reading a file of a mount blocks until the mount responds, and cannot be interrupted. The files are therefore read by a
separate process, whose output this process awaits only for the time limit of a scrape.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from towtank import marking
from towtank.observe.scraper import ScrapeError, series_name

_TIMEOUT_S = 1.0
_GRAPH = Path(".meta/graphs/active")
_TOP, _CACHE, _ATTRIBUTES = "asked", "cache", "attributes"
_END = b"\0end\n"
# Shell script that prints the name and content of each file, once for every line of its input.
_READER = r"""
while read -r line; do
  head -v -c 16777216 -- "$@" 2>/dev/null
  printf '\0end\n'
done
"""
_NAME = re.compile(r"^==> (.+) <==\n", re.MULTILINE)
_CALL = re.compile(r"\.cumulative\.(\w+) = (\d+),([\d.]+),")
_BYTES = {"data_read": "glusterfs_read_bytes_total", "data_written": "glusterfs_written_bytes_total"}
_CACHE_FIELDS = {
    "cache_size": "glusterfs_cache_limit_bytes",
    "cache_used": "glusterfs_cache_bytes",
    "inode_count": "glusterfs_cache_files",
}
_ATTRIBUTE_FIELDS = {
    "stat_hit_count": "glusterfs_attribute_hits_total",
    "stat_miss_count": "glusterfs_attribute_misses_total",
}
_NS = 1e9


def parse_asked(text: str) -> dict[str, float]:
    """Parse the `io-stats` counters of a mount: transferred bytes, and number and total time of calls by kind.

    Raises
    ------
    ScrapeError
        If the text has another format.
    """
    if "cumulative.data_read" not in text:
        raise ScrapeError(f"io-stats must report cumulative.data_read, got {text[:80]!r} instead")
    fields = _fields(text)
    values = {name: fields[f"cumulative.{key}"] for key, name in _BYTES.items() if f"cumulative.{key}" in fields}
    for call, count, seconds in _calls(text):
        values[series_name("glusterfs_calls_total", call=call)] = count
        values[series_name("glusterfs_call_seconds_total", call=call)] = seconds
    return values


def parse_sent(server: str, texts: list[str]) -> dict[str, float]:
    """Parse the counters of `io-stats` for all exported folders of a server, one text for each folder.

    The result contains the number and total time of the calls to the server, summed over its folders.
    """
    values: dict[str, float] = {}
    for text in texts:
        for call, count, seconds in _calls(text):
            labels = {"server": server, "call": call}
            for name, value in (("calls", count), ("call_seconds", seconds)):
                key = series_name(f"glusterfs_server_{name}_total", **labels)
                values[key] = values.get(key, 0.0) + value
    return values


def _calls(text: str) -> list[tuple[str, float, float]]:
    """Return name, number and total time [s] of each kind of call that occurred. The text contains nanoseconds."""
    return [(call.lower(), float(count), float(ns) / _NS) for call, count, ns in _CALL.findall(text) if int(count)]


def parse_private(text: str, fields: dict[str, str]) -> dict[str, float]:
    """Parse the given fields of a file named `private`, which has lines `name = number`. Return the numbers by series
    name.
    """
    numbers = _fields(text)
    return {name: numbers[key] for key, name in fields.items() if key in numbers}


def _fields(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        name, equals, value = line.partition(" = ")
        if equals:
            with suppress(ValueError):
                found[name.strip()] = float(value)
    return found


class GlusterfsScraper:
    """Scraper that reads the files of one mount through a shell; each scrape takes about 1 ms of CPU time.

    `mount` is the mount point as this process sees it. `clients` are the GlusterFS translators that count the calls to
    servers; each name begins with the name of the server and `-`.
    """

    source = "glusterfs"
    kind = "glusterfs_mount"

    def __init__(self, service: str, mount: Path, clients: list[str]) -> None:
        self.service, self._graph, self._clients = service, mount / _GRAPH, clients
        self._reader: subprocess.Popen[bytes] | None = None

    def scrape(self) -> dict[str, float]:
        """Read all files of the mount once through the reader process."""
        texts = self._read()
        values = parse_asked(texts.get(f"{_TOP}/private", ""))
        values |= parse_private(texts.get(f"{_CACHE}/private", ""), _CACHE_FIELDS)
        values |= parse_private(texts.get(f"{_ATTRIBUTES}/private", ""), _ATTRIBUTE_FIELDS)
        by_server: dict[str, list[str]] = {}
        for client in self._clients:
            by_server.setdefault(client.rpartition("-")[0], []).append(texts.get(f"{client}/private", ""))
        for server, parts in by_server.items():
            values |= parse_sent(server, parts)
        return values

    def _read(self) -> dict[str, str]:
        try:
            return self._answer()
        except (OSError, ScrapeError) as error:
            self.close()
            raise ScrapeError(f"the mount does not respond: {error}") from error

    def _answer(self) -> dict[str, str]:
        reader = self._reader or self._start()
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write(b"\n")
        reader.stdin.flush()
        deadline = time.monotonic() + _TIMEOUT_S
        said = b""
        while not said.endswith(_END):
            if not select.select([reader.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise ScrapeError(f"no answer within {_TIMEOUT_S:g} s")
            part = os.read(reader.stdout.fileno(), 65536)
            if not part:
                raise ScrapeError("the process that reads the mount ended")
            said += part
        return self._split(os.fsdecode(said.removesuffix(_END)))

    def _split(self, said: str) -> dict[str, str]:
        parts = _NAME.split(said)
        return {name.removeprefix(f"{self._graph}/"): text for name, text in zip(parts[1::2], parts[2::2], strict=True)}

    def _start(self) -> subprocess.Popen[bytes]:
        names = [f"{_TOP}/private", f"{_CACHE}/private", f"{_ATTRIBUTES}/private"]
        files = [str(self._graph / name) for name in (*names, *(f"{client}/private" for client in self._clients))]
        self._reader = subprocess.Popen(
            ["sh", "-c", _READER, "sh", *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=marking.environment(),
            bufsize=0,
            start_new_session=True,
        )
        return self._reader

    def close(self) -> None:
        """Kill the reader process, and wait at most 0.2 s for its end, because the mount may block it."""
        reader, self._reader = self._reader, None
        if reader is None:
            return
        for pipe in (reader.stdin, reader.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        # The process group cannot belong to another program, because the shell's exit status is not yet collected.
        with suppress(ProcessLookupError):
            os.killpg(reader.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            reader.wait(0.2)
