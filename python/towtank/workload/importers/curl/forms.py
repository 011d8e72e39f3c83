"""Parses the values of curl's option --form: texts and files of a multipart body, with their settings.

The syntax is that of `get_param_part` in curl 7.88: a text, or several files separated by commas, each followed by
settings after `;`. A text or file name in double quotes may contain commas and semicolons; a backslash within the
quotes escapes a quote or a backslash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')
_SETTING = re.compile(r"(type|filename|headers|encoder)=\s*", re.IGNORECASE)
_BLANKS = re.compile(r"\s*")
# Setting that states the media type.
_MEDIA = "type"


@dataclass
class Content:
    """Text or file name of a form field, with its settings by name: `type`, `filename`, `headers`, `encoder`."""

    text: str
    settings: dict[str, str] = field(default_factory=dict)


def contents_of(value: str, *, files: bool) -> list[Content]:
    """Return the contents of a form field: one text, or one or more files.

    Unknown settings are ignored, as by curl.

    Examples
    --------
    >>> contents_of("1,2;type=text/x", files=False)
    [Content(text='1,2', settings={'type': 'text/x'})]
    >>> [content.text for content in contents_of('a.txt,"b;c.txt"', files=True)]
    ['a.txt', 'b;c.txt']
    """
    ends = re.compile("[;,]" if files else ";")
    contents: list[Content] = []
    at = -1
    while at < len(value):
        text, at = _word(value, _behind_blanks(value, at + 1), ends)
        contents.append(Content(text))
        at = _settings(value, at, ends, contents[-1].settings)
    return contents


def _settings(value: str, at: int, ends: re.Pattern[str], settings: dict[str, str]) -> int:
    """Read the settings that begin with the `;` at a position, and return the position after them. Any other character
    means that there are no settings; `ends` matches a character that ends a setting.
    """
    media: int | None = None  # position of a media type that the next setting may continue
    while value.startswith(";", at):
        start = _behind_blanks(value, at + 1)
        found = _SETTING.match(value, start)
        name = found.group(1).lower() if found is not None else ""
        if found is not None and name == _MEDIA and media is None:
            media = found.end()
        elif found is not None and name != _MEDIA:
            media = None
            settings[name], at = _word(value, found.end(), ends)
            continue
        if media is None:
            _, at = _word(value, start, ends)
        else:
            # A setting without a known name after a media type is a parameter of this type, such as `charset`.
            at = _end(value, max(start, media), ends)
            settings[_MEDIA] = value[media:at].rstrip()
    return at


def _word(value: str, at: int, ends: re.Pattern[str]) -> tuple[str, int]:
    """Return the word at a position, which may be quoted, and the position of the character that ends it."""
    quoted = _QUOTED.match(value, at)
    if quoted is not None:
        return _ESCAPED.sub(r"\1", quoted.group(1)), _end(value, quoted.end(), ends)
    end = _end(value, at, ends)
    return value[at:end].rstrip(), end


def _end(value: str, at: int, ends: re.Pattern[str]) -> int:
    found = ends.search(value, at)
    return found.start() if found is not None else len(value)


def _behind_blanks(value: str, at: int) -> int:
    found = _BLANKS.match(value, at)
    return found.end() if found is not None else at
