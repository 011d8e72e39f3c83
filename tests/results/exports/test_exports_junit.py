"""Export as JUnit: a test case passes only if the results show that its condition is met; a missing or invalid result
is an error.
"""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from towtank.results.folder import write_json


def suites(path: Path) -> dict[str, ET.Element]:
    root = ET.parse(path).getroot()
    assert root.tag == "testsuites"
    found = {str(suite.get("name")).rpartition(": ")[2]: suite for suite in root}
    for name in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(name, "")) == sum(int(suite.get(name, "")) for suite in found.values())
    for suite in found.values():
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
        assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
        assert int(suite.get("errors", "")) == len(suite.findall("testcase/error"))
    return found


@pytest.fixture
def export(towtank, results):
    def run(*more: object) -> dict[str, ET.Element]:
        answer = towtank("export", results, "--to", "junit", *more)
        assert (answer.status, answer.err) == (0, "")
        return suites(results / "exports" / "junit.xml")

    return run


def change(path: Path, **fields: object) -> None:
    write_json(path, {**json.loads(path.read_text("utf-8")), **fields})


def objectives(results: Path, *found: dict[str, object]) -> None:
    study = json.loads((results / "study.json").read_text("utf-8"))["study"]
    change(results / "study.json", study={**study, "objectives": list(found)})


def test_objectives_are_cases(export):
    met, missed = export()["objectives"]
    assert met.get("name") == "p95 of open_all_searches < 1 s (search_index present)"
    # The objective is met, but the only run that shows this is suspect.
    assert [(part.tag, part.text) for part in met] == [("system-out", "depends on a suspect run: r005")]
    assert missed.get("name") == "p95 of open_all_searches < 1 s (search_index absent)"
    failure = missed.find("failure")
    assert failure is not None
    assert failure.get("message") == (
        "measured 1.9 s at users 72, search_index absent; the objective is met up to load 48"
    )


def test_valid_and_suspect_runs_pass_and_list_their_doubts(export):
    runs = export()["runs"]
    assert (runs.get("tests"), runs.get("errors"), runs.get("failures")) == ("8", "0", "0")
    first = runs[0]
    assert first.get("name") == "r001: measurement is valid (users 48, search_index absent)"
    assert first.get("time") == "29.000"
    assert "suspect: the mean response time is based on 27 independent values" in str(first.findtext("system-out"))


def test_missing_run_is_an_error(export, results):
    shutil.rmtree(results / "runs" / "r003")
    runs = export()["runs"]
    (case,) = [case for case in runs if case.find("error") is not None]
    assert case.get("name") == "r003: measurement is valid (users 24, search_index absent)"


def test_invalid_run_is_an_error_and_so_is_what_rests_on_it(export, results):
    change(results / "runs" / "r005" / "run.json", status="failed", reason="the server died")
    found = export()
    assert [str(case.get("name"))[:4] for case in found["runs"] if case.find("error") is not None] == ["r005"]
    error = found["objectives"][0].find("error")
    assert error is not None
    assert error.get("type") == "objective_not_valid"
    assert str(error.get("message")).endswith("but at load 72: r005 is invalid (the server died)")


def test_objective_without_a_deciding_run_is_an_error(export, results):
    objectives(
        results, {"text": "p95 of fly < 1 s", "metric": "p95", "transaction": "fly", "comparison": "<", "value": 1}
    )
    errors = [case.find("error") for case in export()["objectives"]]
    assert [None if error is None else error.get("type") for error in errors] == ["objective_not_measured"] * 2


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("throughput > 100 /s", 100.0, "measured 11.4 /s"),
        ("errors < 0 %", 0.0, "measured 0 %"),
        ("mean < 1 ms", 0.001, "measured 311 ms"),
    ],
)
def test_what_was_seen_is_in_the_unit_of_the_objective(export, results, text, value, shown):
    metric, comparison = text.split()[:2]
    objectives(results, {"text": text, "metric": metric, "transaction": None, "comparison": comparison, "value": value})
    failure = export()["objectives"][0].find("failure")
    assert failure is not None
    assert str(failure.get("message")).startswith(shown)


def test_only_the_chosen_runs_are_cases_and_no_other_is_missing(export):
    found = export("--run", "r004", "--run", "r008")
    assert [str(case.get("name"))[:4] for case in found["runs"]] == ["r004", "r008"]
    assert found["runs"].get("errors") == "0"
    assert len(found["objectives"]) == 1


def test_characters_that_xml_cannot_hold_are_replaced(export, results):
    text = "p95 < 1 s \x00\x1b[31m \ud800 <&>"
    document = json.loads((results / "study.json").read_text("utf-8"))
    document["study"]["name"] = text
    (results / "study.json").write_text(json.dumps(document), "utf-8")
    assert "objectives" in export()
    assert "\N{REPLACEMENT CHARACTER}[31m \N{REPLACEMENT CHARACTER} &lt;&amp;&gt;" in (
        results / "exports" / "junit.xml"
    ).read_text("utf-8")


def test_single_run_has_its_verdict_as_a_case(towtank, mixed):
    assert towtank("export", mixed.path, "--to", "junit").status == 0
    found = suites(mixed.path / "exports" / "junit.xml")
    assert found["objectives"].get("tests") == "0"
    (case,) = found["runs"]
    # 2 of 24 transactions in the steady stage failed. This makes the run invalid, so its test case is an error.
    assert case.find("error") is not None
    assert str(case.findtext("error")).startswith("invalid: 8.33 % of transactions failed, limit 1 %")
