"""Each fault in a file is reported at its exact line and column, with the allowed values and exit status 2.

A traceback is never printed. In the replacement text of a case, the sign `⟦` marks the position at which the fault must
be reported. The sign is removed before the file is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from in_process import towtank as run
from small_study import Files

from towtank.cli import main

MARK = "⟦"


@dataclass(frozen=True)
class Case:
    """A test case: a text in a file, the replacement that causes a fault, and words of the error message."""

    name: str
    kind: str
    old: str
    new: str
    words: tuple[str, ...]


def case(name: str, kind: str, old: str, new: str, *words: str) -> Case:
    """Create a case. Its replacement `new` contains the mark of the position exactly once."""
    assert new.count(MARK) == 1, name
    return Case(name, kind, old, new, words)


CASES = [
    case("not yaml", "study", "question: How", "question: [How\ntitle⟦: many", "must be YAML"),
    case("tab for indentation", "study", "  users: [10", "⟦\tusers: [10", "must be YAML"),
    case("bound without quotes", "study", "seed: 7", "seed: > ⟦2", "begins with `>`", 'in quotes, such as "> 2"'),
    case("bound with equality", "study", "seed: 7", "seed: >⟦= 2", "begins with `>`", 'in quotes, such as "> 2"'),
    case("repeated key", "study", "seed: 7", "seed: 7\n⟦seed: 8", "twice", "line 7"),
    case("unknown alias", "study", "seed: 7", "seed: ⟦*nothing", "anchor", "*nothing"),
    case("alias of itself", "study", "pinning: auto", "pinning: &p [⟦*p]", "contain itself"),
    case("tag of an object", "study", "seed: 7", "seed: ⟦!!python/object:os.system 7", "no tag"),
    case("second document", "study", "seed: 7", "seed: 7\n⟦---\na: 1", "one YAML document"),
    case("list as key", "study", "seed: 7", "seed: 7\n? ⟦[a]\n: 1", "text as key"),
    case(
        "unknown key",
        "study",
        "repetitions: 2",
        "⟦repetition: 2",
        "unknown key 'repetition'",
        "did you mean 'repetitions'",
    ),
    case("wrong schema", "study", "towtank/study/1", "⟦towtank/study/9", "towtank/study/1", "towtank/study/9"),
    case("no unit", "study", "steady: 10 s", "steady: ⟦10", "duration", "ms, s, min, h", "unit", "10"),
    case("wrong unit", "study", "settle: 1 s", "settle: ⟦1 sec", "ms, s, min, h", "'sec'"),
    case("negative duration", "study", "settle: 1 s", "settle: ⟦-1 s", "at least 0"),
    case("no steady stage", "study", "steady: 10 s", "steady: ⟦0 s", "above 0"),
    case("text for a number", "study", "repetitions: 2", "repetitions: ⟦two", "whole number", "'two'"),
    case("no repetitions", "study", "repetitions: 2", "repetitions: ⟦0", "at least 1"),
    case(
        "unknown order",
        "study",
        "order: random",
        "order: ⟦randon",
        "random or given",
        "did you mean 'random'",
    ),
    case("no users", "study", "[10, 20]", "[⟦0, 20]", "users from 1", "got 0"),
    case("half a user", "study", "[10, 20]", "[10, ⟦2.5]", "whole number of users"),
    case("level twice", "study", "[10, 20]", "[10, ⟦10]", "must differ from all earlier levels"),
    case("share above all", "study", "errors: 2 %", "errors: ⟦200 %", "at most 100 %"),
    case(
        "objective of nothing",
        "study",
        "p95 of view < 1 s",
        "⟦p95 of viev < 1 s",
        "transaction",
        "did you mean 'view'",
    ),
    case(
        "objective without unit",
        "study",
        "p95 of view < 1 s",
        "⟦p95 of view < 1",
        "duration",
        "without a unit",
    ),
    case(
        "objective in no phase",
        "study",
        "p95 of view < 1 s",
        "⟦p95 of view < 1 s in ramp_pu",
        "in one of ramp_up",
        "did you mean 'ramp_up'",
    ),
    case("unknown metric", "study", "p95 of view < 1 s", "⟦p97 of view < 1 s", "p95", "'p97'"),
    case(
        "override of no service",
        "study",
        "{services.content",
        "{⟦services.kontent",
        "service of the system",
        "did you mean 'content'",
    ),
    case(
        "override of no path",
        "study",
        "{services.content.settings.drop_index",
        "{⟦content.settings.drop_index",
        "services.NAME.settings.KEY",
    ),
    case("override out of range", "study", "drop_index: search_type", "threads: ⟦0", "at least 1"),
    case(
        "override of no parameter",
        "study",
        "{parameters.think_mean",
        "{⟦parameters.think",
        "parameter of the workload",
        "think_mean",
    ),
    case("preset with a fault", "study", "steady: 5 s", "steady: ⟦5 m", "min", "'m'"),
    case(
        "system file is not there",
        "study",
        "system: system.yaml",
        "system: ⟦sistem.yaml",
        "file that exists",
        "sistem.yaml",
    ),
    case(
        "no weight above 0",
        "workload",
        "mix: {view: 100}",
        "mix: ⟦{view: 0}",
        "weight above 0",
        "got none",
    ),
    case(
        "shares not 100",
        "workload",
        "groups:\n  readers:\n    share: 70 %",
        "groups:\n  ⟦readers:\n    share: 80 %",
        "add to 100 %",
        "110 %",
    ),
    case(
        "unknown transaction in a mix",
        "workload",
        "mix: {view: 100}",
        "mix: {⟦veiw: 100}",
        "transaction of this file",
        "did you mean 'view'",
    ),
    case(
        "unknown transaction once",
        "workload",
        "share: 70 %\n    once: [log_in]",
        "share: 70 %\n    once: [⟦login]",
        "did you mean 'log_in'",
    ),
    case(
        "unknown pool",
        "workload",
        "draw: documents",
        "draw: ⟦document",
        "pool of data",
        "did you mean 'documents'",
    ),
    case(
        "unknown column",
        "workload",
        '"${documents.id}", full',
        '⟦"${documents.key}", full',
        "column of documents",
        "'key'",
    ),
    case("unknown variable", "workload", '"${etag}"', '⟦"${etak}"', "variable", "did you mean 'etag'"),
    case(
        "used before it is set",
        "workload",
        "get: /browser",
        "get: ⟦/browser/${etag}",
        "set before it is used",
        "'etag'",
    ),
    case(
        "used before it is drawn",
        "workload",
        "get: /browser",
        "get: ⟦/browser/${words.word}",
        "drawn before it is used",
        "- draw: words",
    ),
    case("unknown list", "workload", "pop: own", "pop: ⟦owm", "list that a step fills", "did you mean 'own'"),
    case("unknown condition", "workload", "{filled: mine}", "{filled: ⟦yours}", "variable that a step sets"),
    case(
        "unknown parameter",
        "workload",
        '"${parameters.think_mean}"',
        '⟦"${parameters.think_meen}"',
        "parameter of this file",
        "did you mean 'think_mean'",
    ),
    case(
        "template not closed",
        "workload",
        "put: /content/${documents.id}",
        "put: ⟦/content/${documents.id",
        "must close every ${",
    ),
    case(
        "unknown encoding",
        "workload",
        "put: /content/${documents.id}",
        "put: ⟦/content/${documents.id|hex}",
        "none, url, json, html",
    ),
    case("unknown function", "workload", '"${uuid}"', '⟦"${random.float(1)}"', "random.int(LOW, HIGH)"),
    case("bad JSON path", "workload", '"$.id"', '⟦"$.[id"', "JSON path", "position 2"),
    case("bad regular expression", "workload", "{header: ETag}", "{regex: ⟦'id=(.*'}", "regular expression"),
    case("look-around", "workload", "{header: ETag}", "{regex: ⟦'(?<=id=).*'}", "without look-around"),
    case(
        "two methods",
        "workload",
        "    - get: /browser\n",
        "    - ⟦get: /browser\n      post: /browser\n",
        "one of get, post",
        "get and post",
    ),
    case(
        "two bodies",
        "workload",
        "        - post: /content\n",
        "        - ⟦post: /content\n          body: x\n",
        "one body",
        "json and body",
    ),
    case("unknown step", "workload", "    - think: 500 ms", "    - ⟦sleep: 500 ms", "step with one of the keys"),
    case("status that is none", "workload", "{status: 200}", "⟦{status: 20}", "100 to 599"),
    case("think without unit", "workload", "think: 500 ms", "think: ⟦0.5", "duration", "unit"),
    case(
        "file to send is not there",
        "workload",
        "form: {word: two words}",
        "file: ⟦upload.bin",
        "file that exists",
        "upload.bin",
    ),
    case(
        "data file is not there",
        "workload",
        "    rows: [{word: one}, {word: two}]",
        "    csv: ⟦words.csv",
        "CSV file",
        "words.csv",
    ),
    case("short row", "workload", "[b, 1]", "⟦[b]", "2 values", "got 1"),
    case("weight that is none", "workload", "[b, 1]", "⟦[b, many]", "weight", "'many'"),
    case(
        "unknown weight column",
        "workload",
        "weight: popularity",
        "weight: ⟦popular",
        "column",
        "did you mean 'popularity'",
    ),
    case(
        "unknown target",
        "workload",
        "target: content",
        "target: ⟦contents",
        "target of the system",
        "did you mean 'content'",
    ),
    case("rate of pacing", "workload", "pacing: 5 /min per user", "pacing: ⟦5 /week", "/s, /min, /h, /d"),
    case("path without slash", "workload", "get: /browser", "⟦get: browser", "begins with /"),
    case("parameter that is a list", "workload", "think_mean: 1 s", "think_mean: ⟦[1 s]", "number or text"),
    case("share without unit", "workload", "share: 30 %", "share: ⟦30", "share in %", "unit"),
    case("unknown kind", "system", "kind: content_server", "kind: ⟦content_sever", "did you mean 'content_server'"),
    case("unknown host", "system", "    host: here", "    host: ⟦there", "host of this file", "'there'"),
    case(
        "unknown setting",
        "system",
        "      threads: 8",
        "      ⟦thread: 8",
        "unknown key 'thread'",
        "did you mean 'threads'",
    ),
    case("too many threads", "system", "threads: 8", "threads: ⟦100000", "at most 1024"),
    case("size without unit", "system", "32 MiB", "⟦32", "KiB, MiB, GiB", "unit"),
    case(
        "unknown service of a target",
        "system",
        "{service: content,",
        "{service: ⟦kontent,",
        "service of this file",
    ),
    case("unknown balance", "system", "balance: random", "balance: ⟦even", "round_robin, random or user"),
    case("population of nothing", "system", "scale: 0.001", "scale: ⟦0", "above 0"),
]


def place_of(text: str) -> tuple[int, int]:
    """Return the line and column of the mark `⟦`, both counted from 1."""
    before = text[: text.index(MARK)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


@pytest.mark.parametrize("fault", CASES, ids=[each.name.replace(" ", "_") for each in CASES])
def test_fault_is_reported_at_its_place(fault: Case, files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    files.edit(fault.kind, fault.old, fault.new)
    path = files.folder / f"{fault.kind}.yaml"
    marked = path.read_text("utf-8")
    line, column = place_of(marked)
    path.write_text(marked.replace(MARK, ""), "utf-8")
    assert main(["validate", str(files.study)]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    lines = [each for each in printed.err.splitlines() if each.startswith(f"{path}:{line}:{column}: ")]
    assert lines, f"expected a fault at {line}:{column}, got\n{printed.err}"
    assert any(all(word in each for word in fault.words) for each in lines), printed.err
    # A mistake causes exactly one message: faults that only follow from it are not reported.
    assert len(printed.err.splitlines()) == 1, printed.err


def test_there_are_many_different_faults() -> None:
    assert len({each.name for each in CASES}) == len(CASES) >= 60


def test_the_files_are_right_as_they_stand(files: Files) -> None:
    done = run("validate", files.study, files.workload, files.system)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{files.study}: ok (study)",
        f"{files.workload}: ok (workload)",
        f"{files.system}: ok (system)",
    ]


def test_all_faults_of_all_files_come_at_once_sorted_by_place(files: Files) -> None:
    files.edit("study", "steady: 10 s", "steady: 10")
    files.edit("study", "repetitions: 2", "repetition: 2")
    files.edit("study", "p95 of view", "p95 of viev")
    files.edit("system", "threads: 8", "threads: 0")
    files.edit("workload", "mix: {view: 100}", "mix: {view: 0}")
    files.edit("workload", "draw: documents", "draw: document")
    files.edit("workload", "timeout: 10 s", "timeout: ten seconds")
    done = run("validate", files.study)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    places = [re.match(r".*/(\w+)\.yaml:(\d+):(\d+): ([\w.\[\]]+): must ", line) for line in done.stderr.splitlines()]
    found = [(place[1], int(place[2]), int(place[3]), place[4]) for place in places if place]
    assert len(found) == len(places)
    assert found == sorted(found)
    assert [(kind, where) for kind, _, _, where in found] == [
        ("study", "repetition"),
        ("study", "load.stages.steady"),
        ("study", "objectives[0]"),
        ("system", "services.content.settings.threads"),
        ("workload", "defaults.timeout"),
        ("workload", "transactions.view[0].draw"),
        ("workload", "groups.readers.loop.mix"),
    ]


def test_missing_keys_are_reported_at_the_mapping_that_lacks_them(
    files: Files, capfd: pytest.CaptureFixture[str]
) -> None:
    files.edit("system", "      content_cache: 32 MiB\n", "")
    files.edit("system", "    kind: content_server\n", "")
    assert main(["validate", str(files.system)]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"{files.system}:7:5: services.content: must be of a kind among ")
    assert "got none" in error


def test_load_from_two_places_is_refused(files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    files.edit("study", "  kind: closed", "  kind: closed\n  users: 5")
    assert main(["validate", str(files.study)]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"{files.study}:16:1: load: ")
    assert "factors.users and load.users" in error


def test_rates_with_closed_load_are_refused(files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    files.edit("study", "  users: [10, 20]", "  rate: [10 /s, 20 /s]")
    files.edit("study", "{users: [100]}", "{rate: [100 /s]}")
    assert main(["validate", str(files.study)]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert [line.removeprefix(str(files.study)).split(" ")[0] for line in lines] == [":11:3:", ":31:15:"]
    assert all("must be the factor users with closed load, got 'rate' instead" in line for line in lines)


def test_unknown_setting_of_an_override_is_reported_at_the_study(
    files: Files, capfd: pytest.CaptureFixture[str]
) -> None:
    files.edit("study", "drop_index: search_type", "drop_indices: search_type")
    assert main(["validate", str(files.study)]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"{files.study}:14:14: ")
    assert "unknown key 'drop_indices'" in error
    assert "did you mean 'drop_index'" in error


def test_parameter_that_does_not_fit_is_reported_at_the_study(files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    files.edit("study", "{parameters.think_mean: 2 s}", "{parameters.think_mean: 2 parsecs}")
    assert main(["validate", str(files.study)]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"{files.study}:15:13: ")
    assert "'parsecs'" in error


BOMB = "schema: towtank/study/1\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
UNREADABLE = {
    "empty": (b"", ":1:1: must not be empty"),
    "only_comments": (b"# nothing\n", ":1:1: must not be empty"),
    "binary": (b"schema: \xff\xfe\x00", ":1:9: must be UTF-8 text, got the byte 0xff"),
    "control_character": (b"schema: towtank/study/1\nname: \x07\n", ":2:7: must be YAML"),
    "scalar": (b"just text\n", ":1:1: must be a mapping"),
    "list": (b"- a\n- b\n", ":1:1: must be a mapping"),
    "no_schema": (b"name: x\n", ":1:1: must have the key 'schema' with one of towtank/study/1"),
    "unknown_schema": (b"schema: towtank/other/1\n", ":1:9: schema: must be one of towtank/study/1"),
    "misspelt_schema": (b"schema: towtank/studi/1\n", ":1:9: schema: must be towtank/study/1"),
    "schema_is_a_list": (b"schema: [a]\n", ":1:9: schema: must be one of"),
    "bomb_of_aliases": (BOMB.encode(), "values with aliases written out"),
    "deep_nesting": (b"schema: " + b"[" * 5000, ":1:59: must be nested at most 50 deep"),
    "deep_mappings": (b"".join(b" " * n + b"a:\n" for n in range(300)), "must be nested at most 50 deep"),
    "endless_number": (b"schema: towtank/study/1\nseed: " + b"9" * 10000, "seed: must be a whole number"),
    "not_closed": (b'schema: "towtank', "must be YAML"),
    "directive": (b"%YAML 9.9\n---\na: 1\n", "must be YAML"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_file_of_ours_is_reported_in_one_line_or_more(name: str, tmp_path: Path) -> None:
    raw, expected = UNREADABLE[name]
    path = tmp_path / "file.yaml"
    path.write_bytes(raw)
    done = run("validate", path)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert any(line.startswith(str(path)) and expected in line for line in done.stderr.splitlines()), done.stderr


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    long = tmp_path / "long.yaml"
    with long.open("wb") as stream:
        stream.truncate(11_000_000)
    done = run("validate", tmp_path / "absent.yaml", tmp_path, long, "/dev/null")
    assert done.returncode == 2
    assert sorted(done.stderr.splitlines()) == sorted(
        [
            f"{tmp_path / 'absent.yaml'}: must be a file that exists, got none of that name",
            f"{tmp_path}: must be a file, got a folder instead",
            f"{long}: must be at most 10 MB long, got more instead",
            "/dev/null: must be a regular file",
        ]
    )


def test_file_that_gives_an_error_when_it_is_read() -> None:
    # Root can read a file whatever its mode. But no memory is mapped at address 0 of /proc/self/mem, so reading it
    # fails for every user.
    done = run("validate", "/proc/self/mem")
    assert done.returncode == 2
    assert done.stderr == "/proc/self/mem: must be a file that can be read, got: Input/output error\n"


def test_preset_that_is_not_there(files: Files) -> None:
    from towtank.errors import StudyError  # noqa: PLC0415
    from towtank.study import load_study  # noqa: PLC0415

    with pytest.raises(StudyError, match=r"one of the presets .*quick, full.*'fast'"):
        load_study(files.study, "fast")
