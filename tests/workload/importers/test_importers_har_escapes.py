"""HAR recordings with texts that are kept as recorded. Values that replace a part of such a text must be encoded as the
text is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towtank.workload.importers import ImportOptions, read_import
from towtank.workload.importers.draft import method_of
from towtank.workload.importers.har.correlation import put

FORM = "application/x-www-form-urlencoded"


def imported(folder: Path, url: str, post: str = "", media: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """Import a recording of one request, with its passwords. Return the request and the parameters."""
    request: dict[str, Any] = {"method": "POST" if media else "GET", "url": url, "headers": []}
    if media:
        request["headers"] = [{"name": "Content-Type", "value": media}]
        request["postData"] = {"mimeType": media, "text": post}
    answer = {"status": 200, "headers": [], "content": {"text": ""}}
    entry = {"startedDateTime": "2026-01-01T00:00:00+00:00", "time": 1, "request": request, "response": answer}
    path = folder / "one.har"
    path.write_text(json.dumps({"log": {"entries": [entry]}}))
    draft = read_import("har", path, ImportOptions(folder=folder, keep_passwords=True, strict=True))
    return draft.transactions["session"][0]["steps"][0], draft.parameters


@pytest.mark.parametrize(
    ("text", "media", "template", "secret"),
    [
        ("a=1&a=2&password=p%26q%2B+r", FORM, "a=1&a=2&password=${parameters.token|url}", "p&q+ r"),
        ("a=1&a=2&password=100%", FORM, "a=1&a=2&password=${parameters.token}", "100%"),
        ('{"a": 1, "a": 2, "password": "q\\"\\n"}', "application/json", None, 'q"\n'),
        (
            "<u><password>a&amp;b</password></u>",
            "text/xml",
            "<u><password>${parameters.token|html}</password></u>",
            "a&b",
        ),
        ('<u token="a&lt;b"/>', "application/soap+xml", '<u token="${parameters.token|html}"/>', "a<b"),
        ("password=p%26q", "text/plain", "password=${parameters.token}", "p%26q"),
    ],
)
def test_a_secret_in_a_body_is_encoded_as_its_text(
    text: str, media: str, template: str | None, secret: str, tmp_path: Path
) -> None:
    step, parameters = imported(tmp_path, "http://a/x", text, media)
    assert step["body"] == (template or '{"a": 1, "a": 2, "password": "${parameters.token|json}"}')
    assert parameters == {"token": secret}


@pytest.mark.parametrize(
    ("query", "place", "secret"),
    [
        ("p%26q%2Br", "${parameters.token|url}", "p&q+r"),
        # In a query, a plus sign is a plus sign by RFC 3986, but a blank in forms. So the text is kept as recorded.
        ("p+q", "${parameters.token}", "p+q"),
    ],
)
def test_a_secret_in_a_query_that_is_kept_is_encoded(query: str, place: str, secret: str, tmp_path: Path) -> None:
    step, parameters = imported(tmp_path, f"http://a/x?v=1&v=2&password={query}")
    assert step[method_of(step) or ""] == f"/x?v=1&v=2&password={place}"
    assert parameters == {"token": secret}


@pytest.mark.parametrize(
    ("media", "body", "expected"),
    [
        (FORM, "a=1&a=2&t=AB%2Bcd%2Fef%3D%3D", "a=1&a=2&t=${t|url}"),
        ("application/json", '{"a": 1, "a": 2, "t": "AB+cd/ef=="}', '{"a": 1, "a": 2, "t": "${t|json}"}'),
        ("text/xml", "<t>AB+cd/ef==</t>", "<t>${t|html}</t>"),
        ("text/plain", "t AB+cd/ef==", "t ${t}"),
    ],
)
def test_a_value_of_an_answer_in_a_body_is_encoded_as_its_text(media: str, body: str, expected: str) -> None:
    step = {"post": "/x", "headers": {"Content-Type": media}, "body": body}
    assert put(step, "AB+cd/ef==", "t")
    assert step["body"] == expected
