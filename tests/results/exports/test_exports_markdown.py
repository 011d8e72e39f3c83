from __future__ import annotations

import json
import re
import shutil
from types import SimpleNamespace

import pytest

from towtank.results.exports import markdown_format
from towtank.results.exports.markdown_format import escaped
from towtank.results.folder import write_json

_CELL = re.compile(r"(?<!\\)\|")


def table(page: str, heading: str) -> list[list[str]]:
    lines = page.partition(f"### {heading}\n\n")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines]


@pytest.fixture
def page(towtank, results) -> str:
    answer = towtank("export", results, "--to", "markdown", "--out", "-")
    assert answer.status == 0
    return answer.out


def test_page_has_headline_verdict_and_numbers_of_the_summary(page):
    lines = page.splitlines()
    assert lines[0] == "## Users of a content server (synthetic test data)"
    assert lines[2].startswith("**Found.** **With `search_index = present`, the system meets ")
    assert "; throughput reaches 54.4 transactions/s" in lines[2]
    assert lines[4].startswith("**How sure.** **")
    assert lines[6].startswith("**What to do.** ")
    assert lines[8] == "Verdict: **suspect** (runs: 4 valid, 4 suspect)"
    rows = table(page, "Results")
    assert rows[0][:3] == ["configuration", "load", "throughput [1/s]"]
    assert len(rows) == 2 + 8
    assert rows[2][:6] == [
        "search_index present",
        "12 users",
        "11.4 (10.1 to 12.9)",
        "21.8 ms",  # This value has no interval, because the steady stage of 20 s is too short for an interval.
        "75 ms",
        "0 %",
    ]
    assert rows[2][6] == "r008 valid"
    assert {len(row) for row in rows} == {7}


def test_page_has_the_whole_conclusion_with_commands_as_code(results):
    step = "`towtank run FOLDER --set a_b=[1]` would *probably* decide."
    conclusion = {
        "found": ["It is *so*.", "Also so."],
        "open": ["Not `that`."],
        "certainty": "fairly sure",
        "sure": ["All runs count."],
        "do": ["Keep it."],
        "measure": [step],
    }
    lines = list(markdown_format._conclusion(SimpleNamespace(summary={"conclusion": conclusion}, path=results)))
    assert lines == [
        r"**Found.** **It is \*so\*.** Also so." + "\n",
        "**Not answered.** Not `that`.\n",
        "**How sure.** **Fairly sure** (second of four degrees: a part of the evidence is weak). All runs count.\n",
        f"**What to do.** Keep it. To be surer: `towtank run {results.name} --set a_b=[1]` would "
        r"\*probably\* decide." + "\n",
    ]


def test_limits_that_the_study_relaxed_are_named_with_the_verdict(towtank, results):
    manifest = json.loads((results / "study.json").read_text("utf-8"))
    manifest["study"]["limits"] = {"interference": 1.0}
    write_json(results / "study.json", manifest)
    page = towtank("export", results, "--to", "markdown", "--out", "-").out
    assert "Verdict: **suspect with relaxed limits** (runs: 4 valid, 4 suspect)" in page.splitlines()


def test_objectives_are_a_table(page):
    rows = table(page, "Objectives")
    name = "p95 of open_all_searches \\< 1 s"
    doubted = "met; depends on a suspect run: r005"
    assert rows[2] == [name, "search_index present", doubted, "689 ms", "72", "72"]
    assert [rows[3][0], rows[3][1], *rows[3][3:]] == [name, "search_index absent", "1.9 s", "72", "48"]
    assert rows[3][2].startswith("**missed**; depends on ")


def test_doubts_and_missing_runs_are_listed(towtank, results):
    shutil.rmtree(results / "runs" / "r008")
    page = towtank("export", results, "--to", "markdown", "--out", "-").out
    assert "(runs: 3 valid, 4 suspect, 1 missing)" in page
    assert "- r008 **missing**: this run of the design has no results." in page
    assert "- r001 **suspect**: the mean response time is based on 27 independent values" in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<img src=x>", "\\<img src=x\\>"),
        ("two\nlines\r\n", "two lines"),
        ("*bold* `code` [link](x) #1 ~x~", "\\*bold\\* \\`code\\` \\[link\\](x) \\#1 \\~x\\~"),
        ("search_index _x_", "search_index \\_x\\_"),
        ("a\\b", "a\\\\b"),
    ],
)
def test_names_are_shown_as_they_are(text, shown):
    assert escaped(text) == shown


def test_page_of_names_with_marks_keeps_its_tables(towtank, results):
    document = json.loads((results / "study.json").read_text("utf-8"))
    document["study"]["title"] = "# <script>|"
    document["study"]["objectives"][0]["text"] = "p95 | `x`"
    write_json(results / "study.json", document)
    page = towtank("export", results, "--to", "markdown", "--out", "-").out
    assert page.startswith("## \\# \\<script\\>\\|\n")
    assert {len(row) for row in table(page, "Objectives")} == {6}


def test_github_appends_to_the_summary_of_the_step(towtank, results, tmp_path, monkeypatch):
    summary = tmp_path / "step"
    summary.write_text("before, without a line break")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    answer = towtank("export", results, "--to", "github", "--json")
    assert answer.status == 0
    result = json.loads(answer.out)
    page = (results / "exports" / "summary.md").read_text("utf-8")
    assert (result["files"], result["appended_to"]) == ([str(results / "exports" / "summary.md")], str(summary))
    assert summary.read_text("utf-8") == f"before, without a line break\n{page}"
    assert towtank("export", results, "--to", "github").status == 0
    assert summary.read_text("utf-8") == f"before, without a line break\n{page}{page}"


def test_markdown_leaves_the_summary_of_the_step_alone(towtank, results, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step"))
    assert towtank("export", results, "--to", "markdown").status == 0
    assert not (tmp_path / "step").exists()


@pytest.mark.parametrize("value", [None, "", "missing/step", "."])
def test_github_without_a_summary_to_append_to_is_refused(towtank, results, tmp_path, monkeypatch, value):
    if value is not None:
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", value and str(tmp_path / value))
    answer = towtank("export", results, "--to", "github")
    assert answer.status == 2
    assert "$GITHUB_STEP_SUMMARY: must name" in answer.err
    assert not (results / "exports").exists()


def test_summary_that_github_would_not_show_is_refused(towtank, results, tmp_path, monkeypatch):
    summary = tmp_path / "step"
    summary.write_bytes(b"x" * (1024 * 1024 - 100))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    answer = towtank("export", results, "--to", "github")
    assert answer.status == 1
    assert "it would be larger than 1 MiB" in answer.err
    assert summary.stat().st_size == 1024 * 1024 - 100
    assert (results / "exports" / "summary.md").is_file()
