"""Every field that nginx and Apache can log, before or after a line in the combined format: the importer must read or
note it.

The fields are those that the servers accept in a check of their configuration, each with a text that the server wrote:
`scripts/import-keys --only accesslog`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError

Importer = Callable[..., Any]
LISTED = json.loads((Path(__file__).parents[2] / "data/imports/keys/accesslog.json").read_text("utf-8"))
WRITTEN = {f"{server} {field}": text for server, fields in LISTED["fields"].items() for field, text in fields.items()}
COMBINED = '10.0.0.1 - - [01/Jan/2026:10:00:{second:02} +0000] "GET /{second} HTTP/1.1" 200 10 "-" "Agent"'
EMPTY = ("", "-")


def lines(around: str) -> str:
    """Return three log lines. Each is the format `around` with a combined line in place of `{}`."""
    return "".join(around.replace("{}", COMBINED.format(second=second)) + "\n" for second in (0, 5, 15))


def stated(found: Any) -> list[str]:
    """Return the import's statements about the meaning of the last numbers of the lines."""
    return [text for text in found.draft.findings["summary"] if text.startswith("response time:")]


def test_the_lists_have_what_the_common_formats_are_made_of() -> None:
    """The lists of fields were taken from the servers. If they are right, they contain the fields of both formats in
    the guide.
    """
    apache, nginx = LISTED["fields"]["apache"], LISTED["fields"]["nginx"]
    assert {"%h", "%l", "%u", "%t", "%r", "%s", "%b", "%D"} <= set(apache)
    assert {"$remote_addr", "$remote_user", "$time_local", "$request", "$status", "$body_bytes_sent"} <= set(nginx)
    assert {"$http_referer", "$http_user_agent", "$request_time", "$upstream_response_time"} <= set(nginx)
    assert min(len(apache), len(nginx)) > 30


@pytest.mark.parametrize("name", sorted(WRITTEN))
@pytest.mark.parametrize("quote", ["", '"'], ids=["bare", "quoted"])
def test_a_field_behind_a_combined_line_is_accounted_for(name: str, quote: str, import_notes: Importer) -> None:
    """The importer notes the field, or states that it is the response time. An empty field changes nothing."""
    plain = import_notes("accesslog", lines("{}"))
    found = import_notes("accesslog", lines(f"{{}} {quote}{WRITTEN[name]}{quote}"))
    if WRITTEN[name] in EMPTY:
        assert found.notes() == plain.notes()
        assert found.text == plain.text
    else:
        assert stated(found) or found.noted("field rest") == [1, 2, 3]


@pytest.mark.parametrize("name", sorted(name for name, text in WRITTEN.items() if text not in EMPTY))
@pytest.mark.parametrize("quote", ["", '"'], ids=["bare", "quoted"])
def test_a_field_before_the_client_is_not_taken_for_it(name: str, quote: str, import_notes: Importer) -> None:
    """A wrong client address would change the sessions. So the import must refuse the log or note the field."""
    try:
        found = import_notes("accesslog", lines(f"{quote}{WRITTEN[name]}{quote} {{}}"))
    except StudyError:
        return
    assert found.noted("field ")


@pytest.mark.parametrize("name", ["nginx $msec", "nginx $time_iso8601", "nginx $request_id", "apache %t"])
def test_an_instant_or_a_name_is_no_response_time(name: str, import_notes: Importer) -> None:
    """The timestamp `$msec` also has a decimal point. If it were read as a response time in seconds, the start of a
    request would be 57 years before its end.
    """
    found = import_notes("accesslog", lines(f"{{}} {WRITTEN[name]}"))
    assert (stated(found), found.noted("field rest")) == ([], [1, 2, 3])
