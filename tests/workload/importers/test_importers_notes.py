"""Notes of imports that were wrong in a former version. Each note must describe how the imported workload behaves."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from jmeter_plans import element, plan, sampler

from towtank.secrets import redacted_text
from towtank.workload import importers
from towtank.workload.importers.draft import ImportNotes
from towtank.workload.importers.jmx import table as jmx_table

Importer = Callable[..., Any]
IMPORTERS = Path(importers.__file__).parent


def script(body: str) -> str:
    return f"import http from 'k6/http';\nlet token;\nexport default function () {{\n{body}\n}}\n"


ONCE = "is executed once by each user, before its rounds"


@pytest.mark.parametrize("condition", ["__ITER === 0", "__ITER == 0", "exec.vu.iterationInScenario === 0"])
def test_a_first_round_by_its_number_is_not_tried_again(condition: str, import_text: Importer) -> None:
    """k6 executes the branch only in iteration 0, even if it fails there. A workload does not know the number of the
    iteration, so a note is required.
    """
    body = f"if ({condition}) {{ http.get('http://a/login'); }} http.get('http://a/x');"
    found = import_text("k6", f"import exec from 'k6/execution';\n{script(body)}")
    assert [step["get"] for step in found.workload["transactions"]["script_once"]] == ["/login"]
    assert [why for _, what, why in found.notes() if what.startswith("if")] == [ONCE]
    assert not any("${iteration}" in why for _, _, why in found.notes())


def test_what_a_variable_waits_for_is_tried_again_by_k6(import_text: Importer) -> None:
    body = "if (!token) { token = http.get('http://a/login').json('t'); } http.get('http://a/x?t=' + token);"
    found = import_text("k6", script(body))
    assert [why for _, what, why in found.notes() if what.startswith("if")] == [
        f"{ONCE}; k6 repeats it in the next round if it failed"
    ]


def test_other_numbers_of_a_round_are_not_its_first(import_text: Importer) -> None:
    found = import_text("k6", script("if (__ITER === 3) { http.get('http://a/y'); } http.get('http://a/x');"))
    assert "script_once" not in found.workload["transactions"]
    assert found.noted("if (__ITER === 3)") == [4]


def test_no_callback_for_answers_is_noted(import_text: Importer) -> None:
    """If `responseCallback` is set to `null`, k6 counts no response as a failure. The workload still counts responses
    with an error status as failures, and a note must state this.
    """
    found = import_text("k6", script("http.get('http://a/x', { responseCallback: null });"))
    assert [why for _, what, why in found.notes() if "responseCallback" in what] == [
        "a status of 2xx or 3xx counts as success, unless `check` names other statuses"
    ]


def test_a_page_inside_a_controller_has_a_note_for_its_time(import_text: Importer) -> None:
    page = element("TransactionController", sampler("/x"), TransactionController__includeTimers="true")
    found = import_text("jmx", plan(element("LoopController", page, LoopController__loops="2")))
    (why,) = [why for _, what, why in found.notes() if what.startswith("TransactionController")]
    assert why == "a page cannot be inside another controller: its steps are kept, but its time is not measured"
    assert found.requests() == [{"get": "/x", "name": "/x", "on_failure": "go_on"}]


def test_a_login_of_another_kind_is_named_in_full(import_text: Importer) -> None:
    """In notes, text after `Bearer` is hidden as a token. So this note must not contain text that looks like one."""
    request = {"method": "GET", "url": "http://a/x", "headers": [{"name": "Authorization", "value": "Digest x"}]}
    entry = {"startedDateTime": "2026-01-01T10:00:00Z", "time": 1, "request": request, "response": {"status": 200}}
    found = import_text("har", json.dumps({"log": {"entries": [entry]}}), "s.har")
    assert [why for _, what, why in found.notes() if "Authorization" in what] == [
        "left out: only Basic authentication and bearer tokens are supported"
    ]


def test_cookies_of_a_command_are_left_out_with_a_note(import_text: Importer) -> None:
    found = import_text("curl", "curl -b k=v http://a/x", "commands.sh")
    (why,) = [why for _, what, why in found.notes() if "--cookie" in what]
    assert why.startswith("left out: ")
    assert "k=v" not in json.dumps(found.workload)


def test_a_condition_that_is_not_kept_has_no_note_that_it_is_asked(import_text: Importer) -> None:
    below = element("IfController", sampler("/x"), IfController__condition="${c} > 1", IfController__evaluateAll="true")
    found = import_text("jmx", plan(below))
    whys = [why for _, what, why in found.notes() if what.startswith("IfController")]
    assert [why for why in whys if why.startswith("the condition is evaluated")] == []
    assert any(why.endswith(": its steps are always executed") for why in whys)


def test_no_note_looks_like_a_secret() -> None:
    """Secrets are removed from notes before they are printed. So no text of an importer may look like a secret."""
    texts = [
        (path.name, node.lineno, node.value)
        for path in IMPORTERS.rglob("*.py")
        for node in _texts(ast.parse(path.read_text("utf-8")))
    ]
    assert len(texts) > 400
    assert [(name, line) for name, line, text in texts if redacted_text(text) != text] == []


def _texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield texts of several words that are not docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        if is_text and id(node) not in docstrings:
            yield node


NESTED = [kind for kind in jmx_table.ELEMENTS if kind.endswith(("Controller", "Control", "Timer", "Action", "RunTime"))]
OUTER = ("LoopController", "TransactionController", "IfController", "OnceOnlyController", "GenericController")


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("kind", NESTED)
def test_elements_inside_controllers_are_accounted_for(kind: str, outer: str, import_notes: Importer) -> None:
    """Inside any other element, each property must be read or noted. Otherwise the importer raises an exception."""
    below = "" if kind.endswith("Timer") else sampler("/x")
    for name in jmx_table.ELEMENTS[kind]:
        for value in ("true", "2"):
            inner = element(kind, below, **{name.replace(".", "__"): value})
            found = import_notes("jmx", plan(element(outer, inner + sampler("/y")) + sampler("/z")))
            assert "/z" in found.text


@pytest.mark.parametrize("where", ["true", "url", "false"])
@pytest.mark.parametrize("pattern", ["a(.)(.)", "X-A: (.+)", "(?<n"])
def test_an_extractor_that_is_left_out_is_noted_as_a_whole(where: str, pattern: str, import_text: Importer) -> None:
    """An extractor that cannot be imported is noted as a whole. Its template, number and default have no notes of their
    own.
    """
    given = {
        "refname": "v",
        "regex": pattern,
        "template": "$1$",
        "match_number": "1",
        "useHeaders": where,
        "default": "D",
    }
    properties = {f"RegexExtractor__{name}": escape(text) for name, text in given.items()}
    found = import_text("jmx", plan(sampler("/x", element("RegexExtractor", **properties))))
    kept = "extract" in found.requests()[0]
    assert len([what for _, what, _ in found.notes() if what.startswith("RegexExtractor")]) == (0 if kept else 1)


@pytest.mark.parametrize("index", ["__VU % rows.length", "exec.scenario.iterationInTest"])
def test_rows_by_number_are_dealt_to_whoever_draws(index: str, import_text: Importer) -> None:
    """In k6 the index gives each user or iteration a certain row of the data. The workload only keeps the order of the
    rows, and a note must state this.
    """
    head = "import { SharedArray } from 'k6/data';\nimport exec from 'k6/execution';\n"
    rows = "const rows = new SharedArray('u', () => [{id: 'a'}, {id: 'b'}]);\n"
    found = import_text("k6", head + rows + script(f"const r = rows[{index}]; http.get('http://a/' + r.id);"))
    assert found.workload["data"]["u"]["order"] == "sequential"
    (why,) = [why for _, what, why in found.notes() if what.startswith("rows[")]
    assert why == "rows are drawn in order: each draw gets the next row, regardless of the user"


def test_the_time_of_a_page_begins_after_its_first_pause(import_text: Importer) -> None:
    """JMeter may count the timer of the first request as part of the time of the page (`includeTimers`).

    The workload does not, so a note must state this if JMeter does.
    """
    timer = element("ConstantTimer", ConstantTimer__delay="500")
    for included, said in (("true", True), ("false", False)):
        page = element("TransactionController", sampler("/a", timer), TransactionController__includeTimers=included)
        found = import_text("jmx", plan(page))
        steps = found.workload["transactions"]["g"]
        assert [next(iter(step)) for step in steps] == ["think", "page"]
        assert bool(found.noted("TransactionController")) == said


def test_notes_are_in_the_order_of_their_first_places() -> None:
    notes = ImportNotes("x")
    for line, what in ((9, "late"), (5, "middle"), (2, "late"), (5, "early")):
        notes.add((line, 0), what, "left out")
    assert [note.what for note in notes.sorted()] == ["late", "early", "middle"]
