"""Workloads that `validate` refuses because the engine cannot run them. The message states the line and a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.errors import Fault, StudyError
from towtank.workload import load_workload

HEAD = "schema: towtank/workload/1\nname: w\n"
GROUPS = "groups:\n  g: {loop: {mix: {t: 1}}}\n"


def faults(folder: Path, text: str) -> list[Fault]:
    path = folder / "w.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        load_workload(path)
    except StudyError as error:
        return list(error.faults)
    return []


def of_step(folder: Path, step: str) -> Fault:
    """Return the only fault of a workload whose single step is in line 5."""
    (found,) = faults(folder, f"{HEAD}transactions:\n  t:\n    - {step}\n{GROUPS}")
    assert found.line == 5
    return found


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{get: /, headers: {⟦Connection: close}}", "must not be Connection: use defaults.connections"),
        ("{get: /, headers: {⟦transfer-encoding: x}}", "must not be transfer-encoding: the engine sends every body"),
        ("{post: /, headers: {⟦Content-Length: 1}}", "must not be Content-Length: the engine sends the length"),
        ("{get: /, headers: {⟦a b: x}}", "must be the name of a header"),
        ('{get: /, headers: {A: ⟦"x\\ny"}}', "must be a text on one line"),
        ("{get: /, check: {header: {⟦a b: x}}}", "must be the name of a header"),
        ("⟦{get: 'http://a.example/x'}", "define another host as a target, and name it with target: NAME"),
        ("⟦{get: '${uuid}/a'}", "must be a path that begins with /"),
        (r"⟦{get: '\a'}", "must be a path that begins with /"),
        ("⟦{get: '/$${a b}'}", "without blanks"),
        ("⟦{get: '/a#b'}", "without a fragment"),
        ("⟦{get: '/c#${uuid}'}", "write %23 if the # belongs to the path"),
        ("{post: /, multipart: [⟦{name: a}]}", "must have one of value, file and generated"),
        ("{post: /, multipart: [⟦{value: a}]}", "must have the key 'name'"),
        ("{post: /, multipart: [{name: a, file: ⟦nowhere.bin}]}", "must be a file that exists"),
        ("{if: ⟦'${x} > 0', then: [{get: /}]}", "values are not compared"),
        ("{get: /, timeout: ⟦200 d}", "must be at most 2778 h, got 4800 h"),
        ("{get: /, check: {size: ⟦99999999 TiB}}", "must be less than 8388608 TiB"),
        ('{post: /, multipart: {a: {value: x, content_type: ⟦"a\\r\\nB: c"}}}', "must be a text on one line"),
    ],
)
def test_a_step_is_refused_with_its_place(tmp_path: Path, step: str, message: str) -> None:
    found = of_step(tmp_path, step.replace("⟦", ""))
    assert message in found.message
    assert found.column == len("    - ") + 1 + step.index("⟦")


def test_a_backslash_within_a_path_is_allowed(tmp_path: Path) -> None:
    """The engine sends a backslash in a path as `/`, as browsers do.

    But it refuses a path that begins with a backslash.
    """
    assert faults(tmp_path, f"{HEAD}transactions:\n  t:\n    - {{get: '/a\\b?q=\\c'}}\n{GROUPS}") == []


def test_default_headers_are_checked_like_other_headers(tmp_path: Path) -> None:
    text = f"{HEAD}defaults:\n  headers:\n    Connection: close\ntransactions:\n  t: [{{get: /}}]\n{GROUPS}"
    (found,) = faults(tmp_path, text)
    assert (found.line, found.column) == (5, 5)
    assert "use defaults.connections" in found.message


def test_a_list_that_another_group_fills_is_refused(tmp_path: Path) -> None:
    text = (
        f"{HEAD}transactions:\n"
        "  make: [{push: a, to: made}]\n"
        "  take:\n    - {pop: made, into: x}\n    - {get: '/${x}'}\n"
        "groups:\n"
        "  makers: {share: 50 %, loop: {mix: {make: 1}}}\n"
        "  takers: {share: 50 %, loop: {mix: {take: 1}}}\n"
    )
    (found,) = faults(tmp_path, text)
    assert (found.line, found.where) == (6, "transactions.take[0].pop")
    assert "users do not share lists" in found.message
    assert faults(tmp_path, text.replace("mix: {take: 1}", "mix: {take: 1, make: 1}")) == []


@pytest.mark.parametrize("step", ["{post: /, file: order.json}", "{post: /, multipart: {a: {file: order.json}}}"])
def test_places_in_a_file_that_is_sent_are_refused(tmp_path: Path, step: str) -> None:
    sent = tmp_path / "order.json"
    sent.write_text('{"id": "${uuid}"}', encoding="utf-8")
    assert "got ${uuid} in" in of_step(tmp_path, step).message
    for harmless in ("`${price}`", "$${uuid}", "${", "${unknown.column}"):
        sent.write_text(harmless, encoding="utf-8")
        assert faults(tmp_path, f"{HEAD}transactions:\n  t:\n    - {step}\n{GROUPS}") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"id": 1}]\n', "looks like JSON: only CSV is read"),
        ("id,n\n1\n", "got 1 in line 2"),
        ("id,n\n1,x\n", "got 'x' in line 2"),
        ("id,n\n1,0\n", "must have a weight above 0"),
        ("id,n\n1,inf\n", "got 'inf'"),
    ],
)
def test_a_csv_file_is_read_as_the_engine_reads_it(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "d.csv").write_text(content, encoding="utf-8")
    text = f"{HEAD}data:\n  d: {{csv: d.csv, weight: n}}\ntransactions:\n  t: [{{get: /}}]\n{GROUPS}"
    found = faults(tmp_path, text)
    assert [fault.line for fault in found] == [4]
    assert message in found[0].message


def test_text_that_is_not_unicode_is_refused_with_its_place(tmp_path: Path) -> None:
    text = f'{HEAD}title: "\\ud800"\ntransactions:\n  t: [{{get: /}}]\n{GROUPS}'
    (found,) = faults(tmp_path, text)
    assert (found.line, found.column) == (3, 8)
    assert "must be text of whole characters, got \\ud800 instead" in found.message


def test_a_long_value_is_not_repeated_whole(tmp_path: Path) -> None:
    found = of_step(tmp_path, "{get: /, on_failure: " + "x" * 100_000 + "}")
    assert len(found.message) < 500
    (unknown,) = faults(tmp_path, f"{HEAD}{'y' * 100_000}: 1\ntransactions:\n  t: [{{get: /}}]\n{GROUPS}")
    assert len(str(unknown)) < 1000


def test_weights_of_a_mix_add_to_anything_above_zero(tmp_path: Path) -> None:
    text = f"{HEAD}transactions:\n  t: [{{get: /}}]\n{GROUPS}"
    assert faults(tmp_path, text) == []
    (found,) = faults(tmp_path, text.replace("{t: 1}", "{t: 0}"))
    assert "must have a weight above 0" in found.message
