"""Captures the bodies of relayed HTTP messages: keeps their first part, counts their bytes, and decodes text."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# Largest part of a body that is kept. Values that clients send back later occur in pages and small documents. [byte]
KEPT_AT_MOST = 2_000_000
# Largest size of a decompressed body, as a protection against decompression bombs. [byte]
_DECODED_AT_MOST = 4_000_000
_TEXTS = ("text/", "application/json", "application/javascript", "application/xml", "application/x-www-form-urlencoded")
_TEXT_ENDINGS = ("+json", "+xml")
# Compressions that the standard library supports; the proxy accepts only these from servers.
CODINGS = ("gzip", "deflate")


@dataclass
class Capture:
    """First bytes of a message body, at most `KEPT_AT_MOST`, and the length of the whole body. [byte]"""

    kept: bytearray = field(default_factory=bytearray)
    size: int = 0

    def add(self, data: bytes | bytearray) -> None:
        self.kept += data[: max(0, KEPT_AT_MOST - len(self.kept))]
        self.size += len(data)

    @property
    def whole(self) -> bool:
        """True if the message body was kept completely."""
        return self.size == len(self.kept)


def is_text(media: str) -> bool:
    """Return True if a media type denotes text."""
    kind = media.partition(";")[0].strip().lower()
    return kind.startswith(_TEXTS) or kind.endswith(_TEXT_ENDINGS)


def text_of(raw: bytes, media: str) -> str:
    """Decode text by the charset of the media type, or by UTF-8 if the charset is unknown or missing."""
    charset = media.lower().partition("charset=")[2].partition(";")[0].strip(" \"'") or "utf-8"
    try:
        return raw.decode(charset, "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


def decompressed(capture: Capture, coding: str) -> bytes | None:
    """Decompress a message body; return None if the compression is unknown or the data are damaged.

    Of a body that was not kept completely, the first part is decompressed. `coding` is the header Content-Encoding, or
    empty.
    """
    raw = bytes(capture.kept)
    coding = coding.strip().lower()
    if coding in {"", "identity"}:
        return raw
    if coding not in {*CODINGS, "x-gzip"}:
        return None
    # Some servers send the compression "deflate" without the zlib header that RFC 9110, section 8.4.1.2, requires.
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        try:
            return zlib.decompressobj(bits).decompress(raw, _DECODED_AT_MOST)
        except zlib.error:
            continue
    return None


def lowered(headers: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return the first value of each header, by lower-case name."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.lower(), value)
    return found
