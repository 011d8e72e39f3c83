"""`towtank import`: every example becomes a valid workload, and faults in the input are reported with their line."""

from __future__ import annotations

import json
import os
import random
import resource
import stat
from pathlib import Path

import pytest
from in_process import towtank

from towtank.cli.app import run
from towtank.errors import StudyError
from towtank.importing import write_workload
from towtank.workload import importers

EXAMPLES = Path(__file__).parents[2] / "data" / "imports"
FILES = {
    "har": "shop.har",
    "jmx": "plan.jmx",
    "k6": "script.js",
    "openapi": "pets.yaml",
    "curl": "commands.sh",
    "accesslog": "access.log",
}


@pytest.mark.parametrize("form", FILES)
def test_what_is_written_passes_validate(form: str, tmp_path: Path) -> None:
    out = tmp_path / "workload.yaml"
    done = towtank("import", form, str(EXAMPLES / FILES[form]), "--out", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    assert f"towtank drive {out}" in done.stderr
    checked = towtank("validate", str(out))
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, f"{out}: ok (workload)\n", "")


@pytest.mark.parametrize("form", FILES)
def test_json_has_every_note_with_its_place(form: str) -> None:
    file = str(EXAMPLES / FILES[form])
    done = towtank("import", form, file, "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"], document["format"]) == (0, "towtank/import/1", form)
    assert document["workload"].startswith("# Imported from ")
    assert document["notes"]
    for note in document["notes"]:
        assert note["file"] == file
        assert note["line"] >= 1
        assert note["times"] >= len(note["lines"]) >= 1
        place = f"{file}:{note['line']}:{note['column']}" if note["column"] else f"{file}:{note['line']}"
        assert f"{place}: {note['what']}: {note['why']}" in done.stderr


def test_without_out_the_workload_goes_to_standard_output() -> None:
    done = towtank("import", "curl", str(EXAMPLES / "commands.sh"))
    assert "schema: towtank/workload/1\n" in done.stdout


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    out = tmp_path / "workload.yaml"
    out.write_text("mine\n")
    file = str(EXAMPLES / "commands.sh")
    refused = towtank("import", "curl", file, "--out", str(out))
    assert refused.returncode == 2
    assert "<command line>: --out: must not exist yet (--force overwrites it)" in refused.stderr
    assert out.read_text() == "mine\n"
    assert towtank("import", "curl", file, "--out", str(out), "--force").returncode == 0
    assert "towtank/workload/1" in out.read_text()


def test_a_file_made_during_the_import_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, finish = tmp_path / "workload.yaml", importers.finish_import

    def finish_late(draft: importers.ImportDraft, folder: Path) -> importers.ImportResult:
        out.write_text("mine\n")
        return finish(draft, folder)

    monkeypatch.setattr("towtank.workload.finish_import", finish_late)
    refused = towtank("import", "curl", str(EXAMPLES / "commands.sh"), "--out", str(out))
    assert refused.returncode == 2
    assert "<command line>: --out: must not exist yet (--force overwrites it)" in refused.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("workload.yaml", "mine\n")]


def test_an_import_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "workload.yaml"
    out.write_text("mine\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(StudyError, match="--out: must be a file that can be written, got: File too large"):
            write_workload(out, "new\n" * 1000, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("workload.yaml", "mine\n")]


def test_an_import_is_private_and_a_pipe_receives_it(tmp_path: Path) -> None:
    file, out, pipe = str(EXAMPLES / "commands.sh"), tmp_path / "workload.yaml", tmp_path / "pipe"
    out.write_text("mine\n")
    out.chmod(0o644)
    assert towtank("import", "curl", file, "--out", str(out), "--force").returncode == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert towtank("import", "curl", file, "--out", str(pipe), "--force").returncode == 0
    assert os.read(reader, 1 << 16).decode() == out.read_text()
    os.close(reader)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("postman", "x.json"), "<command line>: FORMAT: must be one of har, jmx, k6, openapi, curl, accesslog"),
        (("curl", "nowhere.sh"), "nowhere.sh: must be a file that exists"),
        (("curl", "."), ".: must be a file, got a folder instead"),
        (("curl", "x.sh", "--out", "no/such/folder/w.yaml"), "--out: must be in a folder that exists"),
    ],
)
def test_wrong_command_lines(arguments: tuple[str, ...], message: str) -> None:
    done = towtank("import", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


BAD = [
    ("har", '{"log": {"entries": [}}', ":1:22: must be JSON, got '}}' instead of a value"),
    ("har", '{"log": 1}', ":1:1: must be an HTTP Archive with log.entries, got none"),
    ("har", '{"log": {"entries": [{"request": {"method": "GET"}}]}}', ":1:22: log.entries[0]: must have request.url"),
    (
        "har",
        '{"log": {"entries": [{"startedDateTime": "noon",\n"request": {"method": "GET", "url": "http://a/"}}]}}',
        ":1:22: log.entries[0]: must have startedDateTime as ISO 8601, got 'noon' instead",
    ),
    ("har", '{"log": {"entries": []}}', "must have requests that can be imported from har, got none"),
    ("har", "[" * 10_000, "must be nested at most 200 deep"),
    ("jmx", "<jmeterTestPlan>\n<hashTree>", ":2:11: must be XML, got: no element found"),
    ("jmx", "<html><body/></html>", ":1:1: must be a test plan of JMeter (jmeterTestPlan), got <html> instead"),
    (
        "jmx",
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><jmeterTestPlan><hashTree>&a;</hashTree></jmeterTestPlan>',
        "must have no document type (<!DOCTYPE>), got one",
    ),
    ("jmx", "<a>" * 1000, "must be nested at most 200 deep"),
    ("k6", "export default function () {\n  http.get('http://a/';\n}\n", ":2:23: must be JavaScript, got no ) here"),
    ("k6", "export default function () {}\n", "must have requests that can be imported from k6, got none"),
    ("k6", f"x = {'(' * 3000}1{')' * 3000};", "must be nested less deeply"),
    ("openapi", "openapi: 2.0.0\n", ":1:10: openapi: must be OpenAPI 3.0 or 3.1"),
    ("openapi", 'swagger: "2.0"\n', "got swagger 2.0 instead"),
    (
        "openapi",
        "openapi: 3.0.0\nservers: [{url: 'ftp://a/'}]\n",
        ":2:11: servers[0].url: must be an http or https URL",
    ),
    ("openapi", "a: [\n", "must be YAML, got:"),
    ("curl", "curl 'http://a/\n", ":1:6: must close the quote ', got the end of the file"),
    ("curl", "ls -l\n", ":1:1: must have command lines that begin with curl, got none"),
    ("curl", "curl -X POST\ncurl http://a/ -X\n", ":1:1: curl: must have a URL, got none"),
    ("curl", "curl -X POST\ncurl http://a/ -X\n", ":2:16: -X: must have a value, got none"),
    ("curl", "curl -X BREW http://a/\n", ":1:14: curl: must have a method among"),
    ("accesslog", "one\ntwo\n", ":1:1: must be an access log in common or combined format, got 2 of 2 lines"),
    ("accesslog", "\n\n", "must not be empty"),
]


def refuse(form: str, path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Import a file that must be refused, in the process of the test, and return the exit status."""
    status = run(["import", form, str(path)])
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, ""), printed.err
    assert "Traceback" not in printed.err
    return printed.err


@pytest.mark.parametrize(("form", "text", "message"), BAD)
def test_bad_files(form: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad"
    path.write_text(text)
    reported = refuse(form, path, capsys)
    assert message in reported
    assert str(path) in reported


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("content", [b"", b"\x00\x01\xff\xfe" * 50, b"{}", b"<x/>", b"]]]]", b"null", b"\xef\xbb\xbf"])
def test_any_bytes_end_in_a_fault(
    form: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    assert str(path) in refuse(form, path, capsys)


@pytest.mark.parametrize("form", FILES)
def test_any_broken_example_ends_in_a_fault_or_a_workload(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random bytes of the examples are replaced and removed; the seed is fixed. No input may cause an internal
    error.
    """
    chance = random.Random(5)
    whole = (EXAMPLES / FILES[form]).read_bytes()
    for number in range(20):
        broken = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(broken))
            broken[at : at + chance.randint(0, 3)] = bytes(chance.choices(range(256), k=chance.randint(0, 2)))
        path = tmp_path / f"broken-{number}"
        path.write_bytes(bytes(broken[: chance.randint(len(broken) // 2, len(broken))]))
        status = run(["import", form, str(path)])
        printed = capsys.readouterr()
        assert status in {0, 2}, printed.err


def test_names_of_a_stranger_do_not_steer_the_terminal(tmp_path: Path) -> None:
    steering = "\x1b]52;c;aGk=\x07\u202e"
    plan = tmp_path / "plan.jmx"
    sampler = "<HTTPSamplerProxy testname='x'><stringProp name='HTTPSampler.path'>/x</stringProp></HTTPSamplerProxy>"
    odd = "<stringProp name='filename'>\u202e&#x85;.csv</stringProp>"
    data = f"<CSVDataSet testname='a\u202e'>{odd}</CSVDataSet><hashTree/>"
    group = f"<ThreadGroup testname='G'/><hashTree>{data}{sampler}<hashTree/></hashTree>"
    whole = f"<hashTree><TestPlan testname='P'/><hashTree>{group}</hashTree></hashTree>"
    plan.write_text(f"<jmeterTestPlan>{whole}</jmeterTestPlan>", encoding="utf-8")
    script = tmp_path / "script.js"
    script.write_text(
        f"import http from 'k6/http';\nexport default function () {{ http.get(open('{steering}')); }}\n", "utf-8"
    )
    log = tmp_path / "access.log"
    log.write_text(f'h - - [01/Jan/2026:00:00:00 +0000] "GET /{steering} HTTP/1.1" 200 1\n' * 3, "utf-8")
    for form, file in (("jmx", plan), ("k6", script), ("accesslog", log)):
        said = towtank("import", form, str(file), "--out", str(tmp_path / f"{form}.yaml"))
        assert not set(said.stderr) & {"\x1b", "\x07", "\u202e", "\x85"}, (form, said.stderr)
    said = towtank("import", "jmx", str(plan), "--out", str(tmp_path / "again.yaml"))
    assert "\\u202e" in said.stderr
