"""URLs in k6 scripts: whatever their form, the address is separated from the path. A URL that is known only at run time
causes a note.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Importer = Callable[..., Any]
HEAD = "import http from 'k6/http';\n"
_ELSEWHERE = "the destination of requests is not in the script"


@pytest.fixture
def script(import_text: Importer) -> Callable[..., Any]:
    """Import a k6 script whose default function has the given body."""

    def run(body: str, before: str = "") -> Any:
        return import_text("k6", f"{HEAD}{before}\nexport default function () {{\n{body}\n}}\n")

    return run


@pytest.mark.parametrize(
    ("url", "path", "address"),
    [
        ("`http://a:${__ENV.PORT || 8080}/x`", "/x", "http://a:8080"),
        ("`https://${__ENV.HOST || 'b.example'}:81/x`", "/x", "https://b.example:81"),
        ("`${__ENV.SCHEME || 'https'}://c/x`", "/x", "https://c"),
        ("`http://${__ENV.SUB || 'www'}.d/x`", "/x", "http://www.d"),
        ("`${__ENV.BASE || 'http://e/pre'}/x`", "/pre/x", "http://e"),
        ("`http://f${__ENV.PATH || '/pre'}/x`", "${parameters.path}/x", "http://f"),
        ("`http://f/${__ENV.PATH || 'pre'}/x`", "/${parameters.path}/x", "http://f"),
        ("`https://${__ENV.HOST || 'g'}`", "/", "https://g"),
        ("`http://h/a//b`", "/a//b", "http://h"),
    ],
)
def test_addresses_are_taken_off(url: str, path: str, address: str, script: Callable[..., Any]) -> None:
    found = script(f"http.get({url});")
    assert [step["get"] for step in found.requests()] == [path]
    assert list(found.draft.targets.values()) == [address]
    assert not found.noted("URL")


@pytest.mark.parametrize(
    ("url", "path", "parameter"),
    [
        ("`https://${__ENV.HOST}/x`", "/x", "host"),
        ("`http://a:${__ENV.PORT}/x`", "/x", "port"),
        ("`${__ENV.BASE}/x`", "/x", "base"),
        ("`${__ENV.SCHEME}://${__ENV.HOST}/x`", "/x", "scheme, parameters.host"),
    ],
)
def test_addresses_that_the_script_does_not_say_are_noted(
    url: str, path: str, parameter: str, script: Callable[..., Any]
) -> None:
    found = script(f"http.get({url});")
    assert [step["get"] for step in found.requests()] == [path]
    assert list(found.draft.targets) == [parameter.rpartition(".")[2]]
    assert [why for _, what, why in found.notes() if what == "URL"] == [
        f"{_ELSEWHERE} (parameters.{parameter}): only the path is kept"
    ]


def test_requests_to_an_address_that_is_not_said_have_a_target_of_their_own(script: Callable[..., Any]) -> None:
    found = script("http.get('http://a/1');\nhttp.get(`${__ENV.BASE}/2`);\nhttp.get(`${__ENV.BASE}/3`);")
    assert [step["target"] for step in found.requests()] == ["a", "base", "base"]


def test_a_login_of_a_url_does_not_hide_its_address(script: Callable[..., Any]) -> None:
    (step,) = script("http.get(`http://ann:${__ENV.PASSWORD}@a/x`);").requests()
    assert (step["get"], step["auth"]) == ("/x", {"user": "ann", "password": "change-me"})


@pytest.mark.parametrize(
    "url",
    [
        "r.json('next')",
        "`${r.json('next')}?x=1`",
        "r.headers.Location",
        "`http://${r.json('host')}/x`",
        "`http://a:${r.json('port')}/x`",
        "`http://a${r.json('n')}.example/x`",
    ],
)
def test_an_address_that_an_answer_gives_is_noted_and_left_out(url: str, script: Callable[..., Any]) -> None:
    found = script(f"const r = http.get('http://a/1');\nhttp.get({url});")
    assert found.requests() == [{"get": "/1", "on_failure": "go_on"}]
    assert found.noted("GET request") == [5]


def test_a_path_that_an_answer_gives_has_its_slash(script: Callable[..., Any]) -> None:
    found = script(
        "const r = http.get('http://a/1');\nhttp.get('http://a' + r.json('to'));\nhttp.get(`http://a/${r.json('to')}`);"
    )
    assert [step["get"] for step in found.requests()] == ["/1", "${to}", "/${to}"]


_DRAW = "http.get(to[Math.floor(Math.random() * to.length)] + '/z');"


def test_addresses_in_data_are_taken_off(script: Callable[..., Any]) -> None:
    found = script(f"{_DRAW}\n{_DRAW}", "const to = ['http://a/x', 'http://a/y?q=1', 'http://a'];")
    assert [step["get"] for step in found.requests()] == ["${values.value_path}/z"] * 2
    assert list(found.draft.targets.values()) == ["http://a"]
    assert found.workload["data"]["values"] == {
        "columns": ["value", "value_path"],
        "rows": [["http://a/x", "/x"], ["http://a/y?q=1", "/y?q=1"], ["http://a", "/"]],
    }


def test_addresses_in_columns_of_rows_are_taken_off(script: Callable[..., Any]) -> None:
    rows = "const to = [{ n: 'one', at: 'http://a/x' }, { n: 'two', at: 'http://a/y' }];"
    found = script("const row = to[Math.floor(Math.random() * to.length)];\nhttp.get(`${row.at}?n=${row.n}`);", rows)
    assert found.requests() == [{"get": "${values.at_path}", "query": {"n": "${values.n}"}, "on_failure": "go_on"}]


def test_data_with_several_addresses_are_noted(script: Callable[..., Any]) -> None:
    found = script(f"http.get('http://a/');\n{_DRAW}", "const to = ['http://a/x', 'http://b/y'];")
    assert [step["get"] for step in found.requests()] == ["/"]
    assert found.noted("GET request") == [5]


def test_data_without_addresses_are_noted(script: Callable[..., Any]) -> None:
    found = script(_DRAW, "const to = ['/x', '/y'];")
    assert [step["get"] for step in found.requests()] == ["${values.value}/z"]
    assert found.noted("URL that begins with a value of the data 'values'") == [4]


def test_other_defaults_of_a_variable_are_noted(script: Callable[..., Any]) -> None:
    body = ["http.get(`http://a/${__ENV.X || 'one'}`);", "http.get(`http://a/${__ENV.X || 'two'}`);"]
    found = script("\n".join([*body, body[0]]))
    assert found.draft.parameters == {"x": "one"}
    assert found.noted("parameters.x") == [5]
