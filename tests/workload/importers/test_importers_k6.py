from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from towtank.workload.importers.k6.requests import duration

Importer = Callable[..., Any]

HEAD = "import http from 'k6/http';\nimport { check, sleep, group } from 'k6';\n"


@pytest.fixture
def script(import_text: Importer) -> Callable[..., Any]:
    """Import a k6 script whose default function has the given body. The body begins at the third line."""

    def run(body: str, before: str = "") -> Any:
        own = "" if "options" in before else "export const options = { noCookiesReset: true, maxRedirects: 0 };\n"
        text = f"{HEAD}{before}export default function () {{\n{body}\n}}\n{own}"
        return import_text("k6", text, "script.js")

    return run


def steps_of(found: Any) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = found.workload["transactions"]["script"]
    return steps


def test_the_example(import_file: Importer) -> None:
    found = import_file("k6", "script.js")
    kinds = [next(iter(step)) for step in steps_of(found)]
    assert kinds == ["draw", "post", "think", "page", "think", "page", "branch", "loop", "get"]
    login, listed, item = found.requests()[:3]
    assert login["extract"] == {"token": "$.token"}
    assert login["check"] == {"status": [200, 302]}
    assert listed["query"] == {"page": "${random.int(1, 5)}", "q": "red shoes"}
    assert listed["check"] == {"status": 200, "contains": ["items"], "json": {"$.items[0].id": None}}
    assert item["get"] == "/items/${first}"
    assert found.draft.findings["objectives"] == ["p95 < 500 ms", "errors < 1 %"]
    assert found.draft.findings["load"][0]["stages"] == [
        {"duration_s": 90.0, "target": 20},
        {"duration_s": 300.0, "target": 20},
    ]
    for what, line in (("check 'quick'", 26), ("setup()", 31), ("while (true)", 66)):
        assert found.noted(what) == [line]
    assert "reset" not in found.text
    assert found.requests()[-1]["get"] == "/by-number/${iteration}"


@pytest.mark.parametrize(
    ("call", "step"),
    [
        ("http.get('http://a/x?y=1&y=2')", {"get": "/x?y=1&y=2"}),
        ("http.del('http://a/x', null, { headers: { A: 'b' } })", {"delete": "/x", "headers": {"A": "b"}}),
        ("http.post('http://a/x', { a: 1, b: 'c' })", {"post": "/x", "form": {"a": "1", "b": "c"}}),
        ("http.put('http://a/x', 'text')", {"put": "/x", "body": "text"}),
        ("http.request('PATCH', `http://a/${1 + 2}`)", {"patch": "/3"}),
        ("http.get(http.url`http://a/${'b' + 'c'}`)", {"get": "/bc"}),
        ("http.get('http://a/', { timeout: 500 })", {"get": "/", "timeout": "500 ms"}),
        ("http.get('http://a/' + __ENV.WHO)", {"get": "/${parameters.who}"}),
        ("http.get(`http://a/${(2 > 1 ? 'x' : 'y') + -1}`)", {"get": "/x-1"}),
        ("http.get('http://a/${b}')", {"get": "/$${b}"}),
    ],
)
def test_requests(call: str, step: dict[str, Any], script: Callable[..., Any]) -> None:
    assert script(call).requests() == [{**step, "on_failure": "go_on"}]


@pytest.mark.parametrize(
    ("body", "key"), [("{ a: 1, b: f() }", "form"), ("JSON.stringify({ a: '1', b: f() })", "json")]
)
def test_single_values_that_are_not_known_are_reported(body: str, key: str, script: Callable[..., Any]) -> None:
    found = script(f"http.post('http://a/', {body});")
    assert found.requests()[0][key] == {"a": "1", "b": "change-me"}
    assert found.noted("field b") == [4]


@pytest.mark.parametrize(
    ("test", "check"),
    [
        ("(r) => r.status === 200", {"status": 200}),
        ("r => 201 == r.status", {"status": 201}),
        ("(r) => r.status >= 200 && r.status < 300", {"status": "2xx"}),
        ("(r) => r.status < 400", {"status": ["2xx", "3xx"]}),
        ("function (r) { return r.status === 200 || r.status === 204; }", {"status": [200, 204]}),
        ("(r) => r.body.indexOf('a') !== -1", {"contains": ["a"]}),
        ("(r) => !r.body.includes('a')", {"not_contains": ["a"]}),
        ("(r) => r.body.match(/a+/i)", {"regex": ["(?i)a+"]}),
        ("(r) => /a+/.test(r.body)", {"regex": ["a+"]}),
        ("(r) => r.body.length > 10", {"size": {"min": "11 B"}}),
        ("(r) => r.json('a.0.b') === 'c'", {"json": {"$.a[0].b": "c"}}),
        ("(r) => r.json().a", {"json": {"$.a": None}}),
        ("(r) => r.headers['X-State'] === 'open'", {"header": {"X-State": "open"}}),
        ("(r) => r.headers['Content-Type'].includes('json')", {"header": {"Content-Type": "json"}}),
    ],
)
def test_checks(test: str, check: dict[str, Any], script: Callable[..., Any]) -> None:
    found = script(f"check(http.get('http://a/'), {{ 'x': {test} }});")
    assert found.requests()[0]["check"] == check
    assert found.notes() == []


@pytest.mark.parametrize("test", ["(r) => r.timings.duration < 5", "(r) => other(r)", "(r) => r.html('p') === 'x'"])
def test_checks_that_cannot_be_said_are_reported(test: str, script: Callable[..., Any]) -> None:
    found = script(f"check(http.get('http://a/'), {{ x: (r) => r.status === 200,\n y: {test} }});")
    assert found.requests()[0]["check"] == {"status": 200}
    assert found.noted("check y") == [5]


@pytest.mark.parametrize(
    ("pause", "think"),
    [
        ("1.5", "1.5 s"),
        ("Math.random() * 2 + 1", {"uniform": {"min": "1 s", "max": "3 s"}}),
        ("randomIntBetween(2, 4)", {"uniform": {"min": "2 s", "max": "4 s"}}),
    ],
)
def test_sleeps(pause: str, think: Any, script: Callable[..., Any]) -> None:
    library = "import { randomIntBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';\n"
    assert steps_of(script(f"http.get('http://a/'); sleep({pause});", library))[1] == {"think": think}


def test_branches_and_loops(script: Callable[..., Any]) -> None:
    found = script(
        "if (Math.random() > 0.75) { http.get('http://a/1'); } else http.get('http://a/2');\n"
        "for (let i = 1; i <= 3; i++) { http.get('http://a/3'); }\n"
        "for (const name of ['x', 'y']) { http.get(`http://a/${name}`); }\n"
        "if (2 > 1) { http.get('http://a/4'); } else { http.get('http://a/5'); }"
    )
    branch, loop, first, second, always = steps_of(found)
    assert (branch["branch"], branch["then"][0]["get"], branch["else"][0]["get"]) == ("25 %", "/1", "/2")
    assert (loop["loop"], loop["steps"][0]["get"]) == (3, "/3")
    assert [first["get"], second["get"], always["get"]] == ["/x", "/y", "/4"]


def test_a_condition_on_an_answer(script: Callable[..., Any]) -> None:
    found = script("const id = http.get('http://a/').json().id;\nif (id) { http.get(`http://a/${id}`); }")
    first, condition = steps_of(found)
    assert first["extract"] == {"id": {"json": "$.id", "default": ""}}
    assert condition == {"if": {"filled": "id"}, "then": [{"get": "/${id}", "on_failure": "go_on"}]}


def test_a_variable_of_an_outer_function_keeps_what_a_group_gives_it(script: Callable[..., Any]) -> None:
    found = script(
        "let token;\ngroup('in', () => { token = http.get('http://a/').json('t'); });\n"
        "http.get('http://a/x', { headers: { T: token } });"
    )
    assert found.requests()[1]["headers"] == {"T": "${token}"}


def test_what_is_set_in_a_condition_is_not_known_after_it(script: Callable[..., Any]) -> None:
    found = script(
        "let a = 'x';\nif (Math.random() < 0.5) { a = 'y'; http.get('http://a/1'); }\nhttp.get(`http://a/${a}`);"
    )
    assert [step["get"] for step in found.requests()] == ["/1"]
    assert found.noted("GET request") == [6]


@pytest.mark.parametrize(
    "part", ["while (f()) { a += 'y'; }", "a += f();", "if (f()) { a = 'y'; }", "switch (f()) { default: a = 1 }"]
)
def test_what_is_set_in_a_part_that_is_left_out_is_not_known(part: str, script: Callable[..., Any]) -> None:
    found = script(f"let a = 'x';\nhttp.get('http://a/');\n{part}\nhttp.get(`http://a/${{a}}`);")
    assert [step["get"] for step in found.requests()] == ["/"]
    assert found.noted("GET request") == [7]


def test_functions_are_done_where_they_are_called(script: Callable[..., Any]) -> None:
    before = (
        "const visit = (path, query = 'q') => http.get(`http://a/${path}?${query}=1`);\nfunction twice() { twice(); }\n"
    )
    found = script("visit('one'); visit('two', 'r');\ntwice();", before)
    assert [(step["get"], step["query"]) for step in found.requests()] == [("/one", {"q": "1"}), ("/two", {"r": "1"})]
    assert any("too deeply" in why for _, _, why in found.notes())


def test_scenarios_are_groups(import_text: Importer) -> None:
    text = (
        HEAD
        + """export const options = { scenarios: {
  readers: { executor: 'constant-vus', vus: 30, duration: '1m', exec: 'read' },
  writers: { executor: 'ramping-vus', stages: [{ duration: '1m', target: 10 }], exec: 'write' },
} };
export function read() { http.get('http://a/r'); }
export function write() { http.post('http://a/w', 'x'); }
"""
    )
    found = import_text("k6", text)
    groups = found.workload["groups"]
    assert {name: group["share"] for name, group in groups.items()} == {"readers": "75 %", "writers": "25 %"}
    assert groups["writers"]["loop"]["mix"] == {"write": 100}


def test_data_that_is_not_here_has_placeholders(script: Callable[..., Any]) -> None:
    before = (
        "import { SharedArray } from 'k6/data';\n"
        "const rows = new SharedArray('rows', function () { return JSON.parse(open('./gone.json')); });\n"
    )
    found = script("const row = rows[__VU % rows.length];\nhttp.get(`http://a/${row.name}`);", before)
    assert found.requests()[0]["get"] == "/${rows.name}"
    assert found.workload["data"]["rows"]["order"] == "sequential"
    assert found.noted("file ./gone.json") == [4]


def test_a_list_is_data(script: Callable[..., Any]) -> None:
    found = script(
        "http.get(`http://a/${words[Math.floor(Math.random() * words.length)]}`);", "const words = ['a', 'b'];\n"
    )
    draw, get = steps_of(found)
    assert found.workload["data"] == {draw["draw"]: {"columns": ["value"], "rows": [["a"], ["b"]]}}
    assert get["get"] == f"/${{{draw['draw']}.value}}"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("1m30s", 90.0), ("100ms", 0.1), ("1x", None), (5, None)])
def test_durations(text: Any, seconds: float | None) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "10 ** 400", "Math.floor(Math.random() * 1e40)"])
def test_numbers_without_bounds(number: str, script: Callable[..., Any]) -> None:
    found = script(f"http.get('http://a/');\nhttp.get(`http://a/${{{number}}}`);")
    assert [step["get"] for step in found.requests()] == ["/"]
    assert found.noted("GET request") == [5]
