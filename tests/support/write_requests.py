"""Decodes Prometheus write requests strictly by the specification, independently of Towtank's encoder."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import cramjam

STALE_BITS = 0x7FF0000000000002


@dataclass(frozen=True)
class Point:
    """Sample of a series. `bits`, the bit pattern of the value, distinguishes a stale marker from other NaNs."""

    at_ms: int
    value: float
    bits: int

    @property
    def is_stale(self) -> bool:
        return self.bits == STALE_BITS


@dataclass(frozen=True)
class Written:
    """Decoded write request: samples by their sorted labels, and type and help text of metric families."""

    series: list[tuple[tuple[tuple[str, str], ...], list[Point]]]
    metadata: dict[str, tuple[int, str]]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the content of each field of a protobuf message. Fail on a wire type that write requests do
    not use.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif key & 7 == 1:
            yield key >> 3, data[at : at + 8]
            at += 8
        elif key & 7 == 2:
            length, at = _varint(data, at)
            assert at + length <= len(data)
            yield key >> 3, data[at : at + length]
            at += length
        else:
            raise AssertionError(f"unexpected wire type {key & 7}")


def _label(data: bytes) -> tuple[str, str]:
    found = dict(fields(data))
    assert set(found) == {1, 2}
    return bytes(found[1]).decode(), bytes(found[2]).decode()


def _point(data: bytes) -> Point:
    found = dict(fields(data))
    assert set(found) == {1, 2}
    raw = bytes(found[1])
    return Point(int(found[2]), struct.unpack("<d", raw)[0], struct.unpack("<Q", raw)[0])


def decode(body: bytes) -> Written:
    """Decode the body of a write request, which is compressed with snappy."""
    written = Written([], {})
    for number, content in fields(bytes(cramjam.snappy.decompress_raw(body))):
        parts = list(fields(bytes(content)))
        if number == 1:
            labels = tuple(_label(bytes(entry)) for key, entry in parts if key == 1)
            assert list(labels) == sorted(set(labels)), "labels must be sorted by name and must not repeat"
            assert labels[0][0] == "__name__"
            assert all(value for _, value in labels)
            written.series.append((labels, [_point(bytes(part)) for key, part in parts if key == 2]))
            assert {key for key, _ in parts} == {1, 2}
        else:
            assert number == 3
            found = dict(parts)
            written.metadata[bytes(found[2]).decode()] = (int(found[1]), bytes(found[4]).decode())
    return written
