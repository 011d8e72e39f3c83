"""Queries and forms are sent as the original tool sends them. If decoding would change a text, it is kept as written.

Sources: the percent-decoding and the parser of forms of the URL standard (https://url.spec.whatwg.org/), RFC 3986,
sections 2.1 and 2.2, and RFC 7578, section 4.3 (several files of one name).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from jmeter_plans import arguments, group, post, request

from towtank.workload import compile_workload, load_workload
from towtank.workload.importers.encoded import encoded, pairs_of, survives

Importer = Callable[..., Any]
# Each case is the text of a query, and True if a mapping of names to values can express the query.
QUERIES = [
    ("q=red%20shoes&size=", True),
    ("q=caf%C3%A9", True),
    ("q=caf%c3%a9&r=%2B", True),
    ("q=caf%E9", False),
    ("q=%ED%A0%80", False),
    ("caf%E9=q", False),
    ("q=100%", False),
    ("q=%u2603", False),
    ("q=%ZZ", False),
    ("q=red+shoes", False),
    ("q=1&q=2", False),
    ("q", False),
    ("q=1&&r=2", False),
    ("", False),
]


def sent(workload: Path) -> list[tuple[str, str]]:
    """Return path and body of every request of a plan that has no variable parts."""
    read = load_workload(workload)
    plan = compile_workload(read, targets={read.file.defaults.target or "target": ["127.0.0.1:1"]})
    requests = [op for op in mappings(plan["transactions"]) if op.get("op") == "request"]
    assert all(isinstance(part, str) for op in requests for part in op["path"])
    return [("".join(op["path"]), "".join((op["body"] or {}).get("template", []))) for op in requests]


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping inside a value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from mappings(inner)


def meaning(text: str) -> list[tuple[bytes, bytes]]:
    """Return the names and values of a form as bytes, as the parser in the URL standard reads them."""
    parts = [part.replace("+", " ").partition("=") for part in text.split("&") if part]
    return [(unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in parts]


def har(*requests: dict[str, Any]) -> str:
    """Return a HAR recording with the given requests."""
    answer = {"status": 200, "headers": [], "cookies": [], "content": {"size": 0, "mimeType": "text/plain"}}
    entries = [
        {
            "startedDateTime": f"2026-03-02T10:00:00.{index:03}Z",
            "time": 1,
            "request": {"headers": [], "cookies": [], "queryString": [], "httpVersion": "HTTP/1.1", **request},
            "response": answer,
        }
        for index, request in enumerate(requests)
    ]
    return json.dumps({"log": {"version": "1.2", "entries": entries}})


def of_curl(query: str, form: bool) -> str:
    return f"curl -d '{query}' http://a/x\n" if form else f"curl -g 'http://a/x?{query}'\n"


def of_har(query: str, form: bool) -> str:
    data = {"postData": {"mimeType": "application/x-www-form-urlencoded", "text": query}}
    return har(
        {"method": "POST", "url": "http://a/x", **data} if form else {"method": "GET", "url": f"http://a/x?{query}"}
    )


def of_k6(query: str, form: bool) -> str:
    headers = "{headers: {'Content-Type': 'application/x-www-form-urlencoded'}}"
    call = f"http.post('http://a/x', '{query}', {headers})" if form else f"http.get('http://a/x?{query}')"
    return f"import http from 'k6/http';\nexport default function () {{ {call}; }}\n"


def of_log(query: str, _: bool) -> str:
    return f'1.1.1.1 - - [02/Mar/2026:10:00:00 +0000] "GET /x?{query} HTTP/1.1" 200 5\n'


@pytest.mark.parametrize(("query", "whole"), QUERIES)
def test_a_text_survives_decoding_or_not(query: str, whole: bool) -> None:
    pairs = pairs_of(query, in_query=True)
    assert (pairs is not None) == whole
    if pairs is not None:
        again = "&".join(f"{encoded(name)}={encoded(value)}" for name, value in pairs)
        assert meaning(again) == meaning(query)


def test_a_plus_of_a_form_is_a_blank() -> None:
    assert pairs_of("q=red+shoes", in_query=False) == [("q", "red shoes")]
    assert not survives("a+b", in_query=True)


@pytest.mark.parametrize("form", ["curl", "har", "k6"])
@pytest.mark.parametrize("query", ["q=caf%E9&n=1", "q=100%&n=%u2", "q=%ZZ", "q=red+shoes", "q=a%20b&q=c", "", "n"])
def test_a_query_that_no_mapping_holds_is_kept_as_written(
    form: str, query: str, import_text: Importer, tmp_path: Path
) -> None:
    import_text(form, {"curl": of_curl, "har": of_har, "k6": of_k6}[form](query, False))
    assert [path for path, _ in sent(tmp_path / "written-workload.yaml")] == [f"/x?{query}"]


@pytest.mark.parametrize("form", ["curl", "har", "k6"])
@pytest.mark.parametrize("text", ["q=caf%E9&n=1", "q=100%&n=%u2", "q=%ZZ", "q=red+shoes", "q=a%20b&q=c", "q=%2B"])
def test_a_form_arrives_as_it_was_sent(form: str, text: str, import_text: Importer, tmp_path: Path) -> None:
    found = import_text(form, {"curl": of_curl, "har": of_har, "k6": of_k6}[form](text, True))
    ((_, body),) = sent(tmp_path / "written-workload.yaml")
    assert meaning(body) == meaning(text)
    (step,) = found.requests()
    assert "form" in step or "application/x-www-form-urlencoded" in step["headers"].values()


@pytest.mark.parametrize("query", ["q=caf%E9", "q=100%", "q=%u2", "q=a+b", "q=%C3%A9"])
def test_a_query_of_a_log_arrives_as_it_was_sent(query: str, import_text: Importer, tmp_path: Path) -> None:
    import_text("accesslog", of_log(query, False) * 3)
    ((path, _),) = sent(tmp_path / "written-workload.yaml")
    assert meaning(path.partition("?")[2]) == meaning(query)
    assert "+" not in query or path == f"/x?{query}"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (b"/raw\xe9?q=\xe9", "/raw%E9?q=%E9"),
        (b"/a\xa0b?\xe9=1&q=caf\xc3\xa9", "/a%A0b?%E9=1&q=caf%C3%A9"),
        (b"/x\xc3?q=\\\xe9\\xe8", "/x%C3?q=%E9%E8"),
        (b"/\xed\xa0\x80", "/%ED%A0%80"),
    ],
)
def test_octets_of_a_log_that_are_not_utf_8_are_sent_as_logged(
    url: bytes, path: str, import_file: Importer, tmp_path: Path
) -> None:
    log = tmp_path / "octets.log"
    log.write_bytes(b'1.1.1.1 - - [02/Mar/2026:10:00:00 +0000] "GET %b HTTP/1.1" 200 5 "-" "Ag\xe9nt"\n' % url * 3)
    import_file("accesslog", log)
    assert [got for got, _ in sent(tmp_path / "written-workload.yaml")] == [path]


def test_rows_of_a_log_are_as_written_if_one_does_not_survive(import_text: Importer) -> None:
    found = import_text("accesslog", (of_log("q=caf%E9", False) + of_log("q=a%20b", False)) * 3)
    (step,) = found.requests()
    (pool,) = found.workload["data"].values()
    assert step["get"] == "/x?q=${x_by_q.q}"
    assert sorted(row[0] for row in pool["rows"]) == ["a%20b", "caf%E9"]
    found = import_text("accesslog", (of_log("q=%41", False) + of_log("q=A", False) + of_log("q=%C3%A9", False)) * 3)
    (pool,) = found.workload["data"].values()
    assert (found.requests()[0]["query"], sorted(pool["rows"])) == ({"q": "${x_by_q.q}"}, [["A", 6], ["é", 3]])


@pytest.mark.parametrize(
    ("value", "query", "form"),
    [
        ("caf%E9", "a=caf%E9", "a=caf%E9"),
        ("100%", "a=100%", "a=100%"),
        ("a+b", "a=a+b", "a=a%20b"),
        ("%C3%A9", "a=%C3%A9", "a=%C3%A9"),
    ],
)
def test_arguments_of_jmeter_arrive_as_they_were_sent(
    value: str, query: str, form: str, import_text: Importer, tmp_path: Path
) -> None:
    given = arguments(("a", value, "false"))
    import_text("jmx", group(post("/x", given) + post("/x", given, "GET")))
    (_, body), (path, _) = sent(tmp_path / "written-workload.yaml")
    assert (path, body) == (f"/x?{query}", form)


def test_what_jmeter_encodes_is_encoded_once_beside_what_it_does_not(import_text: Importer, tmp_path: Path) -> None:
    given = arguments(("a", "%E9", "false"), ("b%5B%5D", "1", "false"), ("c", "50% & ü", "true"))
    import_text("jmx", group(post("/x", given.replace(" & ", " &amp; "), "GET")))
    ((path, _),) = sent(tmp_path / "written-workload.yaml")
    assert path == "/x?a=%E9&b%5B%5D=1&c=50%25%20%26%20%C3%BC"


@pytest.mark.parametrize(
    ("given", "query", "form"),
    [
        ([("", "raw"), ("b", "2")], "b=2", "b=2"),
        ([("b", "3"), ("b", "2"), ("", "raw")], "b=3&b=2", "b=3&b=2"),
        ([("", ""), ("b", "3"), ("c", "2")], "b=3&c=2", "b=3&c=2"),
        ([("", "b=3&amp;"), ("", "c=2")], None, "b=3&c=2"),
    ],
)
def test_jmeter_sends_arguments_without_a_name_only_if_none_has_one(
    given: list[tuple[str, str]], query: str | None, form: str, import_text: Importer, tmp_path: Path
) -> None:
    """If an argument of a request has a name, arguments without a name are left out. If none has, all values are sent.

    The rules are those of `getSendParameterValuesAsPostBody` and `getQueryString` in the class HTTPSamplerBase of
    JMeter 5.5.
    """
    rows = arguments(*((name, value, "false") for name, value in given))
    import_text(
        "jmx", group("".join(post("/x", rows, method) for method in ("POST", "PUT", "GET")[: 3 if query else 2]))
    )
    (_, posted), (_, put), *read = sent(tmp_path / "written-workload.yaml")
    assert (posted, put) == (form, form)
    assert [path for path, _ in read] == ([f"/x?{query}"] if query else [])


def test_jmeter_sends_no_part_without_a_name(import_text: Importer) -> None:
    parts = '<boolProp name="HTTPSampler.DO_MULTIPART_POST">true</boolProp>'
    given = arguments(("", "raw", "true"), ("b", "2", "true"))
    (step,) = import_text("jmx", group(post("/x", parts + given))).requests()
    assert step["multipart"] == {"b": "2"}


def test_an_argument_that_is_not_sent_sets_no_parameter(import_text: Importer) -> None:
    given = arguments(("", "${__P(unused,7)}", "true"), ("b", "2", "true"))
    found = import_text("jmx", group(post("/x", given)))
    assert "parameters" not in found.workload
    assert not [why for _, what, why in found.notes() if "rgument" in what + why]


def test_a_value_of_the_run_is_encoded_in_a_query_that_is_kept_as_written(import_text: Importer) -> None:
    before = "import http from 'k6/http';\nexport default function () {\n"
    call = "const r = http.get('http://a/');\nhttp.get(`http://a/x?q=a+b&id=${r.json('id')}`);\n}\n"
    assert import_text("k6", before + call).requests()[1]["get"] == "/x?q=a+b&id=${id|url}"


def test_a_parameter_is_encoded_in_a_query_that_is_kept_as_written(import_text: Importer, tmp_path: Path) -> None:
    before = "import http from 'k6/http';\nexport default function () {\n"
    import_text("k6", before + "http.get(`http://a/x?q=a+b&n=${__ENV.NAME || 'c d&e'}`);\n}\n")
    assert sent(tmp_path / "written-workload.yaml") == [("/x?q=a+b&n=c%20d%26e", "")]


@pytest.mark.parametrize(
    ("url", "path"), [("/a?", "/a?"), ("/a", "/a"), ("/a#f", "/a"), ("/a?#f?", "/a?"), ("?", "/?")]
)
@pytest.mark.parametrize("form", ["curl", "har", "k6", "jmx"])
def test_an_empty_query_keeps_its_mark_and_a_fragment_is_not_sent(
    form: str, url: str, path: str, import_text: Importer
) -> None:
    text = {
        "curl": f"curl 'http://a{url}'\n",
        "har": har({"method": "GET", "url": f"http://a{url}"}),
        "k6": f"import http from 'k6/http';\nexport default function () {{ http.get('http://a{url}'); }}\n",
        "jmx": group(request(url, host="a")),
    }[form]
    assert import_text(form, text).requests()[0]["get"] == path


def test_a_recorded_form_of_fields_alone_is_encoded(import_text: Importer, tmp_path: Path) -> None:
    fields = [("comment", "Fish & chips = 100% + salt"), ("comment", "é"), ("100%25", "")]
    params = [{"name": name, "value": value} for name, value in fields]
    for media in ({"mimeType": "application/x-www-form-urlencoded"}, {}):
        found = import_text(
            "har", har({"method": "POST", "url": "http://a/x", "postData": {**media, "params": params}})
        )
        ((_, body),) = sent(tmp_path / "written-workload.yaml")
        assert meaning(body) == [(name.encode(), value.encode()) for name, value in fields]
        assert found.requests()[0]["headers"] == {"Content-Type": "application/x-www-form-urlencoded"}
        assert found.noted("field 100%25")


@pytest.mark.parametrize("form", ["curl", "har", "k6", "jmx"])
def test_parts_of_one_name_are_all_sent(form: str, import_text: Importer) -> None:
    params = [{"name": "tag", "value": "1"}, {"name": "tag", "value": "2"}]
    files = [{"name": "file", "fileName": name, "_size": 9} for name in ("a.txt", "b.txt")]
    data = {"postData": {"mimeType": "multipart/form-data; boundary=x", "params": params + files}}
    script = "{tag: ['1', '2'], file: [http.file(open('a.txt', 'b'), 'a.txt'), http.file(open('b.txt', 'b'), 'b.txt')]}"
    named = "".join(
        f'<elementProp name="{name}" elementType="HTTPFileArg"><stringProp name="File.path">{name}</stringProp>'
        '<stringProp name="File.paramname">file</stringProp></elementProp>'
        for name in ("a.txt", "b.txt")
    )
    of_jmeter = (
        '<elementProp name="HTTPsampler.Files" elementType="HTTPFileArgs"><collectionProp name="HTTPFileArgs.files">'
        f"{named}</collectionProp></elementProp>"
    )
    text = {
        "curl": "curl -F tag=1 -F tag=2 -F file=@a.txt -F file=@b.txt http://a/x\n",
        "har": har({"method": "POST", "url": "http://a/x", **data}),
        "k6": f"import http from 'k6/http';\nexport default function () {{ http.post('http://a/x', {script}); }}\n",
        "jmx": group(post("/x", arguments(("tag", "1", "true"), ("tag", "2", "true")) + of_jmeter)),
    }[form]
    (step,) = import_text(form, text).requests()
    found = [(part["name"], part.get("value") or part["filename"]) for part in step["multipart"]]
    assert found == [("tag", "1"), ("tag", "2"), ("file", "a.txt"), ("file", "b.txt")]


def test_a_password_among_parts_of_one_name_is_no_part_of_the_workload(import_text: Importer) -> None:
    params = [{"name": name, "value": "s3cr3t-word"} for name in ("password", "password")]
    data = {"postData": {"mimeType": "multipart/form-data; boundary=x", "params": params}}
    found = import_text("har", har({"method": "POST", "url": "http://a/x", **data}))
    assert "s3cr3t-word" not in found.text
    assert [part["value"] for part in found.requests()[0]["multipart"]] == ["${parameters.password}"] * 2


def test_a_token_of_an_answer_is_found_in_a_query_that_is_kept_as_written(import_text: Importer) -> None:
    recording = json.loads(
        har({"method": "GET", "url": "http://a/"}, {"method": "GET", "url": "http://a/x?q=a+b&t=A1b2C3d4E5"})
    )
    content = {"size": 0, "mimeType": "application/json", "text": '{"csrf": "A1b2C3d4E5"}'}
    recording["log"]["entries"][0]["response"] = {**recording["log"]["entries"][0]["response"], "content": content}
    found = import_text("har", json.dumps(recording))
    assert found.requests()[1]["get"] == "/x?q=a+b&t=${csrf|url}"
