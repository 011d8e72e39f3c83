"""Generates random curl command lines whose requests are known.

The command lines refer to no files, and Towtank imports them without notes.
"""

from __future__ import annotations

import shlex
from random import Random

_PATHS = (
    "/a",
    "/a/",
    "/a/../b/./c",
    "/b%20c",
    "/ä",
    "/{x,y}/z",
    "/[1-3]",
    "/d?x=1",
    "/d?x=1&y=%26",
    "/d?x=1&x=2",
    "/d?flag",
    "",
)
_VALUES = ("1", "two words", "a+b", "a&b=c", "50%25", "x/y", "ä", "", "it's", "${no}", "a;b", '"q"')
_JSON = ('{"a": [1, "x", null]}', "{}", "[]", '"text"', '{"a": 1, "a": 2}', "[1.0, 1e3]", "no json")
_TYPES = ("text/plain", "application/json", "application/x-www-form-urlencoded", "application/vnd.x+json")


def generated(seed: int) -> str:
    """Return random curl command lines with the placeholder ADDRESS. The same seed gives the same command lines."""
    draw = Random(seed)
    return "\n".join(_line(draw) for _ in range(draw.randint(2, 5)))


def _line(draw: Random) -> str:
    words = ["curl", *_call(draw)]
    if draw.random() < 0.2:
        words += ["--next", *_call(draw)]
    return " ".join(words)


def _call(draw: Random) -> list[str]:
    """Return the options and URLs of one curl request, in random order."""
    parts = [_url(draw) for _ in range(draw.choice((1, 1, 1, 2)))] + _headers(draw) + _login(draw)
    parts.append(draw.choice((_none, _none, _data, _data, _json, _form, _query))(draw))
    parts += [["-S"]] if draw.random() < 0.3 else []
    draw.shuffle(parts)
    return ["-s", *(word for part in parts for word in part)]


def _url(draw: Random) -> list[str]:
    login = "ann:s%40@" if draw.random() < 0.1 else ""
    scheme = draw.choice(("http://", "http://", ""))
    url = shlex.quote(f"{scheme}{login}ADDRESS{draw.choice(_PATHS)}{draw.choice(('', '', '#part'))}")
    return draw.choice(([url], ["--url", url]))


def _headers(draw: Random) -> list[list[str]]:
    lines = ("X-One: a b", "x-two:2", "X-Empty;", "Accept:", "X-One: again")
    given = [[draw.choice(("-H", "--header")), shlex.quote(line)] for line in draw.sample(lines, draw.randint(0, 2))]
    return [*given, *draw.sample([["-e", "'http://b/;auto'"], ["-A", "me"]], draw.randint(0, 1))]


def _login(draw: Random) -> list[list[str]]:
    return draw.choice(([], [], [], [["-u", "ann:se:cret"]], [["--oauth2-bearer", "t1"]], [["-uann:x"]]))


def _none(draw: Random) -> list[str]:
    return draw.choice(([], [], ["-I"], ["-r", "5-9"], ["-X", "DELETE"], ["-XPOST"], ["--request", "PATCH"]))


def _data(draw: Random) -> list[str]:
    """Return curl options for form fields, some with another media type or method."""
    options = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode")
    words: list[str] = []
    for name in draw.sample(("p", "q", "r", "p"), draw.randint(1, 3)):
        words += [draw.choice(options), shlex.quote(f"{name}={draw.choice(_VALUES)}")]
    media = ["-H", shlex.quote(f"Content-Type: {draw.choice(_TYPES)}")] if draw.random() < 0.3 else []
    return [*words, *media, *draw.choice(([], [], ["-X", "PUT"], ["-X", "DELETE"]))]


def _json(draw: Random) -> list[str]:
    return ["--json", shlex.quote(draw.choice(_JSON)), *draw.choice(([], ["-X", "PUT"], ["-X", "PATCH"]))]


def _form(draw: Random) -> list[str]:
    words: list[str] = []
    for name in draw.sample(("p", "q", "r"), draw.randint(1, 3)):
        more = draw.choice(("", "", ";type=text/x"))
        words += draw.choice((["-F", shlex.quote(f"{name}=some text{more}")], ["--form-string", f"{name}=1"]))
    return words


def _query(draw: Random) -> list[str]:
    # With `-G`, curl would put the space of `two words` into the URL and then refuse the URL.
    fields = [word.replace("two words", "two+words") for word in _data(draw)]
    return draw.choice((["-G", *fields], ["--url-query", shlex.quote(f"n={draw.choice(_VALUES)}")]))
