"""Command lines of curl: words of the shell, options, bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from towtank.workload.importers.curl_words import Splitter

Importer = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 'b c' \"d e\"f", [["a", "b c", "d ef"]]),
        ("a \\\n b # c\nd", [["a", "b"], ["d"]]),
        (r"$'it\'s \u00e9\x41\n' \'", [["it's éA\n", "'"]]),
        (r'"\$x \" \n"', [['$x " \\n']]),
        ("a; b && c | d", [["a"], ["b"], ["c"], ["d"]]),
        ('"$A"${B}c', [["${A}${B}c"]]),
        ("a \\\r\n b\r\n", [["a", "b"]]),
        ("''", [[""]]),
    ],
)
def test_words_are_those_of_a_shell(text: str, words: list[list[str]]) -> None:
    assert [[word.text for word in command] for command in Splitter("x", text).split()] == words


def test_places_of_words() -> None:
    (first, second) = Splitter("x", "curl a\n  curl 'b'").split()
    assert [(word.line, word.column) for word in (*first, *second)] == [(1, 1), (1, 6), (2, 3), (2, 8)]


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("curl a.example", {"get": "/"}),
        ("curl -XDELETE http://a/x", {"delete": "/x"}),
        ("curl -I http://a/x", {"head": "/x"}),
        ("curl -sSd a=1 -d b=2 http://a/", {"post": "/", "form": {"a": "1", "b": "2"}}),
        ("curl -G -d q='red shoes' http://a/s", {"get": "/s", "query": {"q": "red shoes"}}),
        ("curl --data-urlencode 'q=a&b' http://a/", {"post": "/", "form": {"q": "a&b"}}),
        ("""curl --json '{"a": 1}' http://a/""", {"post": "/", "json": {"a": 1}}),
        (
            "curl -d x -H 'content-type: text/plain' http://a/",
            {"post": "/", "headers": {"content-type": "text/plain"}, "body": "x"},
        ),
        (
            "curl -d 'x' http://a/",
            {"post": "/", "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": "x"},
        ),
        ("curl -u me:you:too http://a/", {"get": "/", "auth": {"user": "me", "password": "you:too"}}),
        ("curl -H 'Authorization: Basic YTpi' http://a/", {"get": "/", "auth": {"user": "a", "password": "b"}}),
        ("curl -A me -e http://b/ http://a/", {"get": "/", "headers": {"User-Agent": "me", "Referer": "http://b/"}}),
        ("curl -m 1.5 http://a/", {"get": "/", "timeout": "1.5 s"}),
        (
            "curl -F a=b -F 'c=<nowhere' http://a/",
            {"post": "/", "multipart": {"a": "b", "c": {"generated": {"size": "1 KiB"}}}},
        ),
        ("curl http://a/$ID?x=${ID}", {"get": "/${parameters.id_value}", "query": {"x": "${parameters.id_value}"}}),
    ],
)
def test_one_command(line: str, step: dict[str, Any], import_text: Importer) -> None:
    if "$ID" in line:
        step = {key: _renamed(value) for key, value in step.items()}
    assert import_text("curl", line + "\n").requests() == [step]


def _renamed(value: Any) -> Any:
    """The parameter of the variable `ID` is called `id`."""
    if isinstance(value, dict):
        return {key: _renamed(inner) for key, inner in value.items()}
    return value.replace("id_value", "id")


def test_files_that_are_here_are_sent(import_text: Importer, tmp_path: Any) -> None:
    (tmp_path / "body.bin").write_bytes(b"x")
    found = import_text("curl", f"curl -T {tmp_path / 'body.bin'} http://a/\n")
    assert found.requests() == [{"put": "/", "file": "body.bin"}]


def test_what_is_lost_is_told_with_its_line(import_text: Importer) -> None:
    found = import_text("curl", "curl -kL http://a/ \\\n --compressed \\\n -b 'a=b' --unheard-of\n")
    assert found.noted("option -kL") == [1, 1]
    assert found.noted("option --compressed") == [2]
    assert found.noted("option -b") == [3]
    assert found.noted("option --unheard-of") == [3]


def test_the_example(import_file: Importer) -> None:
    found = import_file("curl", "commands.sh")
    assert [next(iter(step)) for step in found.requests()] == ["get", "post", "post", "post"]
    assert found.requests()[1]["json"] == {"item": 17, "note": "it's $${red}"}
    assert found.requests()[2]["form"] == {"name": "O'Neil", "color": "red"}
    assert found.noted("header Cookie") == [4]
