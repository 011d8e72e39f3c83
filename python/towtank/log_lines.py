"""Finds errors and warnings in the log lines of any service, and groups lines that differ only in numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from towtank.secrets import redacted_line

ERROR_LEVEL = "error"
WARNING = "warning"
TEXT_AT_MOST = 300
"""Length to which log lines are truncated. [characters]"""

_ERROR = re.compile(
    r"(?<![\w-])(?:errors?|err|fatal|panic(?:ked)?|crit(?:ical)?|severe|emerg(?:ency)?|alert|exception|too many|denied|"
    r"refused|timed[ -]?out|time-?outs?|out of memory|oom|no space left|fail(?:ed|ure|ures|s)?|abort(?:ed|ing)?|"
    r"segfault|segmentation fault|broken pipe|(?:reset|closed) by peer|exhausted|unavailable|cannot|could not|killed)"
    r"(?!\w)|(?-i:\w(?:Error|Exception)\b)",
    re.IGNORECASE,
)
_WARNING = re.compile(r"(?<![\w-])warn(?:ing)?(?!\w)|(?-i:\wWarning\b)", re.IGNORECASE)
# Phrases such as `no errors` and `failed=0`, which report success. They are removed before the search for words such as
# `error`.
_NONE_OF_IT = re.compile(
    r"\b(?:no|0|without) (?:errors?|warnings?|failures?|time-?outs?)\b|"
    r"[\"']?\b(?:errors?|err|fail(?:ed|ures?)|warnings?|time-?outs?|denied|refused|aborted|killed)[\"']?\s*[=:]\s*"
    r"[\"']?(?:0+(?:\.0+)?|null|none|nil|false|ok|\[\]|\{\})[\"']?(?=[\s,;}\])]|$)",
    re.IGNORECASE,
)
# A line of an access log reports a request, even if its URL contains the word `error`. Access logs are skipped,
# because the engine counts failed requests itself.
_ACCESS = re.compile(r"\"[A-Z]{3,10} \S* HTTP/[0-9.]+\" [0-9]{3}\b")
_FRAME = re.compile(r"^\s+at \S|^\s+\.\.\. \d+ more")
_TRACEBACK = "Traceback (most recent call last)"
_BETWEEN = re.compile(r"^(?:During handling of the above exception|The above exception was the direct cause)")

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b.?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ADDRESS = r"(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:.])"
_HEX = r"0x[0-9a-f]+|\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{4,}\b"
_NUMBER = r"[0-9]+(?:[.,:/-][0-9]+)*"
_VARYING = re.compile(rf"{_UUID}|{_ADDRESS}|{_HEX}|{_NUMBER}", re.IGNORECASE)
_DAY = re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b")


@dataclass(frozen=True)
class Line:
    """Log line without control characters that reports an `error` or a `warning`, with the offset of its end in the
    log, including the line feed. [byte]
    """

    offset: int
    text: str
    level: str


def level_of_line(text: str) -> str | None:
    """Return the severity that a log line reports, `error` or `warning`; None for any other line.

    Examples
    --------
    >>> [level_of_line(text) for text in ("accept: Too many open files", "[warn] slow", "done, 0 errors", "ready")]
    ['error', 'warning', None, None]
    """
    if _FRAME.match(text) or _BETWEEN.match(text) or _ACCESS.search(text):
        return None
    text = _NONE_OF_IT.sub("", text)
    if _ERROR.search(text):
        return ERROR_LEVEL
    return WARNING if _WARNING.search(text) else None


def plain_line(raw: bytes) -> str:
    """Decode a line, and remove colour codes and control characters."""
    return _CONTROL.sub(" ", _ESCAPES.sub("", raw.decode("utf-8", "replace"))).rstrip()


def folded_line(text: str) -> str:
    """Replace times, numbers, hexadecimal numbers, UUIDs and addresses in a log line by `#`, so that similar lines
    become equal.

    Examples
    --------
    >>> folded_line("2026-11-23 18:22:48.123 [7f3a90] 10.0.0.5:5432 refused after 12.5 ms")
    '# # [#] # refused after # ms'
    """
    return _DAY.sub("#", _VARYING.sub("#", text))


def troubles(lines: Iterable[tuple[int, bytes]]) -> Iterator[Line]:
    """Yield the log lines that report an error or a warning; each given line has the offset of its end.

    For a Python traceback, only its last line is yielded, which names the exception.
    """
    inside = False
    for offset, raw in lines:
        text = plain_line(raw)
        if _TRACEBACK in text:
            inside = True
            continue
        if inside:
            if not text or text[0] in " |+":
                continue
            inside = False
            yield Line(offset, text, ERROR_LEVEL)
        elif (level := level_of_line(text)) is not None:
            yield Line(offset, text, level)


def shown(text: str) -> str:
    """Redact secrets in a log line, and truncate the line to `TEXT_AT_MOST` characters."""
    text = redacted_line(text).strip()
    return text if len(text) <= TEXT_AT_MOST else text[: TEXT_AT_MOST - 1] + "…"
