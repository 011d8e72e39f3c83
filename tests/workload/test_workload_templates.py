from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.workload.expressions import capturing_regex, json_path, regex
from towtank.workload.templates import Export, Function, Variable, parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("plain", ["plain"]),
        ("${a}", [Variable("a")]),
        ("x${ pool.column | url }y", ["x", Variable("pool.column", "url"), "y"]),
        ("${a}${b}", [Variable("a"), Variable("b")]),
        ("$${a} $$ $", ["${a} $$ $"]),
        ("{} $a ${uuid}", ["{} $a ", Function("uuid")]),
        (
            "${user.number}${iteration}${now.ms}",
            [Function("user"), Function("iteration"), Function("now_ms")],
        ),
        ("${random.int(-3, 6)}", [Function("random_int", (-3, 6))]),
        ("${random.text(12)}", [Function("random_text", (12,))]),
        ("${system.content.documents_csv}", [Export("content", "documents_csv")]),
    ],
)
def test_templates_are_taken_apart(text: str, parts: list[object]) -> None:
    assert parse(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "${",
        "${a",
        "${}",
        "${a b}",
        "${a.b.c}",
        "${a|rot13}",
        "${random.int(6,1)}",
        "${random.int(1)}",
        "${random.text(0)}",
        "${random.real(1)}",
        "${system.content}",
        "${1a}",
        "${a|}",
        "${a|url|json}",
    ],
)
def test_what_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^must "):
        parse(text)


@given(st.text(alphabet="${}|a.b(1,2)", max_size=20))
def test_any_text_is_taken_apart_or_refused(text: str) -> None:
    try:
        parts = parse(text)
    except ValueError as error:
        assert str(error).startswith("must ")
    else:
        assert all(parts)
        assert not any(isinstance(a, str) and isinstance(b, str) for a, b in itertools.pairwise(parts))


@given(st.text(max_size=30))
def test_escaped_text_comes_out_as_it_was(text: str) -> None:
    # A dollar directly before a placeholder would be read as the escape sequence `$${`, so such texts are skipped.
    if "$${" in text:
        return
    assert "".join(map(str, parse(text.replace("${", "$${")))) == text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("$", "$"),
        ("$.a.b", "$.a.b"),
        ("$['a b'][0][-1][*]..c", "$['a b'][0][-1][*]..c"),
        ('$["cmis:objectId"]', "$['cmis:objectId']"),
        ("$.results[*].succinctProperties['cmis:name']", "$.results[*].succinctProperties['cmis:name']"),
    ],
)
def test_json_paths_are_written_one_way(written: str, read: str) -> None:
    assert json_path(written) == read


@pytest.mark.parametrize(
    "path", ["", "a", "$a", "$.", "$[", "$[a]", "$[?(@.a)]", "$..", "$.a[1:2]", "$['a'", '$["it\'s"]']
)
def test_what_is_no_json_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"^must "):
        json_path(path)


def test_regular_expressions() -> None:
    assert regex("id=(\\d+)") == "id=(\\d+)"
    assert capturing_regex("(?:a|b)(c)") == "(?:a|b)(c)"
    for pattern in ("(", "[a", "(?=a)", "(?<!a)b", "(a)\\1", "a{2,1}"):
        with pytest.raises(ValueError, match=r"^must be a regular expression"):
            regex(pattern)
    with pytest.raises(ValueError, match="one group"):
        capturing_regex("(a)(b)")
