from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.workload.importers.accounting import Fate
from towtank.workload.importers.har.correlation import put
from towtank.workload.importers.har.table import KEYS

LISTS = json.loads((Path(__file__).parents[2] / "data/imports/keys/har.json").read_text("utf-8"))["parts"]
Importer = Callable[..., Any]


def entry(second: float, method: str, url: str, answer: str = "", **more: Any) -> dict[str, Any]:
    """Return an entry of a HAR recording. Its response takes 100 ms."""
    request = {
        "method": method,
        "url": url,
        "headers": [{"name": name, "value": value} for name, value in more.get("headers", {}).items()],
    }
    if "post" in more:
        request["postData"] = {"mimeType": more.get("media", "application/json"), "text": more["post"]}
    answered = [{"name": name, "value": value} for name, value in more.get("answered", {}).items()]
    return {
        "startedDateTime": f"2026-01-01T00:{int(second // 60):02}:{second % 60:06.3f}+00:00",
        "time": 100,
        "request": request,
        "response": {"status": more.get("status", 200), "headers": answered, "content": {"text": answer}},
    }


def recording(*entries: dict[str, Any]) -> str:
    return json.dumps({"log": {"entries": list(entries)}})


def recorded(*entries: dict[str, Any]) -> str:
    """Return a recording in the layout that `towtank record` writes: a line for each entry, then an end, which the next
    entry overwrites.
    """
    head = '{"log":{"version":"1.2","creator":{"name": "towtank", "version": "1"},"entries":['
    return head + ",\n".join(map(json.dumps, entries)) + '],"pages":[]}}\n'


def test_a_recording_that_was_cut_off_is_read_without_its_last_exchange(import_text: Importer) -> None:
    first, second, third = (entry(5.0 * number, "GET", f"http://a/p{number}") for number in range(3))
    whole = recorded(first, second, third)
    assert not import_text("har", whole).noted("last exchange")
    begun = whole.index(json.dumps(third))
    rest = recorded(first, second)[begun - 2 :]
    # The write of the third entry was interrupted, so the end of the older text may remain in the file.
    for written in (1, 20, len(json.dumps(third)), len(whole) - begun - 3):
        torn = whole[: begun + written] + rest[2 + written :]
        found = import_text("har", torn)
        assert [step["get"] for step in found.requests()] == ["/p0", "/p1"]
        assert found.noted("last exchange") == [3]


def test_another_file_that_is_cut_off_is_none(import_text: Importer) -> None:
    text = json.dumps(json.loads(recording(entry(0, "GET", "http://a/x"), entry(1, "GET", "http://a/y"))), indent=1)
    with pytest.raises(StudyError, match="must be JSON"):
        import_text("har", text[: len(text) // 2])


def test_the_example(import_file: Importer) -> None:
    found = import_file("har", "shop.har")
    session = found.workload["transactions"]["session"]
    assert [item.get("page", "think") for item in session] == [
        "login",
        "think",
        "login_2",
        "think",
        "api/token",
        "think",
        "api/orders/55",
    ]
    assert found.workload["defaults"]["headers"] == {"User-Agent": "Example/1", "Accept": "*/*"}
    assert found.noted("header Cookie") == [43]
    assert found.noted("ads.example") == [97]
    assert found.noted("cached.png") == [386]
    assert found.noted("OPTIONS") == [423]
    assert found.draft.targets == {"shop_example": "http://shop.example"}


def test_think_times_are_the_gaps_between_pages(import_text: Importer) -> None:
    times = (0, 2, 4.5, 20, 120)
    found = import_text("har", recording(*(entry(t, "GET", f"http://a/p{i}") for i, t in enumerate(times))))
    # Responses take 0.1 s, so the gaps between requests are 1.9, 2.4, 15.4 and 99.9 s. The first two gaps form a group
    # with mean 2.15 s.
    assert found.workload["parameters"] == {
        "think_short": "2.15 s",
        "think_long": "15.4 s",
        "think_very_long": "99.9 s",
    }
    thinks = [item["think"]["exponential"] for item in found.workload["transactions"]["session"] if "think" in item]
    names = ["think_short", "think_short", "think_long", "think_very_long"]
    assert thinks == [f"${{parameters.{name}}}" for name in names]
    assert found.draft.findings["think_times"][0] == {"parameter": "think_short", "count": 2, "mean_s": 2.15}


def test_requests_without_a_pause_are_one_page(import_text: Importer) -> None:
    found = import_text("har", recording(entry(0, "GET", "http://a/x"), entry(0.9, "GET", "http://a/y.css")))
    (page,) = found.workload["transactions"]["session"]
    assert [step["get"] for step in page["steps"]] == ["/x", "/y.css"]
    assert page["steps"][1]["on_failure"] == "go_on"
    assert "on_failure" not in page["steps"][0]


def test_a_value_of_json_is_taken_to_query_path_form_and_header(import_text: Importer) -> None:
    token = "f3a9c17be2"
    found = import_text(
        "har",
        recording(
            entry(0, "GET", "http://a/start", json.dumps({"a": [{"token": token}]})),
            entry(2, "GET", f"http://a/q?token={token}"),
            entry(4, "GET", f"http://a/p/{token}/x"),
            entry(6, "POST", "http://a/f", post=f"t={token}", media="application/x-www-form-urlencoded"),
            entry(8, "GET", "http://a/h", headers={"X-Token": token}),
            entry(9.5, "POST", "http://a/j", post=json.dumps({"deep": {"t": token}})),
        ),
    )
    start, query, path, form, header, body = found.requests()
    assert start["extract"] == {"token": "$.a[0].token"}
    assert query["query"] == {"token": "${token}"}
    assert path["get"] == "/p/${token|url}/x"
    assert form["form"] == {"t": "${token}"}
    assert header["headers"] == {"X-Token": "${token}"}
    assert body["json"] == {"deep": {"t": "${token}"}}
    assert len(found.draft.findings["correlations"]) == 5


def test_a_value_of_a_page_is_found_again_by_a_regular_expression(import_text: Importer) -> None:
    html = '<i value="other1234"></i><input name="state" value="9f8e7d6c5b">'
    form = {"post": "state=9f8e7d6c5b", "media": "application/x-www-form-urlencoded"}
    found = import_text("har", recording(entry(0, "GET", "http://a/f", html), entry(3, "POST", "http://a/f", **form)))
    first, second = found.requests()
    assert first["extract"] == {"state": {"regex": 'name="state" value="([^"]+)'}}
    assert second["form"] == {"state": "${state}"}


def test_what_the_client_sent_first_is_no_correlation(import_text: Importer) -> None:
    found = import_text(
        "har",
        recording(
            entry(0, "GET", "http://a/x?device=ab12cd34ef", json.dumps({"device": "ab12cd34ef"})),
            entry(3, "GET", "http://a/y?device=ab12cd34ef"),
        ),
    )
    assert found.draft.findings["correlations"] == []
    assert found.requests()[1]["query"] == {"device": "ab12cd34ef"}


@pytest.mark.parametrize(("key", "correlated"), [("user_id", True), ("page", False)])
def test_short_numbers_need_the_name_of_an_identifier(key: str, correlated: bool, import_text: Importer) -> None:
    first = entry(0, "GET", "http://a/x", json.dumps({"id": 17}))
    found = import_text("har", recording(first, entry(3, "GET", f"http://a/y?{key}=17")))
    assert found.requests()[1]["query"] == {key: "${id}" if correlated else "17"}


def test_a_token_that_is_in_no_answer_is_not_copied(import_text: Importer) -> None:
    secret = "Bearer eyJhbGciOi.secret.part"
    found = import_text("har", recording(entry(0, "GET", "http://a/x", headers={"Authorization": secret})))
    assert "secret.part" not in found.text
    assert found.requests()[0]["headers"] == {"Authorization": "Bearer ${parameters.token}"}
    assert found.noted("token of the header Authorization") == [1]


def test_passwords_are_not_copied(import_text: Importer) -> None:
    basic = "Basic YWxpY2U6b3BlbiBzZXNhbWU="  # alice:open sesame
    found = import_text("har", recording(entry(0, "GET", "http://a/x", headers={"Authorization": basic})))
    assert found.requests()[0]["auth"] == {"user": "alice", "password": "${parameters.password}"}
    assert "sesame" not in found.text


def test_hosts_that_are_asked_for_are_kept(import_text: Importer) -> None:
    text = recording(
        entry(0, "GET", "http://a/x"), entry(0.2, "GET", "https://b:8443/y"), entry(0.4, "GET", "http://c/")
    )
    found = import_text("har", text, hosts=("a", "b"))
    assert found.draft.targets == {"a": "http://a", "b": "https://b:8443"}
    assert [step["target"] for step in found.requests()] == ["a", "b"]
    assert found.noted("GET http://c/") == [1]


def test_text_with_dollar_and_brace_stays_text(import_text: Importer) -> None:
    text = recording(entry(0, "POST", "http://a/x?q=$%7Buser%7D", post=json.dumps({"a": "${b}", "n": [1, None, True]})))
    step = import_text("har", text).requests()[0]
    assert step["query"] == {"q": "$${user}"}
    assert step["json"] == {"a": "$${b}", "n": [1, None, True]}


def test_a_query_with_keys_given_twice_stays_in_the_path(import_text: Importer) -> None:
    step = import_text("har", recording(entry(0, "GET", "http://a/x?k=1&k=2&flag"))).requests()[0]
    assert step["get"] == "/x?k=1&k=2&flag"


def test_a_number_in_json_makes_the_body_text() -> None:
    step = {"post": "/x", "json": {"id": 55, "name": "${who}"}}
    assert put(step, "55", "order")
    assert step["body"] == '{"id": ${order}, "name": "${who|json}"}'
    assert "json" not in step


@pytest.mark.parametrize("number", ["1e999", "-1e999", '"x"', "null", "9" * 400])
def test_numbers_that_are_none(number: str, import_text: Importer) -> None:
    text = recording(entry(0, "GET", "http://a/x"), entry(5, "GET", "http://a/y"))
    found = import_text("har", text.replace('"time": 100', f'"time": {number}'))
    assert [step["get"] for step in found.requests()] == ["/x", "/y"]


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("method", "url", "changed", "why"),
    [
        ("GET", "http://a/favicon.ico", {}, "an icon that browsers request once without an action of the user"),
        (
            "OPTIONS",
            "http://a/api",
            {"_resourceType": "preflight"},
            "a preflight request of the browser for another origin",
        ),
        ("POST", "http://a/beacon", {"_resourceType": "ping"}, "a report that the browser sends"),
        ("GET", "http://a/old", {"_fromCache": "prefetch"}, "the browser had the content in its cache"),
        ("GET", "http://a/sw", {"response": {"_fetchedViaServiceWorker": True}}, "a script in the browser answered it"),
        ("GET", "http://a/cut", {"_error": "the server broke off"}, "its response is incomplete: the server broke off"),
        (
            "GET",
            "http://a/blocked",
            {"response": {"status": 0, "_error": "net::ERR_BLOCKED_BY_CLIENT"}},
            "the recording has no response: net::ERR_BLOCKED_BY_CLIENT",
        ),
    ],
)
def test_what_browsers_do_beside_their_users(
    method: str, url: str, changed: dict[str, Any], why: str, import_text: Importer
) -> None:
    """Requests that a browser sends on its own are left out. The cases have the form in which Chromium saves them."""
    odd = entry(0.2, method, url)
    odd["response"].update(changed.pop("response", {}))
    found = import_text("har", recording(entry(0, "GET", "http://a/"), {**odd, **changed}))
    assert [step.get("get") for step in found.requests()] == ["/"]
    assert next(reported for _, what, reported in found.notes() if what == f"{method} {url}").startswith(
        f"left out: {why}"
    )


def test_passwords_of_forms_become_parameters(import_text: Importer) -> None:
    login = {"post": "user=ana&password=s3cr3t+word%3D", "media": FORM}
    change = {"post": json.dumps({"old": {"passwd": "s3cr3t word="}, "newPassword": 'x"${y}', "pin": 3})}
    text = recording(entry(0, "POST", "http://a/in", **login), entry(4, "POST", "http://a/change", **change))
    found = import_text("har", text)
    first, second = found.requests()
    assert first["form"] == {"user": "ana", "password": "${parameters.password}"}
    assert second["json"] == {
        "old": {"passwd": "${parameters.password}"},
        "newPassword": "${parameters.password_2}",
        "pin": 3,
    }
    assert found.workload["parameters"]["password"] == found.workload["parameters"]["password_2"] == "change-me"
    assert "s3cr3t" not in found.text
    assert found.noted("password in the field password") == [1]


def test_cookies_that_no_answer_sets_are_reported(import_text: Importer) -> None:
    first = entry(0, "GET", "http://a/x", headers={"Cookie": "old=1"}, answered={"Set-Cookie": "sid=7; Path=/"})
    second = entry(3, "GET", "http://a/y", headers={"Cookie": "sid=7; old=1; theme=dark"})
    found = import_text("har", recording(first, second))
    assert [what for _, what, _ in found.notes() if what.startswith("cookie ")] == ["cookie old", "cookie theme"]


def test_parts_of_a_form_are_taken_out_of_its_text(import_text: Importer) -> None:
    """Chromium saves the text of a multipart form without a list of its parts, so the parts are read from the text."""
    parts = [
        'Content-Disposition: form-data; name="title"\r\n\r\nA ${x}\r\n',
        'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n1234567\r\n',
    ]
    text = "".join(f"--XX\r\n{part}" for part in parts) + "--XX--\r\n"
    found = import_text(
        "har", recording(entry(0, "POST", "http://a/up", post=text, media="multipart/form-data; boundary=XX"))
    )
    assert found.requests()[0]["multipart"] == {
        "title": "A $${x}",
        "file": {"generated": {"size": "7 B"}, "filename": "a.txt", "content_type": "text/plain"},
    }


def test_a_value_whose_name_stands_behind_it(import_text: Importer) -> None:
    """Two hidden fields begin with the same text. Only the text after the value distinguishes them."""
    page = '<input value="0011223344" name="a"><input value="99aabbccdd" name="token">'
    form = {"post": "token=99aabbccdd", "media": FORM}
    found = import_text("har", recording(entry(0, "GET", "http://a/f", page), entry(3, "POST", "http://a/f", **form)))
    first, second = found.requests()
    pattern = first["extract"]["token"]["regex"]
    assert re.search(pattern, page.replace("99aabbccdd", "77")).group(1) == "77"  # type: ignore[union-attr]
    assert second["form"] == {"token": "${token}"}


def test_headers_of_the_browser_make_one_note(import_text: Importer) -> None:
    headers = {":authority": "a", "sec-ch-ua": "x", "Sec-Fetch-Mode": "navigate", "Accept": "*/*"}
    found = import_text("har", recording(entry(0, "GET", "http://a/x", headers=headers)))
    assert found.requests()[0]["headers"] == {"Accept": "*/*"}
    said = {note.what for note in found.draft.notes.sorted()}
    assert said == {"headers sec-ch-*, sec-fetch-*", "recording", "pause after the session"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("user=ann&tag=1&tag=2&password=SECRET", "application/x-www-form-urlencoded"),
        ("user=ann&tag=1&tag=2&user%5Btoken%5D=SECRET", "application/x-www-form-urlencoded"),
        ('{"data": {"user": "ann", "api_key": "SECRET"}}', "application/vnd.api+json"),
        ('{"password": "SEC\\"RET", "user": "ann"}', "application/problem+json"),
        ("<login user='ann'><password>SECRET</password></login>", "text/xml"),
        ('<login user="ann" password="SECRET"/>', "text/xml"),
        ('<s:login><s:secretToken type="x">SECRET</s:secretToken>ann</s:login>', "application/soap+xml"),
    ],
)
def test_secrets_in_bodies_of_any_type_are_not_copied(text: str, kind: str, import_text: Importer) -> None:
    imported = import_text("har", recording(entry(0, "POST", "http://a/x", post=text, media=kind)))
    assert "SEC" not in imported.text
    assert "${parameters." in imported.text
    assert "ann" in imported.text
    assert any("is not copied" in why for _, _, why in imported.notes())


def test_secrets_in_headers_and_queries_are_not_copied(import_text: Importer) -> None:
    url = "http://a/x?access_token=SECRET&page=2&tag=1&tag=2&sig=SECRET2"
    headers = {"X-Api-Key": "SECRET", "X-Auth-Token": "SECRET3", "X-Trace": "kept"}
    text = import_text("har", recording(entry(0, "GET", url, headers=headers))).text
    assert "SECRET" not in text
    assert "X-Trace: kept" in text
    assert "page=2" in text


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlc2lnbmF0dXJl"


def test_sessions_and_web_tokens_without_a_name_are_not_copied(import_text: Importer) -> None:
    first = entry(0, "GET", f"http://a/reset/{JWT}/now?at={JWT}", headers={"X-Session": "SECRET", "X-Who": JWT})
    found = import_text("har", recording(first, entry(9, "POST", "http://a/x", post=json.dumps({"who": JWT}))))
    assert "SECRET" not in found.text
    assert "eyJ" not in found.text
    assert "/reset/${parameters.token" in found.text
    assert found.noted("header X-Session")
    assert found.noted("token in the path")


def test_a_header_with_a_name_of_several_lines_is_left_out(import_text: Importer) -> None:
    sent = entry(0, "GET", "http://a/x", headers={"X-A\nX-B": "1", "X-C": "kept"})
    found = import_text("har", recording(sent))
    assert "X-C: kept" in found.text
    assert "X-B" not in found.text
    assert ("header 'X-A\\nX-B'", "left out: this is not a valid header name") in [said[1:] for said in found.notes()]


def test_a_token_that_came_with_an_answer_stays_a_variable(import_text: Importer) -> None:
    token = "ab12cd34ef56"
    sent = entry(5, "GET", "http://a/next", headers={"X-Auth-Token": token})
    text = import_text("har", recording(entry(0, "GET", "http://a/x", json.dumps({"token": token})), sent)).text
    assert "X-Auth-Token: ${token}" in text.replace('"', "")
    assert token not in text


def test_what_becomes_of_a_value_without_an_answer_is_said(import_text: Importer) -> None:
    found = import_text("har", recording(entry(0, "GET", "http://a/x?csrf_token=9f8e7d6c5b1a&viewstate=9f8e7d6c5b1b")))
    assert found.requests()[0]["query"] == {"csrf_token": "${parameters.token}", "viewstate": "9f8e7d6c5b1b"}
    said = {what: why.rpartition(": ")[2] for _, what, why in found.notes() if what.startswith("field")}
    assert said == {
        "field csrf_token": "a parameter replaces it",
        "field viewstate": "the workload sends the recorded value",
    }


def test_the_pause_after_the_session_is_said_to_be_made_up(import_text: Importer) -> None:
    found = import_text("har", recording(entry(0, "GET", "http://a/x")))
    assert [why for _, what, why in found.notes() if what == "pause after the session"] == [
        "is not in the recording: users pause for 1 s before the next session"
    ]
    found = import_text("har", recording(entry(0, "GET", "http://a/x"), entry(2, "GET", "http://a/y")))
    assert found.workload["groups"]["users"]["loop"]["think"] == {"exponential": "${parameters.think_short}"}
    assert found.noted("pause after the session")


@pytest.mark.parametrize("body", ["{}", "[]"])
def test_empty_json_bodies_are_sent(body: str, import_text: Importer) -> None:
    headers = {"Content-Type": "application/json"}
    found = import_text("har", recording(entry(0, "POST", "http://a/x", post=body, headers=headers)))
    assert found.requests()[0]["json"] == json.loads(body)


def test_what_is_no_basic_login_is_said_so(import_text: Importer) -> None:
    found = import_text("har", recording(entry(0, "GET", "http://a/x", headers={"Authorization": "Basic stuffz"})))
    assert [why for _, what, why in found.notes() if "Authorization" in what] == [
        "left out: its value is not a user and a password in base64"
    ]


def test_requests_that_follow_each_other_are_not_parallel(import_text: Importer) -> None:
    found = import_text("har", recording(entry(0, "GET", "http://a/1"), entry(0.5, "GET", "http://a/2")))
    assert not found.noted("parallel requests")
    found = import_text("har", recording(entry(0, "GET", "http://a/1"), entry(0.05, "GET", "http://a/2")))
    assert found.noted("parallel requests")


def test_the_host_that_the_first_document_redirects_to_is_kept(import_text: Importer) -> None:
    first = entry(0, "GET", "http://a.example/", status=301)
    found = import_text(
        "har", recording(first, entry(0.2, "GET", "http://www.a.example/"), entry(1, "GET", "http://b/"))
    )
    assert list(found.draft.targets.values()) == ["http://a.example", "http://www.a.example"]
    assert found.noted("http://b/")


def test_the_login_of_a_url_is_the_login_of_the_request(import_text: Importer) -> None:
    (step,) = import_text("har", recording(entry(0, "GET", "http://ann:secret@a/x"))).requests()
    assert step["auth"]["user"] == "ann"
    assert "secret" not in str(step)


@pytest.mark.parametrize(
    ("headers", "size", "said"),
    [({"Content-Length": "100"}, -1, True), ({}, 100, True), ({"Content-Length": "0"}, 0, False), ({}, -1, False)],
)
def test_a_body_that_was_not_recorded_is_noted(
    headers: dict[str, str], size: int, said: bool, import_text: Importer
) -> None:
    upload = entry(0, "PUT", "http://a/x", headers=headers)
    upload["request"]["bodySize"] = size
    found = import_text("har", recording(upload))
    assert bool(found.noted("body of the request")) == said
    assert not import_text("har", recording(entry(0, "PUT", "http://a/x", headers=headers, post="{}"))).noted("body of")


def _whole() -> dict[str, Any]:
    """Return a recording that contains each kind of JSON mapping of the format."""
    one = entry(0, "POST", "http://a/x", answer="{}", answered={"X": "y"}, headers={"X-One": "1"}, post="a=1")
    one["request"]["postData"]["params"] = [{"name": "a", "value": "1"}]
    return {"log": {"entries": [one]}}


def _part(archive: dict[str, Any], kind: str) -> dict[str, Any]:
    one = archive["log"]["entries"][0]
    parts = {
        "log": archive["log"],
        "entry": one,
        "request": one["request"],
        "postData": one["request"]["postData"],
        "param": one["request"]["postData"]["params"][0],
        "header": one["request"]["headers"][0],
        "response": one["response"],
        "content": one["response"]["content"],
    }
    found: dict[str, Any] = parts[kind]
    return found


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_every_key_is_accounted_for(kind: str, import_notes: Importer) -> None:
    """Each key of HAR 1.2 is in the table of keys. A key that is not in the table is named in a note."""
    listed = set(LISTS.get(kind, ["name", "value", "fileName", "contentType"])) | {"newKey"}
    for name in sorted(listed):
        entry = KEYS[kind].get(name)
        archive = _whole()
        part = _part(archive, kind)
        if entry is not None and entry.fate is not Fate.NOTED:
            assert entry.why or entry.fate is Fate.CARRIED
            continue
        part[name] = [{"name": "c", "value": "d"}]
        found = import_notes("har", json.dumps(archive))
        assert any(f"{kind}: {name}" in what for _, what, _ in found.notes()), name


def _encoded(content: dict[str, str]) -> str:
    return base64.b64encode(json.dumps(content).encode()).decode()


def _session() -> dict[str, Any]:
    """Return a recording in which every key that is imported has an effect."""
    token = "f3a9c17be2"
    first = entry(0, "GET", "http://a/start", _encoded({"token": token}), answered={"X-State": "9f8e7d6c5b"})
    first["response"]["content"]["encoding"] = "base64"
    first["pageref"] = "one"
    login = entry(0.3, "POST", "http://a/login?t=" + token, headers={"X-State": "9f8e7d6c5b"})
    form = [{"name": "a", "value": "1", "contentType": "text/x-a"}, {"name": "f", "value": "", "fileName": "f.png"}]
    login["request"]["postData"] = {"mimeType": "multipart/form-data; boundary=b", "params": form}
    login["pageref"] = "one"
    first["request"]["bodySize"] = 3
    order = entry(4, "POST", "http://a/order", headers={"X-One": "1"}, post='{"n": 1}')
    picture = entry(4.1, "GET", "http://a/picture")
    picture["response"]["content"] = {"text": "", "mimeType": "image/png"}
    for late in (order, picture):
        late["pageref"] = "two"
    return {"log": {"entries": [first, login, order, picture]}}


# For each key that is imported: its place in the recording, and another value.
_START, _LOGIN, _ORDER, _PICTURE = range(4)
_OTHERS: dict[tuple[str, str], tuple[tuple[Any, ...], Any]] = {
    ("log", "entries"): (("log",), []),
    ("entry", "request"): ((_ORDER,), {"method": "GET", "url": "http://a/other", "headers": []}),
    ("entry", "response"): ((_ORDER,), {"status": 201}),
    ("entry", "startedDateTime"): ((_ORDER,), "2026-01-01T00:00:03+00:00"),
    ("entry", "time"): ((_LOGIN,), 900),
    ("entry", "pageref"): ((_LOGIN,), "other"),
    ("request", "method"): ((_ORDER, "request"), "PUT"),
    ("request", "url"): ((_ORDER, "request"), "http://a/order/2"),
    ("request", "headers"): ((_ORDER, "request"), []),
    ("request", "postData"): ((_ORDER, "request"), {"mimeType": "text/plain", "text": "x"}),
    ("request", "bodySize"): ((_START, "request"), 5),
    ("postData", "mimeType"): ((_ORDER, "request", "postData"), "text/plain"),
    ("postData", "text"): ((_ORDER, "request", "postData"), '{"n": 2}'),
    ("postData", "params"): ((_LOGIN, "request", "postData"), [{"name": "b", "value": "2"}]),
    ("param", "name"): ((_LOGIN, "request", "postData", "params", 0), "z"),
    ("param", "value"): ((_LOGIN, "request", "postData", "params", 0), "z"),
    ("param", "contentType"): ((_LOGIN, "request", "postData", "params", 0), "text/x-z"),
    ("param", "fileName"): ((_LOGIN, "request", "postData", "params", 1), "z.png"),
    ("header", "name"): ((_ORDER, "request", "headers", 0), "X-Two"),
    ("header", "value"): ((_ORDER, "request", "headers", 0), "2"),
    ("response", "status"): ((_ORDER, "response"), 404),
    ("response", "content"): ((_START, "response"), {"text": "none"}),
    ("response", "headers"): ((_START, "response"), []),
    ("content", "text"): ((_START, "response", "content"), _encoded({"key": "f3a9c17be2"})),
    ("content", "encoding"): ((_START, "response", "content"), ""),
    ("content", "mimeType"): ((_PICTURE, "response", "content"), "text/plain"),
}


def _at(archive: dict[str, Any], place: tuple[Any, ...]) -> Any:
    part: Any = archive["log"] if place[0] == "log" else archive["log"]["entries"]
    for step in place if place[0] != "log" else ():
        part = part[step]
    return part


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, keys in sorted(KEYS.items()) for name, key in keys.items() if key.fate is Fate.CARRIED],
)
@pytest.mark.parametrize("change", ["another value", "left out"])
def test_every_carried_key_changes_the_plan(kind: str, name: str, change: str, import_notes: Importer) -> None:
    """If the value of an imported key is changed or removed, the workload or a note must change, or the recording must
    be refused.
    """
    place, other = _OTHERS[kind, name]
    base = import_notes("har", json.dumps(_session()))
    archive = _session()
    part = _at(archive, place)
    if change == "left out":
        part.pop(name, None)
    else:
        part[name] = other
    assert archive != _session()
    try:
        found = import_notes("har", json.dumps(archive))
    except StudyError:
        return
    assert (found.text, found.draft.findings, found.notes()) != (base.text, base.draft.findings, base.notes())
