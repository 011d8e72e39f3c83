"""Encodes messages of Prometheus remote write 1.0. No library is needed for these four messages of a few fields each.

References
----------
Prometheus, *Remote-Write 1.0 specification*, https://prometheus.io/docs/specs/prw/remote_write_spec/; Protocol Buffers,
*Encoding*, https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache

COUNTER, GAUGE, HISTOGRAM = 1, 2, 3  # MetricMetadata.MetricType

_LENGTH_DELIMITED = 2
# The NaN by which Prometheus marks the end of a series, as bytes, because a float may not preserve the bits of a NaN.
_STALE = struct.pack("<Q", 0x7FF0000000000002)


# Results are cached, because the same lengths and times are encoded many times.
@lru_cache(maxsize=1024)
def varint(number: int) -> bytes:
    """Encode a number as a Protocol Buffers varint: base 128, the lowest seven bits first.

    Examples
    --------
    >>> varint(300).hex()
    'ac02'
    """
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _field(number: int, content: bytes) -> bytes:
    """Encode a field of a Protocol Buffers message that contains bytes, text or another message."""
    return bytes([number << 3 | _LENGTH_DELIMITED]) + varint(len(content)) + content


def labels(name: str, values: Mapping[str, str]) -> bytes:
    """Encode the non-empty labels of a series, sorted by name as the specification requires."""
    pairs = sorted({"__name__": name, **values}.items())
    return b"".join(_field(1, _field(1, key.encode()) + _field(2, text.encode())) for key, text in pairs if text)


def sample(value: float, at_ms: int) -> bytes:
    """Encode one sample of a series; `at_ms` is the time since 1970. [ms]"""
    return _sample(struct.pack("<d", value), at_ms)


def stale(at_ms: int) -> bytes:
    """Encode the sample that ends a series; `at_ms` is the time since 1970. [ms]"""
    return _sample(_STALE, at_ms)


def _sample(value: bytes, at_ms: int) -> bytes:
    return _field(2, b"\x09" + value + b"\x10" + varint(at_ms))


def time_series(series_labels: bytes, samples: Iterable[bytes]) -> bytes:
    """Encode one series with its samples, which must be sorted by time."""
    return _field(1, series_labels + b"".join(samples))


def metadata(family: str, kind: int, meaning: str) -> bytes:
    """Encode the metadata of a metric: name, type and help text."""
    return _field(3, bytes([0x08, kind]) + _field(2, family.encode()) + _field(4, meaning.encode()))
