from __future__ import annotations

import doctest
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towtank import yamlfile
from towtank.errors import StudyError
from towtank.workload import templates
from towtank.workload.importers import jsonfile, xmlfile
from towtank.workload.importers.draft import literal, path_and_query, weights
from towtank.workload.importers.emitting import emit

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory: Any, document: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("emit") / "file.yaml"
    path.write_text(emit(document), encoding="utf-8")
    assert yamlfile.load(path).data == document


@pytest.mark.parametrize(
    "text", ["1", "017", "1e5", ".5", "true", "~", "null", "- a", "a: b", "a #b", "'", '"', "${x}", "1 s"]
)
def test_texts_that_look_like_something_else_stay_texts(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(emit({"a": text, "b": [text], "c": {text: text}}), encoding="utf-8")
    assert yamlfile.load(path).data == {"a": text, "b": [text], "c": {text: text}}


@settings(deadline=None, max_examples=200)
@given(VALUES)
def test_json_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
        assert jsonfile.parse(text, "x").plain() == value


def test_places_of_json() -> None:
    node = jsonfile.parse('{\n  "a": [1,\n    {"b": "x"}]\n}', "x")
    inner = node.value["a"].value[1]
    assert (inner.line, inner.column, inner.keys["b"], inner.value["b"].column) == (3, 5, (3, 6), 11)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", '{"a" 1}', "{1: 2}", '"a', "01", "[1 2]", "nul", "1 2", '"\t"', "-", "+1"]
)
def test_what_is_no_json_has_a_place(text: str) -> None:
    with pytest.raises(StudyError) as refused:
        jsonfile.parse(text, "x.json")
    (fault,) = refused.value.faults
    assert fault.line >= 1
    assert fault.column >= 1
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


def test_xml_has_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_text('<?xml version="1.0"?>\n<a>\n <b c="d">e&amp;f</b></a>')
    root = xmlfile.load(path)
    (b,) = root.children
    assert (root.tag, b.place, b.attributes, b.text) == ("a", (3, 2), {"c": "d"}, "e&f")


@settings(deadline=None)
@given(TEXTS)
def test_a_literal_is_a_template_of_itself(text: str) -> None:
    assert "".join(str(part) for part in templates.parse(literal(text))) == text


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(max_size=3), st.floats(0.001, 1e6), min_size=1, max_size=60))
def test_weights_always_add_to_100(counts: dict[str, float]) -> None:
    assert sum(weights(counts).values()) == pytest.approx(100, abs=1e-7)


@pytest.mark.parametrize(
    ("url", "path", "query"),
    [
        ("http://a", "/", []),
        ("http://a/b%20c?d=e%26f&g=", "/b%20c", [("d", "e&f"), ("g", "")]),
        ("http://a/b c?d", "/b%20c?d", None),
        ("http://a/?d=1&d=2", "/?d=1&d=2", None),
    ],
)
def test_urls(url: str, path: str, query: list[tuple[str, str]] | None) -> None:
    assert path_and_query(url) == (path, query)


@pytest.mark.parametrize("module", ["draft", "emitting", "jsonfile", "accesslog.paths", "k6.requests"])
def test_examples_in_docstrings(module: str) -> None:
    found = doctest.testmod(import_module(f"towtank.workload.importers.{module}"))
    assert found.attempted > 0
    assert found.failed == 0
