"""Import of files from unknown sources: the size of the expanded file is limited, and only files in the folder of the
imported file are read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jmeter_plans import element, plan, sampler

from towtank.errors import StudyError
from towtank.workload.importers import xmlfile
from towtank.workload.importers.accesslog.lines import read_access_log
from towtank.workload.importers.curl.words import Splitter
from towtank.workload.importers.draft import ImportDraft, ImportNotes
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jsonfile import parse
from towtank.workload.importers.openapi.values import VALUES_AT_MOST, Maker, References
from towtank.workload.importers.textfile import beside

Importer = Callable[..., Any]
SECRET = "cAnAry7secret"
pytestmark = pytest.mark.timeout(60)


def count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


def leading_to(schema: Callable[[dict[str, str]], dict[str, Any]]) -> dict[str, Any]:
    """Return eight schemas; each except the last refers to the next."""
    schemas = {f"s{step}": schema({"$ref": f"#/schemas/s{step + 1}"}) for step in range(8)}
    return {"schema": {"$ref": "#/schemas/s0"}, "schemas": {**schemas, "s8": {"type": "integer"}}}


@pytest.mark.waits
@pytest.mark.parametrize(
    "schema",
    [
        lambda following: {"properties": {f"p{number}": following for number in range(40)}},
        lambda following: {"type": "array", "minItems": 100, "items": following},
        lambda following: {"allOf": [{"properties": {f"p{part}{n}": following for n in range(9)}} for part in "abcd"]},
    ],
    ids=["properties", "arrays", "parts"],
)
def test_schemas_of_schemas_stand_for_so_many_values(schema: Any) -> None:
    root = parse(json.dumps(leading_to(schema)), "x.json")
    notes: list[tuple[Any, ...]] = []
    made = Maker(References(root, lambda *_: None), lambda *note: notes.append(note)).value(root.child("schema"))
    assert count(made) < 2 * VALUES_AT_MOST
    assert [why for _, what, why in notes if what == "schemas"] == [
        f"describe more than {VALUES_AT_MOST} values: further values are left out"
    ]


@pytest.mark.parametrize("first", ["x", ""], ids=["long", "empty"])
def test_variables_of_variables_are_refused_where_they_double(first: str) -> None:
    for translate in (lambda texts: texts.static("${A40}"), lambda texts: texts.template("${A40}", (1, 1))):
        texts = Texts(ImportDraft("plan.jmx", "jmx", "plan"))
        doubled = {f"A{step}": f"${{A{step - 1}}}${{A{step - 1}}}" for step in range(1, 41)}
        texts.constants = {"A0": first or "${A00}", "A00": first, **doubled}
        with pytest.raises(StudyError, match="must have variables of at most 20 MB in total"):
            translate(texts)


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("'x'", "a = a + a;"),
        ("`${__ENV.A}`", "a = `${a}${a}`;"),
        ("[1]", "a = [...a, ...a];"),
        ("[1]", "a = a.concat(a);"),
        ("'x'", "a = [a, a].join(a);"),
    ],
    ids=["texts", "templates", "lists", "concat", "join"],
)
def test_values_of_a_script_that_double_are_not_known(import_text: Importer, start: str, line: str) -> None:
    text = "import http from 'k6/http';\nexport default function () {\n"
    text += (
        f"  let a = {start};\n" + f"  {line}\n" * 40 + "  http.get('http://a/x');\n  http.get('http://a/' + a);\n}\n"
    )
    found = import_text("k6", text, "script.js")
    assert len(found.text) < 3_000_000
    assert found.requests()[0]["get"] == "/x"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Folder beside the folder of the imported file, with a file that the import must not read."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "secret.csv").write_text(f"name\n{SECRET}\n{SECRET}\n")
    return folder


def names_of(elsewhere: Path, source: Path) -> list[str]:
    """Return paths to files outside of the folder, paths to files that never end, and invalid paths."""
    (source / "link.csv").symlink_to(elsewhere / "secret.csv")
    (source / "around").symlink_to(elsewhere)
    os.mkfifo(source / "pipe.csv")
    inside = ("link.csv", "around/secret.csv", "pipe.csv", "x\0y", "", ".")
    return [str(elsewhere / "secret.csv"), "../elsewhere/secret.csv", "/dev/zero", *inside]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "own.csv").write_text("name\nann\nbob\n")
    return folder


def test_only_regular_files_in_the_folder_are_beside(source: Path, elsewhere: Path) -> None:
    assert beside(source / "plan.jmx", "data/own.csv") == source / "data" / "own.csv"
    assert beside(source / "plan.jmx", str(source / "data" / "own.csv")) == source / "data" / "own.csv"
    assert [beside(source / "plan.jmx", name) for name in names_of(elsewhere, source)] == [None] * 9


def test_a_plan_reads_no_file_but_those_in_its_folder(import_file: Importer, source: Path, elsewhere: Path) -> None:
    for number, name in enumerate(names_of(elsewhere, source)):
        if "\0" in name or not name.strip("."):
            continue
        data = element("CSVDataSet", filename=name, delimiter=",", variableNames="name")
        path = source / f"plan-{number}.jmx"
        path.write_text(plan(data + sampler("/${name}")), encoding="utf-8")
        found = import_file("jmx", path)
        assert SECRET not in found.text
        assert found.noted("CSV data set 'CSVDataSet'")


def test_a_script_reads_no_file_but_those_in_its_folder(import_file: Importer, source: Path, elsewhere: Path) -> None:
    for number, name in enumerate(names_of(elsewhere, source)):
        if "\0" in name:
            continue
        body = f"const text = open({json.dumps(name)});\n"
        body += "export default function () {\n  http.post('http://a/x', text);\n}\n"
        path = source / f"script-{number}.js"
        path.write_text(f"import http from 'k6/http';\n{body}", encoding="utf-8")
        assert SECRET not in import_file("k6", path).text


# If the run time were quadratic in the length of a file, the files below would take minutes to hours.


def test_text_between_many_elements_is_put_together_once(tmp_path: Path) -> None:
    piece, times = "x" * 2000, 40_000
    path = tmp_path / "plan.jmx"
    path.write_text(f"<a>{f'{piece}<b/>' * times}</a>")
    read = xmlfile.load(path)
    assert (read.text, len(read.children)) == (piece * times, times)


@pytest.mark.waits
@pytest.mark.parametrize(
    ("text", "words"),
    [("a " * 1_000_000, 1_000_000), (f'"{"a" * 2_000_000}"', 1), ("a\\ " * 1_000_000, 1), ("a<" * 500_000, 1_000_000)],
    ids=["many", "long", "escaped", "redirected"],
)
def test_many_and_long_words_of_command_lines(text: str, words: int) -> None:
    (command,) = Splitter("x", text).split()
    assert len(command) == words


@pytest.mark.waits
def test_many_settings_in_front_of_a_command(import_text: Importer) -> None:
    (only,) = import_text("curl", f"{'a=1 ' * 300_000}curl http://a/x", "commands.sh").requests()
    assert only["get"] == "/x"


@pytest.mark.waits
def test_many_commands_that_are_done_where_others_fail() -> None:
    (first, *_) = Splitter("x", "a||" * 200_000).split()
    assert [word.text for word in first] == ["a"]


def test_lines_of_a_log_with_many_brackets_are_none(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_text(f"a -{' [' * 30_000}\n" * 100)
    with pytest.raises(StudyError, match="must be an access log"):
        list(read_access_log(path, ImportNotes("access.log")))
