from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from towtank.cli import export_command, export_files
from towtank.errors import ReportError
from towtank.results import exports
from towtank.results.exports import EXPORT_FORMATS, find_format
from towtank.results.exports.format import ExportFile, text_file

pytestmark = pytest.mark.waits

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ("csv", "hlog", "jtl", "otlp", "parquet")


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "exports" not in path.relative_to(folder).parts
    }


@pytest.fixture(autouse=True)
def step_summary(towtank, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_every_format_is_written_and_nothing_else_changes(towtank, results, name):
    before = hashes(results)
    answer = towtank("export", results, "--to", name, "--json")
    assert answer.status == 0
    result = json.loads(answer.out)
    assert (result["schema"], result["format"]) == ("towtank/export/1", name)
    assert result["runs"] == [f"r{number:03d}" for number in range(1, 9)]
    files = {path for path in (results / "exports").rglob("*") if path.is_file()}
    assert files == {Path(file) for file in result["files"]}
    assert all(path.stat().st_size for path in files)
    assert hashes(results) == before


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_every_format_is_the_same_again(towtank, results, name, tmp_path):
    for folder in ("one", "two"):
        assert towtank("export", results, "--to", name, "--out", f"{tmp_path / folder}/", "--run", "r002").status == 0
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_folder_of_a_run_is_exported_alone(towtank, results, name):
    answer = towtank("export", results / "runs" / "r004", "--to", name, "--json")
    assert answer.status == 0
    assert json.loads(answer.out)["runs"] == ["r004"]


def test_run_inside_a_study_has_its_objectives(towtank, results):
    page = towtank("export", results / "runs" / "r004", "--to", "markdown", "--out", "-").out
    assert page.startswith("## Users of a content server")
    assert "| p95 of open_all_searches" in page
    assert "missing" not in page


def test_program_leaves_with_its_status(results):
    command = [sys.executable, "-m", "towtank", "export", str(results), "--to", "junit", "--out", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<?xml")


def test_unknown_format_names_those_there_are(towtank, results):
    answer = towtank("export", results, "--to", "xls")
    assert answer.status == 2
    assert answer.err == f"<command line>: --to: must be one of {', '.join(EXPORT_FORMATS)}, got 'xls' instead\n"


def test_format_is_asked_for(towtank, results):
    assert towtank("export", results).status == 2


def test_unknown_runs_are_reported_together(towtank, results):
    answer = towtank("export", results, "--to", "csv", "--run", "r1", "--run", "r004", "--run", "r009")
    assert answer.status == 2
    assert [re.search("got '(.*)' instead", line)[1] for line in answer.err.splitlines()] == ["r009", "r1"]
    assert "must be one of r001, r002," in answer.err


def test_run_beside_the_folder_of_another_is_refused(towtank, results):
    assert towtank("export", results / "runs" / "r004", "--to", "csv", "--run", "r004").status == 0
    assert towtank("export", results / "runs" / "r004", "--to", "csv", "--run", "r001").status == 2


@pytest.mark.parametrize(("name", "got"), [("nothing", "no such folder"), ("file", "a file"), ("", "with neither")])
def test_what_is_no_results_folder_is_refused(towtank, tmp_path, name, got):
    (tmp_path / "file").write_text("x")
    answer = towtank("export", tmp_path / name, "--to", "csv")
    assert answer.status == 2
    assert "must be a results folder with a study.json or the folder of a run with a run.json" in answer.err
    assert got in answer.err


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_study_without_runs_is_refused(towtank, results, name):
    for path in results.glob("runs/*/run.json"):
        path.unlink()
    answer = towtank("export", results, "--to", name)
    assert answer.status == 2
    assert "runs: must contain at least one run to export, got none" in answer.err


@pytest.mark.parametrize("name", ["hlog", "junit"])
@pytest.mark.parametrize("content", ["", "{", "[]", "7", "\x00", '{"study": 5, "design": {"a": 1}, "factors": []}'])
def test_broken_manifest_of_the_study_is_reported_or_tolerated(towtank, results, name, content):
    (results / "study.json").write_text(content)
    answer = towtank("export", results, "--to", name)
    assert answer.status in ((0,) if content.startswith('{"') else (2,)), answer.err
    assert content.startswith('{"') or f"{results / 'study.json'}: must be a JSON object" in answer.err
    assert "Traceback" not in answer.err


MALFORMED = [
    {"study": {"factors": 3}},
    {"study": {"factors": ["users"]}},
    {"study": {"objectives": [4]}},
    {"study": {"load_factor": []}},
]


@pytest.mark.parametrize("manifest", MALFORMED, ids=str)
def test_manifest_of_another_form_is_reported(towtank, results, manifest):
    (results / "study.json").write_text(json.dumps(manifest))
    answer = towtank("export", results, "--to", "junit")
    assert answer.status == 2, answer.err
    (key,) = manifest["study"]
    assert f"study.json: study.{key}" in answer.err


def test_broken_manifests_of_runs_are_reported_together_with_a_hint(towtank, results):
    (results / "runs" / "r002" / "run.json").write_text("{")
    (results / "runs" / "r003" / "run.json").write_text('{"factors": [1]}')
    answer = towtank("export", results, "--to", "csv")
    assert answer.status == 2
    assert "r002/run.json: must be a JSON object" in answer.err
    assert "r003/run.json: factors: must be a mapping of keys to values, got a list instead" in answer.err
    assert "hint: complete runs can be exported by name with --run" in answer.err
    assert towtank("export", results, "--to", "csv", "--run", "r004").status == 0


@pytest.mark.parametrize("name", RECORDED)
def test_run_without_records_is_left_out_and_reported(towtank, results, name):
    for path in (results / "runs" / "r003" / "engine").iterdir():
        path.unlink()
    answer = towtank("export", results, "--to", name, "--json")
    assert answer.status == 0
    assert "r003: left out, no interval was recorded" in answer.err
    assert "r003" not in json.loads(answer.out)["runs"]


@pytest.mark.parametrize("name", RECORDED)
def test_no_records_at_all_are_refused(towtank, results, name):
    for path in (results / "runs" / "r003" / "engine").iterdir():
        path.unlink()
    answer = towtank("export", results, "--to", name, "--run", "r003")
    assert answer.status == 2
    assert f"must contain recorded intervals for --to {name}, got none in r003" in answer.err


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_torn_and_damaged_lines_are_skipped_and_reported(towtank, results, name):
    path = results / "runs" / "r004" / "engine" / "worker-00.0000.ndjson"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[10] = lines[10].replace(b'"k":"interval"', b'"k":"intervaI"')
    path.write_bytes(b"".join(lines)[:-40])
    # All other formats contain results of the analysis. Without a stored summary, the export first analyses the damaged
    # records.
    if name not in RECORDED:
        (results / "runs" / "r004" / "summary.json").unlink()
    answer = towtank("export", results, "--to", name, "--run", "r004")
    assert answer.status == 0
    assert "note: r004: skipped 1 damaged line and a torn last line" in answer.err


@pytest.mark.parametrize("cut", range(0, 60_000, 7_001))
def test_segment_cut_at_any_byte_is_exported_as_far_as_it_goes(towtank, results, cut):
    path = results / "runs" / "r002" / "engine" / "worker-00.0000.ndjson"
    path.write_bytes(path.read_bytes()[:cut])
    (path.parent.parent / "summary.json").unlink()
    for name in ("csv", "otlp", "junit"):
        answer = towtank("export", results, "--to", name, "--run", "r002", "--json")
        assert answer.status in ((0, 2) if name in RECORDED and cut < 8_000 else (0,)), answer.err
        assert answer.status == 0 or "must contain recorded intervals" in answer.err


def test_one_file_goes_to_the_given_path(towtank, results, tmp_path):
    assert towtank("export", results, "--to", "csv", "--out", tmp_path / "deep" / "a.csv").status == 0
    assert (tmp_path / "deep" / "a.csv").is_file()
    (tmp_path / "there").mkdir()
    assert towtank("export", results, "--to", "csv", "--out", tmp_path / "there").status == 0
    assert towtank("export", results, "--to", "junit", "--out", f"{tmp_path / 'new'}/").status == 0
    assert (tmp_path / "there" / "intervals.csv").is_file()
    assert (tmp_path / "new" / "junit.xml").is_file()


def test_several_files_go_into_a_folder(towtank, results, tmp_path):
    assert towtank("export", results, "--to", "hlog", "--out", tmp_path / "logs").status == 0
    assert len(list((tmp_path / "logs").iterdir())) == 8
    (tmp_path / "file").write_text("mine")
    answer = towtank("export", results, "--to", "hlog", "--out", tmp_path / "file")
    assert answer.status == 2
    assert "--out: must name a folder: there are 8 files to write" in answer.err
    assert (tmp_path / "file").read_text() == "mine"


def test_standard_output_takes_one_file_and_nothing_else(towtank, results):
    assert towtank("export", results, "--to", "hlog", "--out", "-").status == 2
    assert towtank("export", results, "--to", "csv", "--out", "-", "--json").status == 2
    assert towtank("export", results, "--to", "github", "--out", "-").status == 2
    answer = towtank("export", results, "--to", "hlog", "--out", "-", "--run", "r001")
    assert (answer.status, answer.err) == (0, "")
    assert "#[Histogram log format version 1.3]" in answer.out
    assert not (results / "exports").exists()


@pytest.mark.parametrize("out", ["", " "])
def test_place_without_a_name_is_refused(towtank, results, out):
    assert towtank("export", results, "--to", "csv", "--out", out).status == 2


def test_place_that_cannot_be_written_is_reported(towtank, results, tmp_path):
    (tmp_path / "file").write_text("mine")
    answer = towtank("export", results, "--to", "csv", "--out", tmp_path / "file" / "below.csv")
    assert answer.status == 2
    assert "the export could not be written to" in answer.err
    assert "Not a directory" in answer.err


def test_full_disk_leaves_the_old_file_and_no_rubbish(tmp_path):
    def fill(path: Path) -> None:
        path.write_text("half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(ReportError, match="No space left on device"):
        export_files.write(ExportFile("out.csv", fill), target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_fault_while_writing_leaves_no_rubbish(tmp_path):
    def fail() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        export_files.write(text_file("a", fail), tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_registered_formats_name_themselves():
    modules = {path.stem.removesuffix("_format") for path in Path(exports.__file__).parent.glob("*_format.py")}
    assert modules == set(EXPORT_FORMATS)
    assert [find_format(name).name for name in EXPORT_FORMATS] == list(EXPORT_FORMATS)
    assert [name for name in EXPORT_FORMATS if find_format(name).needs_records] == list(RECORDED)


def test_help_and_guide_list_every_format():
    assert ", ".join(EXPORT_FORMATS) == export_command._FORMATS
    guide = (ROOT / "docs" / "guides" / "export.md").read_text("utf-8")
    table = guide.partition("## The formats")[2].partition("The limits of each format")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE) == list(EXPORT_FORMATS)
    for name in EXPORT_FORMATS:
        assert f"| `{name}` | {find_format(name).carries} |" in guide
