"""Hypothesis strategies that generate damaged inputs for readers of files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("TOWTANK_EXAMPLES", "60"))
"""Number of random inputs for each reader. `make fuzz` sets a larger number and uses new random seeds."""

# Byte sequences that often reveal errors in readers of lengths, numbers, texts and structures.
_EDGES = (
    *(b"", b"0", b"-1", b"1e999", b"-0.0", b"nan", b"inf", b"9" * 25, b"9" * 5000, b"\0", b"\xff\xfe", b"\xc3", b"\r"),
    *(b"\n", b"\n\n", b'"', b"'", b"{", b"}", b"[", b"]", b"(", b"<", b">", b"&amp;", b"${", b"}}", b"\\", b"\\u0000"),
    *(b":", b": ", b"- ", b",", b"=", "\u2028".encode(), "\u0660".encode(), "\U0001f6a2".encode(), b"null", b"true"),
    *(b"%00", b"%", b"../", b"/dev/zero", b" " * 70, b"x" * 140_000),
)
_PLACE = st.floats(0, 1, exclude_max=True)
_KIND = st.sampled_from(("cut", "put", "over", "twice", "byte", "end"))
_EDIT = st.tuples(_PLACE, _PLACE, _KIND, st.sampled_from(_EDGES))


def edited(data: bytes, edits: Sequence[tuple[float, float, str, bytes]]) -> bytes:
    """Return `data` after a list of edits, such as deletions and insertions.

    Examples
    --------
    >>> edited(b"abcdef", [(0.5, 0.0, "put", b"-"), (0.0, 0.0, "cut", b"")])
    b'bc-def'
    """
    for at, length, kind, edge in edits:
        start = int(at * (len(data) + 1))
        end = min(len(data), start + 1 + int(length * 40))
        if kind == "cut":
            data = data[:start] + data[end:]
        elif kind == "put":
            data = data[:start] + edge + data[start:]
        elif kind == "over":
            data = data[:start] + edge + data[end:]
        elif kind == "twice":
            data = data[:end] + data[start:end] + data[end:]
        elif kind == "byte":
            data = data[:start] + bytes([int(length * 256)]) + data[start + 1 :]
        else:
            data = data[:start]
    return data


def damaged(inputs: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Return a Hypothesis strategy that chooses an input and makes one to four random edits."""
    return st.builds(edited, st.sampled_from(list(inputs)), st.lists(_EDIT, min_size=1, max_size=4))
