"""Bodies of relayed messages: their beginnings are kept, all bytes are counted, text is decoded."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# Bytes kept of one body: values that the client sends back are in pages and small documents. [byte]
KEPT_AT_MOST = 2_000_000
# Greatest size of a decompressed body, against decompression bombs. [byte]
_DECODED_AT_MOST = 4_000_000
_TEXTS = ("text/", "application/json", "application/javascript", "application/xml", "application/x-www-form-urlencoded")
_TEXT_ENDINGS = ("+json", "+xml")
# Compressions that the standard library can decompress; the proxy accepts only these from servers.
CODINGS = ("gzip", "deflate")


@dataclass
class Capture:
    """The beginning of a body, and its length.

    Attributes
    ----------
    kept : bytearray
        Its first bytes, at most `KEPT_AT_MOST`.
    size : int
        Length of the whole. [byte]
    """

    kept: bytearray = field(default_factory=bytearray)
    size: int = 0

    def add(self, data: bytes | bytearray) -> None:
        """Add the next piece."""
        self.kept += data[: max(0, KEPT_AT_MOST - len(self.kept))]
        self.size += len(data)

    @property
    def whole(self) -> bool:
        """True if the whole body was kept."""
        return self.size == len(self.kept)


def is_text(media: str) -> bool:
    """Return True if a media type is one of text."""
    kind = media.partition(";")[0].strip().lower()
    return kind.startswith(_TEXTS) or kind.endswith(_TEXT_ENDINGS)


def text_of(raw: bytes, media: str) -> str:
    """Decode text by the charset of its media type; UTF-8 without a known charset."""
    charset = media.lower().partition("charset=")[2].partition(";")[0].strip(" \"'") or "utf-8"
    try:
        return raw.decode(charset, "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


def decompressed(capture: Capture, coding: str) -> bytes | None:
    """Decompress a body; return None if that is not possible.

    Parameters
    ----------
    capture : Capture
        The body; of one that was not kept whole the beginning comes back.
    coding : str
        Header Content-Encoding; empty without one.
    """
    raw = bytes(capture.kept)
    coding = coding.strip().lower()
    if coding in {"", "identity"}:
        return raw
    if coding not in {*CODINGS, "x-gzip"}:
        return None
    # Some servers send deflate without the header of zlib that RFC 9110, section 8.4.1.2, requires.
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        try:
            return zlib.decompressobj(bits).decompress(raw, _DECODED_AT_MOST)
        except zlib.error:
            continue
    return None


def lowered(headers: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return headers by their names in lower case; the first one of each name."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.lower(), value)
    return found
