"""Conditions in k6 scripts: some end an iteration, some only return from a function, and some hold only in the first
iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Importer = Callable[..., Any]
HEAD = (
    "import http from 'k6/http';\nimport { check, group, sleep, fail } from 'k6';\n"
    "const visit = (path) => http.get('http://a' + path);\nconst is200 = { ok: (r) => r.status === 200 };\n"
    "const good = (r) => check(r, { ok: (r) => r.status === 200 });\n"
)
LEAVES = "leaves only its function in k6; in the workload, a failed request ends the whole round"
LATER = "is tested after other steps; in the workload, a failed request ends the round before these steps"
UNKNOWN = "left out: its condition is not known before the run"


@pytest.fixture
def script(import_text: Importer) -> Callable[[str], Any]:
    """Import a k6 script whose default function has the given body."""

    def run(body: str) -> Any:
        return import_text("k6", f"{HEAD}export default function () {{\n{body}\n}}\n", "script.js")

    return run


def course(found: Any) -> list[tuple[str, str | None]]:
    return [(step["get"], step.get("on_failure")) for step in found.requests()]


def reasons(found: Any) -> list[str]:
    return [why for _, what, why in found.notes() if what != "redirects" and "the step counts as failed" not in why]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("group('g', () => { if (!good(visit('/1'))) return; visit('/2'); });\nvisit('/3');", [LEAVES]),
        ("group('g', () => { if (!good(visit('/1'))) return; visit('/2'); });", []),
        ("group('g', () => { if (!good(visit('/1'))) fail('no'); visit('/2'); });\nvisit('/3');", []),
        ("const f = () => { if (visit('/1').status !== 200) return null; };\nf();\nvisit('/2');", [LEAVES]),
        ("const f = () => { if (!good(visit('/1'))) return; };\nfor (let i = 0; i < 2; i++) { f(); }", [LEAVES]),
        ("const f = () => { if (!good(visit('/1'))) return; };\nf();\nsleep(1);", [LEAVES]),
    ],
)
def test_a_return_from_an_inner_function_is_noted_if_the_round_goes_on(
    body: str, expected: list[str], script: Callable[[str], Any]
) -> None:
    found = script(body)
    assert reasons(found) == expected
    assert course(found)[0] == ("/1", None)


@pytest.mark.parametrize(
    ("body", "later"),
    [
        ("const r = visit('/1');\nif (!good(r)) return;", False),
        ("const r = visit('/1');\nvisit('/2');\nif (!good(r)) return;", True),
        ("const ok = good(visit('/1'));\nsleep(1);\nif (!ok) return;", True),
        ("if (!(good(visit('/1')) && good(visit('/2')))) return;", False),
        ("const a = visit('/1');\nconst b = visit('/2');\nif (!(good(a) && good(b))) return;", True),
        ("const r = visit('/1');\nvisit('/2');\nif (r.status !== 200) return;", True),
        ("const r = visit('/1');\nvisit('/2');\ngood(r) || fail('no');", True),
    ],
)
def test_a_test_behind_other_steps_is_noted(body: str, later: bool, script: Callable[[str], Any]) -> None:
    found = script(f"{body}\nvisit('/3');")
    assert reasons(found) == ([LATER] if later else [])
    assert course(found)[0] == ("/1", None)


def test_requests_of_a_condition_are_made_once(script: Callable[[str], Any]) -> None:
    found = script(
        "const login = () => good(visit('/1'));\nif (!login()) return;\nif (visit('/2').status > 399) return;"
    )
    assert course(found) == [("/1", None), ("/2", None)]
    assert [step["check"] for step in found.requests()] == [{"status": 200}, {"status": ["2xx", "3xx"]}]


@pytest.mark.parametrize(
    ("test", "status"),
    [
        ("r.status >= 400", ["2xx", "3xx"]),
        ("r.status > 399", ["2xx", "3xx"]),
        ("r.status >= 300", "2xx"),
        ("!(r.status < 300)", "2xx"),
        ("!(r.status === 201)", 201),
    ],
)
def test_bounds_of_a_status_that_end_the_round(test: str, status: Any, script: Callable[[str], Any]) -> None:
    found = script(f"const r = visit('/1');\nif ({test}) {{ console.log('no'); return; }}\nvisit('/2');")
    assert found.requests()[0]["check"] == {"status": status}
    assert (course(found), reasons(found)) == ([("/1", None), ("/2", "go_on")], [])


def test_a_branch_that_leaves_in_its_else_goes_on_in_the_other(script: Callable[[str], Any]) -> None:
    found = script("if (good(visit('/1'))) { visit('/2'); } else { return; }\nvisit('/3');")
    assert (course(found), reasons(found)) == ([("/1", None), ("/2", "go_on"), ("/3", "go_on")], [])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("if (good(visit('/1'))) return;", "left out: it runs only after a successful response"),
        ("if (!good(visit('/1'))) { visit('/2'); }", "left out: it runs only after a failed response"),
        ("if (visit('/1').status === 200) return;", UNKNOWN),
        ("if (visit('/1').status === 200) { visit('/2'); } else { visit('/3'); }", UNKNOWN),
        ("if (visit('/1').json('id') === 7) { visit('/2'); }", UNKNOWN),
        (
            "visit('/1').status === 200 && visit('/2');",
            "left out: visit('/1').status === 200 is not known before the run",
        ),
    ],
)
def test_what_depends_on_an_answer_is_noted_and_left_out(body: str, why: str, script: Callable[[str], Any]) -> None:
    found = script(f"{body}\nvisit('/4');")
    assert reasons(found) == [why]
    assert course(found) == [("/1", "go_on"), ("/4", "go_on")]


@pytest.mark.parametrize(
    "branch",
    ["{ visit('/report'); return; }", "return visit('/report');", "{ visit('/report'); fail('no'); }"],
)
def test_requests_before_a_return_are_noted(branch: str, script: Callable[[str], Any]) -> None:
    found = script(f"if (!good(visit('/1'))) {branch}\nvisit('/2');")
    assert reasons(found) == ["steps before the end of the round are left out"]
    assert course(found) == [("/1", None), ("/2", "go_on")]


def test_a_loop_that_reads_its_counter_is_written_out(script: Callable[[str], Any]) -> None:
    found = script(
        "for (let n = 1; n <= 2; n++) { visit(`/page/${n}`); }\nfor (let n = 0; n < 2; n++) { visit('/x'); }"
    )
    assert [step["get"] for step in found.requests()] == ["/page/1", "/page/2", "/x"]
    assert found.workload["transactions"]["script"][2]["loop"] == 2


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("{ b: '2', a: 'x y' }", {"form": {"a": "x y", "b": "2"}}),
        ("{ b: ['1', 'x y&'], a: null }", {"body": "a=%3Cnil%3E&b=1&b=x%20y%26"}),
        ("{ b: [t, 'x'], a: '${t}' }", {"body": "a=%24%7Bt%7D&b=${t|url}&b=x"}),
    ],
)
def test_fields_of_forms_are_in_the_order_of_their_names(
    form: str, expected: dict[str, Any], script: Callable[[str], Any]
) -> None:
    found = script(f"const t = visit('/1').json('t');\nhttp.post('http://a/', {form});")
    step = found.requests()[1]
    assert {key: step[key] for key in expected} == expected
    assert list(step.get("form", {})) == sorted(step.get("form", {}))
    assert ("headers" in step) == ("body" in expected)


def test_a_text_without_a_type_is_noted(script: Callable[[str], Any]) -> None:
    typed = "{ headers: { 'Content-Type': 'text/plain' } }"
    assert script("http.post('http://a/', 'text');").noted("header Content-Type")
    assert not script(f"http.post('http://a/', 'text', {typed});").noted("header Content-Type")


def test_functions_are_known_by_the_names_of_their_modules(import_text: Importer) -> None:
    text = (
        "import * as k6 from 'k6';\nimport h from 'k6/http';\nimport { vu } from 'k6/execution';\n"
        "export default function () {\n  const r = h.get(`http://a/${vu.idInTest}`);\n"
        "  if (!k6.check(r, { ok: (r) => r.status === 200 })) k6.fail('no');\n  k6.sleep(2);\n}\n"
    )
    found = import_text("k6", text, "script.js")
    assert found.workload["transactions"]["script"] == [
        {"get": "/${user.number}", "check": {"status": 200}},
        {"think": "2 s"},
    ]
