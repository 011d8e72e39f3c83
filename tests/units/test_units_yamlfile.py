from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towtank import yamlfile
from towtank.errors import StudyError
from towtank.yamlfile import Node, merge, parse_value


def read(tmp_path: Path, text: str) -> yamlfile.Document:
    path = tmp_path / "file.yaml"
    path.write_text(text, "utf-8")
    return yamlfile.load(path)


def test_scalars_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    text = (
        "{a: yes, b: on, c: 017, d: 0x1F, e: 1_000, f: 1.5, g: 1e3, h: .5, i: true, j: ~, k: null, l: '5', "
        "m: 12:30, n: -3, o: 2026-11-20}"
    )
    assert read(tmp_path, text).data == {
        "a": "yes",
        "b": "on",
        "c": 17,
        "d": "0x1F",
        "e": "1_000",
        "f": 1.5,
        "g": 1000.0,
        "h": 0.5,
        "i": True,
        "j": None,
        "k": None,
        "l": "5",
        "m": "12:30",
        "n": -3,
        "o": "2026-11-20",
    }


def test_every_key_and_value_has_its_place(tmp_path: Path) -> None:
    document = read(tmp_path, "# comment\na: 1\nb:\n  - c: {d: x}\n  - |\n    text\n")
    root = document.root
    assert root.keys == {"a": (2, 1), "b": (3, 1)}
    inner = document.node(("b", 0, "c", "d"))
    assert (inner.line, inner.column, inner.value) == (4, 12, "x")
    assert document.node(("b", 0)).keys["c"] == (4, 5)
    assert document.node(("b", 1)).value == "text\n"
    assert yamlfile.where(inner.path) == "b[0].c.d"


def test_aliases_in_aliases_are_not_deeper_than_what_is_written_out(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    lines = [f"a0: &a0 {'[' * 40}1{']' * 40}"]
    lines += [f"a{step}: &a{step} {'[' * 40}*a{step - 1}{']' * 40}" for step in range(1, 30)]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(StudyError, match=r"2:[0-9]+: must be nested at most 50 deep with aliases written out"):
        yamlfile.load(path)


def test_aliases_are_copies_with_the_place_of_their_anchor(tmp_path: Path) -> None:
    document = read(tmp_path, "a: &x {k: [1, 2]}\nb: *x\n")
    assert document.data == {"a": {"k": [1, 2]}, "b": {"k": [1, 2]}}
    node = document.node(("b", "k", 1))
    assert (node.line, node.path) == (1, ("b", "k", 1))
    assert node is not document.node(("a", "k", 1))


def test_merging_is_by_key_and_keeps_places(tmp_path: Path) -> None:
    base = read(tmp_path, "a: {x: 1, y: 2}\nb: [1, 2]\n").root
    over = read(tmp_path, "\n\na: {y: 3}\nb: [9]\nc: new\n").root
    merged = merge(base, over)
    assert merged.plain() == {"a": {"x": 1, "y": 3}, "b": [9], "c": "new"}
    assert base.plain() == {"a": {"x": 1, "y": 2}, "b": [1, 2]}
    lines = {path: yamlfile.find(merged, path)[0].line for path in [("a", "x"), ("a", "y"), ("b", 0)]}
    assert lines == {("a", "x"): 1, ("a", "y"): 3, ("b", 0): 4}


def test_all_repeated_keys_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as raised:
        read(tmp_path, "a: 1\nb: {c: 1, c: 2}\na: 2\n")
    assert [(fault.line, fault.column, fault.where) for fault in raised.value.faults] == [
        (2, 11, "b.c"),
        (3, 1, "a"),
    ]


def test_values_of_the_command_line_are_yaml(tmp_path: Path) -> None:
    assert parse_value("[1, 2]", "<command line>").plain() == [1, 2]
    assert parse_value("10 s", "<command line>").plain() == "10 s"
    with pytest.raises(StudyError, match=r"^<command line>"):
        parse_value("[1,", "<command line>")


trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(alphabet="abc xyz:#-", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet="abcdef", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(alphabet="abcdef", min_size=1, max_size=4), trees, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_what_another_program_writes_as_json_is_read_unchanged(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, object]
) -> None:
    import json  # noqa: PLC0415

    assert read(tmp_path_factory.mktemp("json"), json.dumps(data)).data == data


@given(st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "file.yaml"
    path.write_bytes(raw)
    try:
        assert isinstance(yamlfile.load(path).root, Node)
    except StudyError as error:
        assert all(str(path) == fault.file for fault in error.faults)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@`, \n\t", max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_of_yaml_signs_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("text") / "file.yaml"
    path.write_text(text, "utf-8")
    try:
        assert isinstance(yamlfile.load(path).root, Node)
    except StudyError as error:
        assert all(str(path) == fault.file for fault in error.faults)
