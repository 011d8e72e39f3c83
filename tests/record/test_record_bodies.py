from __future__ import annotations

import gzip
import zlib

import pytest

from towtank.record.bodies import KEPT_AT_MOST, Capture, decompressed, is_text, text_of

TEXT = b"harbour " * 100


def captured(data: bytes) -> Capture:
    capture = Capture()
    capture.add(data)
    return capture


@pytest.mark.parametrize(
    ("coding", "data", "found"),
    [
        ("", TEXT, TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0), TEXT),
        ("X-Gzip", gzip.compress(TEXT, mtime=0), TEXT),
        ("deflate", zlib.compress(TEXT), TEXT),
        # Some servers send raw deflate (RFC 1951), without the zlib frame (RFC 1950).
        ("deflate", zlib.compress(TEXT)[2:-4], TEXT),
        ("gzip", b"no gzip at all", None),
        ("br", b"\x1b\x00", None),
    ],
    ids=["none", "gzip", "x-gzip", "deflate", "raw deflate", "no gzip", "unknown"],
)
def test_compression(coding: str, data: bytes, found: bytes | None) -> None:
    assert decompressed(captured(data), coding) == found


def test_a_bomb_stays_small() -> None:
    bomb = gzip.compress(bytes(200_000_000), 9)
    opened = decompressed(captured(bomb), "gzip")
    assert opened is not None
    assert len(opened) == 4_000_000


def test_a_capture_counts_what_it_does_not_keep() -> None:
    capture = Capture()
    for _ in range(5):
        capture.add(b"x" * 1_000_000)
    assert (capture.size, len(capture.kept), capture.whole) == (5_000_000, KEPT_AT_MOST, False)


@pytest.mark.parametrize(
    ("media", "raw", "text"),
    [
        ("text/html; charset=ISO-8859-1", b"Gr\xfc\xdfe", "Grüße"),
        ('text/html; charset="utf-8"', "Grüße".encode(), "Grüße"),
        ("text/html; charset=no-such-thing", "Grüße".encode(), "Grüße"),
        ("text/html", b"\xff", "\ufffd"),
    ],
)
def test_charsets(media: str, raw: bytes, text: str) -> None:
    assert text_of(raw, media) == text


@pytest.mark.parametrize(
    ("media", "text"),
    [
        ("application/hal+json; v=1", True),
        ("text/css", True),
        ("image/svg+xml", True),
        ("image/png", False),
        ("", False),
    ],
)
def test_media_types_of_text(media: str, text: bool) -> None:
    assert is_text(media) is text
