"""Random values in k6 scripts: if the script generates a value once, all steps that use it must get the same value."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from towtank.workload.importers import ImportOptions, read_import
from towtank.workload.importers.k6 import script as conversion

Importer = Callable[..., Any]

HEAD = (
    "import http from 'k6/http';\nimport { check, group, sleep } from 'k6';\n"
    "import { SharedArray } from 'k6/data';\n"
    "import { randomIntBetween, randomString, uuidv4 } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';\n"
    "const users = new SharedArray('users', () => [{ n: 'a' }, { n: 'b' }]);\n"
    "export const options = { noCookiesReset: true, maxRedirects: 0 };\n"
)
AGAIN = "is generated once in k6; the workload generates it again for each kind of use"
ASKED = "depends on a new random number; in k6 it depends on the number that was generated before"


@pytest.fixture
def script(import_text: Importer) -> Callable[..., Any]:
    """Import a k6 script whose default function has the given body, in which `visit(path)` makes a request."""

    def run(body: str, before: str = "") -> Any:
        visit = "const visit = (path) => { http.get('http://a' + path); };\n"
        text = f"{HEAD}{visit}{before}\nexport default function () {{\n{body}\n}}\n"
        return import_text("k6", text, "script.js")

    return run


def steps_of(found: Any) -> list[dict[str, Any]]:
    """Return the steps of the imported function, without the keys that let a user continue after a failure, as
    k6 does.
    """
    steps: list[dict[str, Any]] = found.workload["transactions"]["script"]
    return [{key: value for key, value in step.items() if key != "on_failure"} for step in steps]


def reasons(found: Any) -> list[str]:
    return [why for _, _, why in found.notes() if why in {AGAIN, ASKED}]


@pytest.mark.parametrize(
    ("value", "template", "name"),
    [
        ("randomIntBetween(1, 5)", "${random.int(1, 5)}", "x"),
        ("Math.floor(Math.random() * 10) + 1", "${random.int(1, 10)}", "x"),
        ("uuidv4()", "${uuid}", "x"),
        ("randomString(8)", "${random.text(8)}", "x"),
        ("Date.now()", "${now.ms}", "x"),
        ("`u-${uuidv4()}`", "${uuid}", "x"),
    ],
)
def test_a_value_that_is_read_twice_is_drawn_once(
    value: str, template: str, name: str, script: Callable[..., Any]
) -> None:
    found = script(f"const x = {value};\nvisit(`/1/${{x}}`);\nhttp.post('http://a/2', {{ x: x }});")
    place = "u-${x}" if value.startswith("`") else "${x}"
    assert steps_of(found) == [
        {"set": {name: template}},
        {"get": f"/1/{place}"},
        {"post": "/2", "form": {"x": place}},
    ]
    assert reasons(found) == []


def test_a_value_that_is_read_once_is_written_in_its_place(script: Callable[..., Any]) -> None:
    body = "const x = randomIntBetween(1, 5), t = Date.now(), u = uuidv4();\nvisit(`/${x}?t=${t}`);\nvisit('/' + u);"
    assert steps_of(script(body)) == [
        {"get": "/${random.int(1, 5)}", "query": {"t": "${now.ms}"}},
        {"get": "/${uuid}"},
    ]


def test_a_time_is_that_of_its_draw(script: Callable[..., Any]) -> None:
    steps = steps_of(script("const t = Date.now();\nsleep(1);\nvisit('/' + t);"))
    assert steps == [{"set": {"t": "${now.ms}"}}, {"think": "1 s"}, {"get": "/${t}"}]


def test_a_value_that_a_loop_reads_is_drawn_before_it(script: Callable[..., Any]) -> None:
    body = "const x = randomIntBetween(1, 5);\nfor (let i = 0; i < 3; i++) { visit(`/${x}/${uuidv4()}`); }"
    drawn, loop = steps_of(script(body))
    assert drawn == {"set": {"x": "${random.int(1, 5)}"}}
    assert [step["get"] for step in loop["steps"]] == ["/${x}/${uuid}"]


def test_values_of_the_script_are_drawn_once_by_each_user(script: Callable[..., Any]) -> None:
    """k6 executes statements outside of functions once for each user. So each user has random values of its own."""
    before = "const me = uuidv4();\nconst own = users[Math.floor(Math.random() * users.length)];\nconst no = uuidv4();"
    found = script("visit('/' + me);\nvisit('/' + own.n);\nvisit('/' + me);", before)
    assert found.workload["transactions"]["script_once"] == [{"set": {"me": "${uuid}"}}, {"draw": "users"}]
    assert found.workload["groups"]["users"]["once"] == ["script_once"]
    assert [step["get"] for step in steps_of(found)] == ["/${me}", "/${users.n}", "/${me}"]


def test_two_rows_of_one_pool_are_two_rows(script: Callable[..., Any]) -> None:
    pick = "users[Math.floor(Math.random() * users.length)]"
    found = script(f"const a = {pick}, b = {pick};\nvisit(`/${{a.n}}/${{b.n}}`);\nconst c = {pick};\nvisit('/' + c.n);")
    assert steps_of(found) == [
        {"draw": "users"},
        {"draw": "users", "as": "users_2"},
        {"get": "/${users.n}/${users_2.n}"},
        {"draw": "users"},
        {"get": "/${users.n}"},
    ]


def test_a_row_that_a_loop_reads_is_not_drawn_over_in_it(script: Callable[..., Any]) -> None:
    pick = "users[Math.floor(Math.random() * users.length)]"
    found = script(
        f"const a = {pick};\nfor (let i = 0; i < 3; i++) {{ visit('/' + a.n); const b = {pick}; visit('/' + b.n); }}"
    )
    first, loop = steps_of(found)
    assert first == {"draw": "users"}
    assert loop["steps"][1] == {"draw": "users", "as": "users_2"}
    assert [step["get"] for step in loop["steps"] if "get" in step] == ["/${users.n}", "/${users_2.n}"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The condition holds for a range of whole numbers. In the branch, the random value is from this range.
        ("if (x <= 2) { visit('/' + x); } else { visit(`/more/${x}`); }", []),
        ("if (x <= 2) { visit('/' + x); }\nvisit('/' + x);", [AGAIN]),
        ("visit('/' + x);\nif (x <= 2) { visit('/a'); }", [ASKED]),
        ("visit('/' + x);\nvisit('/' + (x + 1));", [AGAIN]),
        ("sleep(x);\nvisit('/' + x);", [AGAIN]),
        ("sleep(x);\nsleep(x);", [AGAIN]),
        ("sleep(x);", []),
    ],
)
def test_other_uses_of_a_number_are_noted(body: str, expected: list[str], script: Callable[..., Any]) -> None:
    found = script(f"const x = randomIntBetween(1, 5);\n{body}\nvisit('/end');")
    assert reasons(found) == expected


def test_a_branch_sends_a_number_for_which_its_condition_holds(script: Callable[..., Any]) -> None:
    small, large = "{ visit('/' + x); visit('/' + x); }", "{ visit(`/more/${x}`); }"
    drawn, branch = steps_of(script(f"const x = randomIntBetween(1, 5);\nif (x <= 2) {small} else {large}"))
    assert drawn == {"set": {"x": "${random.int(1, 2)}"}}
    assert branch["branch"] == "40 %"
    assert [step["get"] for step in branch["then"]] == ["/${x}", "/${x}"]
    assert [step["get"] for step in branch["else"]] == ["/more/${random.int(3, 5)}"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (p < .5) visit('/a');\nif (q < .3) visit('/b');\nif (p < .5) visit('/c');", [ASKED]),
        ("if (q < .3) { if (p < .5) visit('/a'); }\nif (p < .5) visit('/c');", [ASKED]),
        ("if (q < .3) visit('/b'); else { if (p < .5) visit('/a'); }\nif (p < .5) visit('/c');", [ASKED]),
        ("if (p < .5) visit('/a');\nif (q < .3) { if (p < .5) visit('/c'); }", [ASKED]),
        ("if (q < .3) { if (p < .5) visit('/a'); } else { if (p < .5) visit('/c'); }", []),
        ("if (p < .5) { if (p < .2) visit('/a'); else visit('/b'); }", []),
        ("if (p < .5) { if (p < .2) visit('/a'); if (p < .1) visit('/b'); }", [ASKED]),
        ("for (let i = 0; i < 3; i++) { if (p < .5) visit('/a'); }", [ASKED]),
        ("for (let i = 0; i < 2; i++) { if (p < .5) visit('/' + i); }", [ASKED]),
        ("for (let i = 0; i < 3; i++) { const r = Math.random(); if (r < .5) visit('/a'); }", []),
        ("for (let i = 0; i < 3; i++) { if (Math.random() < .5) visit('/a'); }", []),
        ("switch (n) { case 1: if (p < .5) visit('/a'); break; }\nif (p < .5) visit('/c');", [ASKED]),
        ("if (p < .5) { visit('/a'); return; }\nif (p < .8) visit('/b'); else visit('/c');", []),
    ],
)
def test_a_number_that_is_asked_again_is_noted(body: str, expected: list[str], script: Callable[..., Any]) -> None:
    found = script(f"const p = Math.random(), q = Math.random(), n = randomIntBetween(1, 2);\n{body}\nvisit('/end');")
    assert reasons(found) == expected


INDEX = "const i = Math.floor(Math.random() * users.length);"


def test_one_random_index_gives_one_row(script: Callable[..., Any]) -> None:
    found = script(f"{INDEX} http.post('http://a/l', {{u: users[i].n, p: users[i].n}});")
    draws = [step for step in steps_of(found) if "draw" in step]
    assert len(draws) == 1
    form = next(step for step in steps_of(found) if "post" in step)["form"]
    assert form["u"] == form["p"] == "${users.n}"
    assert not [why for _, _, why in found.notes() if "drawn" in why]


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (f"{INDEX} visit('/' + i + '/' + users[i].n);", AGAIN),
        (f"{INDEX} visit('/' + users[i].n + '/' + others[i].n);", AGAIN),
        ("visit('/' + users[Math.floor(Math.random() * 3)].n);", "chooses among 3 of the 2 rows in k6"),
        ("visit('/' + many[randomIntBetween(0, 1)].n);", "chooses among 2 of the 3 rows in k6"),
    ],
)
def test_an_index_that_is_not_only_the_choice_of_one_row_is_noted(
    script: Callable[..., Any], body: str, note: str
) -> None:
    others = "const others = [{ n: 'x' }, { n: 'y' }];\nconst many = [{ n: 1 }, { n: 2 }, { n: 3 }];\n"
    assert any(note in why for _, _, why in script(body, others).notes())


def test_a_row_that_a_branch_draws_is_drawn_again_after_it(script: Callable[..., Any]) -> None:
    found = script(f"{INDEX} if (Math.random() < 0.5) {{ visit('/a/' + users[i].n); }} visit('/b/' + users[i].n);")
    assert any(AGAIN in why for _, _, why in found.notes())


def test_the_text_of_a_place_is_text(script: Callable[..., Any]) -> None:
    found = script("visit('/${draw__7}/' + randomIntBetween(1, 5) + '/${users__row9.n}');")
    assert any("draw__7" in str(step) for step in steps_of(found))


def test_characters_of_a_random_text_are_noted(script: Callable[..., Any]) -> None:
    found = script("const x = randomString(8, 'abcdef');\nconst y = randomString(8);\nvisit(`/${x}/${y}`);")
    (note,) = [note for note in found.notes() if "characters" in note[2]]
    assert note[1:] == (
        "randomString(8, 'abcdef')",
        "consists of letters and digits, not of the characters of the script",
    )
    assert steps_of(found)[-1]["get"] == "/${random.text(8)}/${random.text(8)}"


def calls_of(run: Callable[[], Any]) -> int:
    """Return the number of calls of Python functions. Calls of functions written in C are not counted."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("draw", "use"),
    [
        ("const x{} = randomIntBetween(1, 9);", "http.get(`http://a/${{x{}}}`);"),
        ("", "http.get(`http://a/${{x + {}}}`);"),
    ],
    ids=["many draws", "one draw in many ways"],
)
def test_the_work_for_draws_grows_with_their_number(draw: str, use: str, tmp_path: Path) -> None:
    def calls(count: int) -> int:
        lines = ["const x = randomIntBetween(1, 9);"]
        lines += [form.format(number) for form in (draw, use) for number in range(count)]
        path = tmp_path / "script.js"
        path.write_text(f"{HEAD}export default function () {{\n" + "\n".join(lines) + "\n}\n", "utf-8")
        return calls_of(lambda: read_import("k6", path, ImportOptions((), tmp_path)))

    calls(1)  # The first import in a process also loads modules, so it is not counted.
    assert calls(400) < 6 * calls(100)


def test_statements_that_are_converted_again_and_again_are_left_out_and_noted(
    script: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the largest allowed number of converted statements, here 200, the rest is left out, and a note states this.

    A case without `break` also executes the statements of the next case. So ten nested cases would make 2^10 requests.
    """
    monkeypatch.setattr(conversion, "_CONVERSIONS_AT_MOST", 200)
    body = "visit('/inner');"
    for level in range(10):
        body = f"switch (randomIntBetween(1, 2)) {{ case 1: visit('/{level}'); case 2: {body} }}"
    found = script(body)
    assert len(found.requests()) < 200
    assert any("more than 200 statements" in why for _, _, why in found.notes())
