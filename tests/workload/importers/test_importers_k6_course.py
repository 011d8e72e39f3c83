from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from towtank.workload.importers.accounting import Fate
from towtank.workload.importers.k6.table import OPTIONS

Importer = Callable[..., Any]
LISTS = json.loads((Path(__file__).parents[2] / "data/imports/keys/k6.json").read_text("utf-8"))
KEYS = LISTS["interfaces"]
HEAD = "import http from 'k6/http';\nimport exec from 'k6/execution';\nimport { check, sleep, fail } from 'k6';\n"


@pytest.fixture
def script(import_text: Importer) -> Callable[..., Any]:
    """Import a k6 script whose default function has the given body."""

    def run(body: str, before: str = "") -> Any:
        return import_text("k6", f"{HEAD}{before}\nexport default function () {{\n{body}\n}}\n", "script.js")

    return run


def course(found: Any) -> list[tuple[str, str | None]]:
    return [(step.get("get") or step.get("post"), step.get("on_failure")) for step in found.requests()]


def test_a_failed_check_goes_on(script: Callable[..., Any]) -> None:
    found = script("check(http.get('http://a/1'), { ok: r => r.status === 200 });\nhttp.get('http://a/2');")
    assert course(found) == [("/1", "go_on"), ("/2", "go_on")]


@pytest.mark.parametrize(
    "test",
    [
        "if (!check(r, { ok: r => r.status === 200 })) return;",
        "const ok = check(r, { ok: r => r.status === 200 });\nif (!ok) { console.log('no'); return; }",
        "if (!check(r, { ok: r => r.status === 200 })) { fail('no'); }",
        "check(r, { ok: r => r.status === 200 }) || fail('no');",
        "if (r.status !== 200) { return; }",
        "if (r.status != 200) return;",
    ],
)
def test_a_script_that_tests_and_returns_keeps_its_course(test: str, script: Callable[..., Any]) -> None:
    found = script(f"const r = http.get('http://a/1');\n{test}\nhttp.get('http://a/2');")
    assert course(found) == [("/1", None), ("/2", "go_on")]
    assert found.requests()[0]["check"] == {"status": 200}


def test_what_follows_a_return_is_not_done(script: Callable[..., Any]) -> None:
    found = script("http.get('http://a/1');\nif (2 > 1) { return; }\nhttp.get('http://a/2');")
    assert course(found) == [("/1", "go_on")]


@pytest.mark.parametrize("condition", ["!token", "token === undefined", "token == null"])
def test_a_login_of_the_first_round_is_done_once(condition: str, script: Callable[..., Any]) -> None:
    found = script(
        f"if ({condition}) {{ token = http.post('http://a/login', 'x').json('token'); }}\n"
        "http.get('http://a/x', { headers: { Authorization: `Bearer ${token}` } });",
        "let token;",
    )
    assert found.workload["groups"]["users"]["once"] == ["script_once"]
    assert found.workload["transactions"]["script_once"][0]["extract"] == {"token": "$.token"}
    (step,) = found.workload["transactions"]["script"]
    assert step["headers"] == {"Authorization": "Bearer ${token}"}
    assert found.noted("if (")


def test_a_first_iteration_is_done_once(script: Callable[..., Any]) -> None:
    found = script("if (__ITER === 0) { http.get('http://a/first'); }\nhttp.get('http://a/x');")
    assert found.workload["transactions"]["script_once"][0]["get"] == "/first"


def test_a_variable_of_a_round_is_not_kept(script: Callable[..., Any]) -> None:
    found = script("let seen;\nif (!seen) { http.get('http://a/each'); }")
    assert "once" not in found.workload["groups"]["users"]
    assert course(found) == [("/each", "go_on")]


def scenarios(**given: dict[str, Any]) -> str:
    return f"export const options = {{ scenarios: {json.dumps(given)} }};"


def test_arrival_rates_become_a_pacing(script: Callable[..., Any]) -> None:
    rate = {"executor": "constant-arrival-rate", "rate": 5, "duration": "30s", "preAllocatedVUs": 10}
    found = script("http.get('http://a/x');", scenarios(a=rate))
    assert found.workload["groups"]["a"]["loop"]["pacing"] == "2 s"
    assert found.noted("scenario a: arrival rate")
    found = script("http.get('http://a/x');", scenarios(a={**rate, "timeUnit": "1m", "maxVUs": 20}))
    assert found.workload["groups"]["a"]["loop"]["pacing"] == "4 min"
    stages = [{"target": 10, "duration": "1m"}, {"target": 40, "duration": "1m"}]
    ramping = {"executor": "ramping-arrival-rate", "startRate": 1, "stages": stages, "preAllocatedVUs": 80}
    found = script("http.get('http://a/x');", scenarios(a=ramping))
    assert found.workload["groups"]["a"]["loop"]["pacing"] == "2 s"


def test_scenarios_share_the_users_and_start_times_are_noted(script: Callable[..., Any]) -> None:
    first = {"executor": "constant-vus", "vus": 30, "duration": "30s"}
    rate = {"executor": "constant-arrival-rate", "rate": 5, "duration": "30s", "preAllocatedVUs": 10, "startTime": "9s"}
    found = script("http.get('http://a/x');", scenarios(a=first, b=rate))
    groups = found.workload["groups"]
    assert {name: group["share"] for name, group in groups.items()} == {"a": "75 %", "b": "25 %"}
    # 10 of the 40 users execute this scenario. To make 5 iterations a second, each starts one every 2 s.
    assert groups["b"]["loop"]["pacing"] == "2 s"
    assert found.noted("scenario b: startTime")


def test_shares_are_written_with_the_digits_they_have(script: Callable[..., Any]) -> None:
    users = {"executor": "constant-vus", "duration": "30s"}
    found = script("http.get('http://a/x');", scenarios(a={**users, "vus": 150}, b={**users, "vus": 20}))
    assert {name: group["share"] for name, group in found.workload["groups"].items()} == {
        "a": "88.2353 %",
        "b": "11.7647 %",
    }


def test_a_number_of_iterations_is_noted(script: Callable[..., Any]) -> None:
    found = script("http.get('http://a/x');", "export const options = {\n  vus: 2,\n  iterations: 20,\n};")
    assert found.noted("iterations") == [6]
    assert found.draft.findings["load"] == [{"scenario": "default", "executor": "", "vus": 2, "iterations": 20}]


def test_idioms_of_scripts(script: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("name\nann\nbob\n", encoding="utf-8")
    found = script(
        "const p = Object.assign({}, base, { timeout: '5s' });\n"
        "const user = names[(exec.vu.idInTest - 1) % names.length];\n"
        "http.get(`http://a/${user}/${exec.vu.idInTest}?flag`, p);\n"
        "http.post('http://ann:s%40@a/x', JSON.stringify({}), { headers: { 'Content-Type': 'application/json' } });",
        "import { SharedArray } from 'k6/data';\nconst base = { headers: { Authorization: 'Bearer x' } };\n"
        "const names = new SharedArray('names', () => open('names.csv').trim().split('\\n').slice(1));",
    )
    first, second = found.requests()
    assert first["get"] == "/${names.value}/${user.number}?flag"
    assert (first["headers"], first["timeout"]) == ({"Authorization": "Bearer x"}, "5 s")
    assert found.workload["data"]["names"]["rows"] == [["ann"], ["bob"]]
    assert second["json"] == {}
    assert second["auth"] == {"user": "ann", "password": "s@"}
    assert found.noted("exec.vu.idInTest")


@pytest.mark.parametrize(
    ("test", "check"),
    [("> 0", {"json": {"$.products[0]": None}}), (">= 3", {"json": {"$.products[2]": None}}), ("=== 20", None)],
)
def test_lengths_of_lists(test: str, check: dict[str, Any] | None, script: Callable[..., Any]) -> None:
    found = script(f"check(http.get('http://a/'), {{ x: r => r.json('products').length {test} }});")
    assert found.requests()[0].get("check") == check
    assert bool(found.noted("check x")) == (check is None)


@pytest.mark.parametrize(
    ("call", "check"),
    [
        ("check(r.json(), { token: (d) => d.token === 'abc' })", {"json": {"$.token": "abc"}}),
        ("check(r.json('list'), { some: (d) => d.length > 0 })", {"json": {"$.list[0]": None}}),
        ("check(r.status, { good: (s) => s === 201 })", {"status": 201}),
        ("check(r, tests)", {"status": 201, "contains": ["x"]}),
        ("check(r, missing)", None),
    ],
)
def test_checks_of_parts_of_an_answer_and_tests_with_a_name(
    call: str, check: dict[str, Any] | None, script: Callable[..., Any]
) -> None:
    before = "const tests = { good: (r) => r.status === 201, 'has x': (r) => r.body.includes('x') };"
    found = script(f"const r = http.get('http://a/'); {call};", before)
    assert found.requests()[0].get("check") == check
    assert bool(found.noted("check(")) == (check is None)


def test_a_length_of_a_list_as_a_value(script: Callable[..., Any]) -> None:
    found = script("const n = http.get('http://a/').json('a').length;\nhttp.get(`http://a/${n}`);")
    assert found.requests()[0]["extract"] == {"n": {"json": "$.a[*]", "pick": "count"}}
    assert found.requests()[1]["get"] == "/${n}"


def test_cookies_are_kept_for_an_iteration_unless_the_options_say_otherwise(script: Callable[..., Any]) -> None:
    found = script("http.get('http://a/');")
    assert found.workload["groups"]["users"]["cookies"] == {"kept": "per_round"}
    assert [what for _, what, _ in found.notes()] == ["redirects"]
    found = script("http.get('http://a/');", "export const options = { noCookiesReset: true, maxRedirects: 0 };")
    assert "cookies" not in found.workload["groups"]["users"]
    assert found.notes() == []


def test_answers_are_awaited_as_long_as_in_k6(script: Callable[..., Any]) -> None:
    found = script("http.get('http://a/'); http.get('http://a/', { timeout: '2s' });")
    assert found.workload["defaults"]["timeout"] == "60 s"
    assert [step.get("timeout") for step in found.requests()] == [None, "2 s"]


@pytest.mark.parametrize("name", ["__ITER", "exec.vu.iterationInScenario", "exec.scenario.iterationInTest"])
def test_how_rounds_are_counted_is_noted(name: str, script: Callable[..., Any]) -> None:
    found = script(f"http.get(`http://a/${{{name}}}`);")
    assert found.requests()[0]["get"] == "/${iteration}"
    (why,) = (why for _, what, why in found.notes() if what == name)
    assert why.startswith("${iteration} counts the transactions")


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("Math.round(2.5)", "3"),
        ("Math.round(2.4)", "2"),
        ("Math.floor(-1.5)", "-2"),
        ("Math.trunc(-1.5)", "-1"),
        ("Math.ceil(1.2)", "2"),
        ("Math.abs(-4)", "4"),
        ("Number(0.5)", "0.5"),
        ("parseFloat(1.25)", "1.25"),
    ],
)
def test_functions_of_numbers_are_those_of_javascript(call: str, number: str, script: Callable[..., Any]) -> None:
    assert script(f"http.get(`http://a/${{{call}}}`);").requests()[0]["get"] == f"/{number}"


def test_a_text_that_is_encoded_for_a_url_is_one_value(script: Callable[..., Any]) -> None:
    found = script("http.get(`http://a/x?q=${encodeURIComponent('a&b=c d')}&r=1`);")
    assert found.requests()[0]["query"] == {"q": "a&b=c d", "r": "1"}
    body = "const t = http.get('http://a/').json('t'); http.get(`http://a/x?q=${encodeURIComponent(t)}`);"
    found = script(body)
    assert found.requests()[1]["query"] == {"q": "${t}"}
    assert found.noted("encodeURIComponent(t)")


def test_what_is_caught_is_left_out_and_what_comes_finally_is_done(script: Callable[..., Any]) -> None:
    body = "try { http.get('http://a/1'); } catch (e) { http.get('http://a/2'); } finally { http.get('http://a/3'); }"
    found = script(body)
    assert [step["get"] for step in found.requests()] == ["/1", "/3"]
    assert [why for _, what, why in found.notes() if what.startswith("catch")] == [
        "left out: a workload has no exceptions"
    ]


def test_headers_that_a_script_sets_are_sent(script: Callable[..., Any]) -> None:
    found = script("http.get('http://a/', { headers: { Cookie: 'a=1', Host: 'shop', Connection: 'close' } });")
    assert found.requests()[0]["headers"] == {"Cookie": "a=1", "Host": "shop"}
    assert found.noted("header Connection")


def test_a_threshold_of_a_request_is_noted(script: Callable[..., Any]) -> None:
    options = "export const options = { thresholds: { 'http_req_duration{name:orders}': ['p(95)<300'] } };"
    found = script("http.get('http://a/');", options)
    assert [why for _, what, why in found.notes() if what.startswith("threshold")] == [
        "left out: objectives limit transactions, not the request 'orders'; make it a separate transaction"
    ]


def test_cookies_of_a_request_are_its_header(script: Callable[..., Any]) -> None:
    params = "{cookies: {a: '1', b: {value: 'x y', replace: true}, c: Math.random}, headers: {cookie: 'h=0'}}"
    found = script(f"http.get('http://a/', {params});")
    assert found.requests()[0]["headers"] == {"cookie": 'h=0; a=1; b="x y"'}
    assert found.noted("cookie 'a'")
    assert found.noted("cookie 'c'")
    assert not found.noted("cookie 'b'")


@pytest.mark.parametrize(
    ("part", "said"), [("json('token')", True), ("json().a.b", True), ("json()", False), ("body", False)]
)
def test_lengths_that_may_be_those_of_a_text_are_noted(part: str, said: bool, script: Callable[..., Any]) -> None:
    found = script(f"check(http.get('http://a/'), {{ x: (r) => r.{part}.length > 0 }});")
    assert bool(found.noted("length of")) == said


@pytest.mark.parametrize("statement", ["void http.get('http://a/1');", "!http.get('http://a/1');"])
def test_requests_below_a_sign_are_made_without_a_note(statement: str, script: Callable[..., Any]) -> None:
    found = script(f"{statement}\nhttp.get('http://a/2');")
    assert [step["get"] for step in found.requests()] == ["/1", "/2"]
    assert {what for _, what, _ in found.notes()} == {"redirects"}


@pytest.mark.parametrize(("last", "said"), [(1_000_000, False), (1_000_001, True)])
def test_a_loop_above_the_bound_of_workloads_is_noted(last: int, said: bool, script: Callable[..., Any]) -> None:
    found = script(f"for (let i = 0; i < {last}; i++) {{ http.get('http://a/'); }}")
    assert any("has at most 1000000" in why for _, _, why in found.notes()) == said


_VALUES = (True, False, 7, "31s", ["x"], {"name": "zz"})
_KINDS = {
    "options": KEYS["Options"],
    "params": KEYS["Params"],
    "constant-vus": KEYS["ConstantVUsScenario"] + KEYS["BaseScenario"],
    "ramping-vus": KEYS["RampingVUsScenario"] + KEYS["BaseScenario"],
    "constant-arrival-rate": KEYS["ConstantArrivalRateScenario"] + KEYS["BaseScenario"],
    "ramping-arrival-rate": KEYS["RampingArrivalRateScenario"] + KEYS["BaseScenario"],
    "per-vu-iterations": KEYS["PerVUIterationsScenario"] + KEYS["BaseScenario"],
    "shared-iterations": KEYS["SharedIterationsScenario"] + KEYS["BaseScenario"],
    "stage": [*KEYS["Stage"], "new"],
    "threshold": [*KEYS["ObjectThreshold"], "new"],
}
# Options that the test sets itself, or that choose the scenario.
_GIVEN = frozenset({"executor", "scenarios", "thresholds", "stages"})


def _script(kind: str, name: str = "", value: Any = None) -> str:
    more = {name: value} if name else {}
    params, options = (more, {}) if kind == "params" else ({}, more)
    if kind == "stage":
        options = {"stages": [{"duration": "5s", "target": 3, **more}]}
    elif kind == "threshold":
        options = {"thresholds": {"http_req_duration": [{"threshold": "p(95)<5", **more}]}}
    elif kind not in {"params", "options"}:
        extra = {"preAllocatedVUs": 5, "rate": 3, "stages": [{"target": 9}]} if kind.endswith("rate") else {}
        given = {key: each for key, each in extra.items() if key in _KINDS[kind] and key != name}
        options = {"scenarios": {"s": {"executor": kind, **given, **more}}}
    call = f"http.get('http://a/', {json.dumps(params)});"
    return f"{HEAD}export const options = {json.dumps(options)};\nexport default function () {{ {call} }}"


@pytest.mark.parametrize("kind", sorted(_KINDS))
def test_every_option_is_accounted_for(kind: str, import_notes: Importer) -> None:
    """Each option that k6 lists changes the workload or the findings of the import, causes a note, or is harmless."""
    base = import_notes("k6", _script(kind))
    silent = []
    for name in sorted(set(_KINDS[kind]) - _GIVEN):
        entry = OPTIONS[kind].get(name)
        if entry is not None and entry.fate is Fate.HARMLESS:
            assert entry.why
            continue
        found = [(value, import_notes("k6", _script(kind, name, value))) for value in _VALUES]
        changed = [
            value
            for value, each in found
            if (each.text, each.draft.findings, set(each.notes()))
            != (base.text, base.draft.findings, set(base.notes()))
        ]
        if entry is not None and entry.fate is Fate.NOTED:
            assert all(
                any(name in what for _, what, _ in each.notes())
                for value, each in found
                if json.dumps(value) not in entry.default
            )
        silent += [] if changed else [name]
    assert silent == []


_FUNCTIONS = [(module, name) for module, names in LISTS["functions"].items() for name in names]
# Arguments without which a call is not imported. All other calls get an empty text.
_ARGUMENTS = {
    "check": "r, { ok: (r) => r.status === 201 }",
    "group": "'page', () => { http.get('http://a/g'); }",
    "sleep": "2",
    "batch": "['http://a/b']",
    "SharedArray": "'rows', () => ['x', 'y']",
    "b64encode": "'a'",
    **dict.fromkeys(("get", "head", "post", "put", "patch", "del"), "'http://a/c'"),
    "request": "'PUT', 'http://a/c'",
}
# Properties that identify a user or an iteration, and parts of other calls. They cannot be called alone, so expressions
# with them are tested.
_VALUES_ONLY = {"scenario": "exec.scenario.iterationInTest", "vu": "exec.vu.idInTest", "url": "http.url`http://a/c`"}


@pytest.mark.parametrize("style", ["{ NAME }", "* as m", "m"])
@pytest.mark.parametrize(("module", "name"), _FUNCTIONS)
def test_every_function_is_accounted_for(module: str, name: str, style: str, import_notes: Importer) -> None:
    """Each function of k6's modules changes the workload or causes a note."""
    entry = OPTIONS["functions"][name]
    call = name if style == "{ NAME }" else f"m.{name}"
    new = "new " if name[0].isupper() else ""
    made = f"{new}{call}({_ARGUMENTS.get(name, chr(39) * 2)})"
    value = _VALUES_ONLY.get(name, made)
    if name == "SharedArray":
        value = f"{made}[Math.floor(Math.random() * 2)]"
    used = f"http.get('http://a/' + {value});" if entry.fate is Fate.CARRIED else f"{made};"
    if name in {"check", "group", "sleep", "fail", "batch", "get", "head", "post", "put", "patch", "del", "request"}:
        used = f"{made};" if name != "fail" else f"if (r.status !== 200) {call}('no');"
    if name == "file":
        used = f"http.post('http://a/', {{ f: {call}(open('x.bin'), 'x.bin') }});"
    head = f"{HEAD}import {style.replace('NAME', name)} from '{module}';\n"
    body = "export default function () {{ const r = http.get('http://a/'); {} }}"
    base, found = import_notes("k6", head + body.format("")), import_notes("k6", head + body.format(used))
    noted = [what for _, what, _ in set(found.notes()) - set(base.notes()) if name in what]
    if entry.fate is Fate.NOTED:
        assert noted or (style == "{ NAME }" and name == "open" and base.noted(f"module {module}"))
    else:
        assert found.text != base.text


@pytest.mark.parametrize("name", KEYS["Response"])
@pytest.mark.parametrize("use", ["http.get(`http://a/${r.NAME}`);", "check(r, { x: (r) => r.NAME === 'b' });"])
def test_every_part_of_an_answer_is_accounted_for(name: str, use: str, import_notes: Importer) -> None:
    body = HEAD + "export default function () { const r = http.get('http://a/'); USE }"
    base = import_notes("k6", body.replace("USE", ""))
    found = import_notes("k6", body.replace("USE", use.replace("NAME", name)))
    assert found.text != base.text or set(found.notes()) != set(base.notes())


@pytest.mark.parametrize(
    ("variant", "text"),
    [("", "YT8+"), (", 'url'", "YT8-"), (", 'rawurl'", "YT8-"), (", 'odd'", None)],
)
def test_variants_of_base64(variant: str, text: str | None, script: Callable[..., Any]) -> None:
    found = script(
        f"http.get('http://a/'); http.get(`http://a/x?v=${{encodeURIComponent(encoding.b64encode('a?>'{variant}))}}`);",
        "import encoding from 'k6/encoding';",
    )
    assert [step["query"]["v"] for step in found.requests()[1:]] == ([text] if text else [])
