"""Output of `towtank compare` as text and JSON, and the function `towtank.compare`."""

from __future__ import annotations

import csv
import json
import math
import re
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from in_process import towtank as run
from markdown_it import MarkdownIt
from results_1 import copy_of_results_1

import towtank
from towtank.analysis import side_of
from towtank.analysis.comparing.runs import Metric
from towtank.errors import StudyError

NAMES = ("search", "open", "save", "list", "login", "edit")
_BASES = np.array([10.0, 20.0, 15.0, 30.0, 8.0, 50.0])


def written(folder: Path, name: str, seed: int, factor: float = 1.0, errors: float = 0.0) -> Path:
    """Write a file with the requests of six transactions. The response times of the third transaction are multiplied by
    `factor`.
    """
    rng = np.random.default_rng(seed)
    count = 6000
    starts, kinds = np.sort(rng.uniform(0, 120, count)), rng.integers(0, 6, count)
    bases = _BASES * np.exp(rng.normal(0, 0.01, 6))
    elapsed = bases[kinds] * np.exp(rng.normal(0, 0.5, count)) * np.where(kinds == 2, factor, 1.0)
    ok = rng.uniform(size=count) >= errors
    rows = zip(starts, elapsed, ok, kinds, strict=True)
    lines = (f"{start:.6f},{each:.6f},{int(good)},{NAMES[kind]}\n" for start, each, good, kind in rows)
    path = folder / name
    path.write_text("start_s,elapsed_ms,ok,transaction\n" + "".join(lines))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        "a": [written(folder, f"a{number}.csv", number) for number in range(3)],
        "slower": [written(folder, f"b{number}.csv", 10 + number, 1.2) for number in range(3)],
        "equal": [written(folder, f"c{number}.csv", 20 + number) for number in range(3)],
        "broken": [written(folder, "d.csv", 30, errors=0.2)],
    }


def test_a_regression_ends_with_status_7_and_names_its_transaction(files: dict[str, list[Path]]) -> None:
    done = run("compare", "--a", *files["a"], "--b", *files["slower"], "--json")
    assert (done.returncode, done.stderr) == (7, "")
    document = json.loads(done.stdout)
    assert (document["schema"], document["verdict"]) == ("towtank/compare/1", "worse")
    worse = {each["transaction"] for each in document["metrics"] if each["verdict"] == "worse"}
    assert "save" in worse
    assert worse <= {"save", None}
    (mean,) = (
        each for each in document["metrics"] if (each["name"], each["transaction"]) == ("response_time_mean", "save")
    )
    assert mean["ratio"]["low"] < 1.2 < mean["ratio"]["high"]
    assert {each["name"] for each in document["metrics"]} == {
        "throughput", "response_time_mean", "response_time_p50", "response_time_p95", "response_time_p99", "errors",
    }  # fmt: skip
    assert document["least_detectable"] > 0
    assert document["differs_in"] == []


def test_equal_runs_end_with_status_0(files: dict[str, list[Path]]) -> None:
    done = run("compare", "--a", *files["a"], "--b", *files["equal"], "--threshold", "5%")
    assert done.returncode == 0
    assert "worse" not in done.stdout
    assert "with a probability of 80 %" in done.stdout


def test_one_run_a_side_is_undecided_and_says_how_many_it_takes(files: dict[str, list[Path]]) -> None:
    done = run("compare", files["a"][0], files["slower"][0])
    assert done.returncode == 0
    assert done.stdout.startswith("undecided (1 and 1 runs)")
    assert "runs of each result would probably decide" in done.stdout


def test_a_side_that_is_not_valid_ends_with_status_4(files: dict[str, list[Path]]) -> None:
    done = run("compare", "--a", *files["a"], "--b", *files["broken"])
    assert done.returncode == 4
    assert "not valid" in done.stdout
    assert "requests failed, limit 1 %" in done.stdout


def test_a_change_that_makes_requests_fail_is_a_regression_though_its_runs_are_not_valid(tmp_path: Path) -> None:
    a = [written(tmp_path, f"a{number}.csv", number) for number in range(3)]
    b = [written(tmp_path, f"b{number}.csv", 10 + number, errors=0.025) for number in range(3)]
    done = run("compare", "--a", *a, "--b", *b)
    assert done.returncode == 7
    assert done.stdout.startswith("B is worse: errors 0 % to 2.")
    assert "3 of 3 of B left out because requests failed" in done.stdout


def test_a_baseline_is_kept_compared_with_and_replaced(
    files: dict[str, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = run("compare", "--baseline", "main", "--keep", "--b", *files["a"])
    assert (first.returncode, first.stdout) == (0, "")
    assert "kept as baseline: .towtank/baselines/main.json (3 runs)" in first.stderr
    kept = tmp_path / ".towtank" / "baselines" / "main.json"
    assert kept.stat().st_size < 30_000
    for side, status in (("slower", 7), ("equal", 0), ("broken", 4)):
        done = run("compare", "--baseline", "main", "--b", *files[side], "--json")
        assert done.returncode == status
        direct = run("compare", "--a", *files["a"], "--b", *files[side], "--json")
        assert json.loads(done.stdout)["metrics"] == json.loads(direct.stdout)["metrics"]
    before = kept.read_text()
    assert run("compare", "--baseline", "main", "--keep", "--b", *files["broken"]).returncode == 4
    assert kept.read_text() == before
    replaced = run("compare", "--baseline", "main", "--keep", "--b", *files["slower"], "--json")
    assert replaced.returncode == 0
    assert json.loads(replaced.stdout)["runs"] == 3
    assert run("compare", "--baseline", "main", "--b", *files["slower"]).returncode == 0


def test_times_in_whole_milliseconds_keep_their_step_and_rows_of_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    names = []
    for side, mean in (("a", 0.5), ("b", 1.0)):
        for number in range(3):
            path = tmp_path / f"{side}{number}.csv"
            starts, elapsed = np.sort(rng.uniform(0, 60, 3000)), np.floor(rng.lognormal(np.log(mean), 0.5, 3000))
            lines = "".join(f"{start:.6f},{each:.0f}\n" for start, each in zip(starts, elapsed, strict=True))
            path.write_text("start_s,elapsed_ms\n" + lines)
            names.append(path)
    monkeypatch.chdir(tmp_path)
    direct = run("compare", "--a", *names[:3], "--b", *names[3:], "--json")
    document = json.loads(direct.stdout)
    rows = {each["name"]: each for each in document["metrics"]}
    assert rows["response_time_p50"]["ratio"] == {"value": None, "low": None, "high": None}
    assert rows["response_time_p50"]["verdict"] == "undecided"
    assert "response_time_p50 is 0 in a run, below the resolution" in " ".join(document["doubts"])
    # In every run, p99 is 1 ms or 3 ms. The resolution of 1 ms yields the interval of the ratio.
    assert rows["response_time_p99"]["ratio"]["low"] < rows["response_time_p99"]["ratio"]["value"]
    assert run("compare", "--baseline", "main", "--keep", "--b", *names[:3]).returncode == 0
    kept = run("compare", "--baseline", "main", "--b", *names[3:], "--json")
    assert json.loads(kept.stdout)["metrics"] == document["metrics"]


def test_faults_of_baselines(files: dict[str, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".towtank" / "baselines"
    folder.mkdir(parents=True)
    (folder / "bad.json").write_text('{"schema": "other", "runs": []}')
    (folder / "torn.json").write_text('{"schema": "towtank/base')
    result = files["a"][0]
    for arguments, message in (
        (["--baseline", "bad", result], "bad.json: schema: must be as `towtank compare --keep` writes it"),
        (["--baseline", "bad", result], "bad.json: runs: must be as"),
        (["--baseline", "torn", result], "torn.json: must be as"),
        (["--baseline", "../main", result], "--baseline: must be letters, digits"),
        (["--baseline", "main"], "--baseline: must be given with one result"),
        (["--baseline", "main", result, result], "--baseline: must be given with one result"),
        (["--baseline", "main", result, "--a", result], "--a: must not be given together with --baseline"),
        (["--baseline", "bda", result], "--baseline: must be a baseline that `towtank compare --keep` made, one of "),
        (["--baseline", "bda", result], "'bad', 'torn', got 'bda' instead, did you mean 'bad'?"),
        ([result, result, "--keep"], "--keep: must be given with --baseline NAME"),
    ):
        done = run("compare", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert message in done.stderr
    # The baseline file is missing, because a checkout lacks it or its name is misspelt. If the command created it from
    # the result, it would compare the result with itself and pass.
    assert not (folder / "bda.json").exists()
    monkeypatch.chdir(folder)
    done = run("compare", "--baseline", "main", result)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--keep` made; .towtank/baselines has none, got 'main' instead" in done.stderr


NAMES_OF_ATTACKERS = (
    "a|b<img src=x>", "x\r\r# Approved\r\r", "![i](http://e/x.png)", "[click](javascript:x)", "@octocat", "**bold**",
    "</td><script>", "`code`", "- item", "&lt;b&gt;", "www.example.com", "#12", "\u2028zz",
)  # fmt: skip


def test_markdown_shows_names_as_they_stand(tmp_path: Path) -> None:
    odd, count = tmp_path / "odd.csv", 100
    with odd.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["start_s", "elapsed_ms", "transaction"])
        for number in range(count * len(NAMES_OF_ATTACKERS)):
            rows.writerow([number / 50, 5 + number % 7, NAMES_OF_ATTACKERS[number % len(NAMES_OF_ATTACKERS)]])
    done = run("compare", odd, odd, "--markdown")
    assert done.stdout.startswith("**undecided")
    # markdown-it renders CommonMark and, like GitHub, tables.
    html = MarkdownIt("commonmark").enable("table").render(done.stdout)
    assert [html.count(tag) for tag in ("<table>", "<h1>", "<img", "<a ", "<script", "<em>", "<code>")] == [1] + [0] * 6
    assert html.count("<strong>") == 1
    shown = set(unescape(re.sub(r"<[^>]*>", "", html.replace("<!-- -->", ""))).splitlines())
    assert {"a|b<img src=x>", "![i](http://e/x.png)", "@octocat", "**bold**", "`code`", "&lt;b&gt;", "#12"} <= shown
    # On a terminal, the names are not interpreted as markup either.
    assert "[click](javascript:x)" in run("compare", odd, odd).stdout
    # User names, issue numbers and addresses are escaped, because code hosting sites would turn them into links.
    assert not re.search(r"@\w|#\d|[^\\]www\.e|://", done.stdout)
    assert "\r" not in done.stdout


def test_markdown_and_junit_state_what_the_runs_could_not_have_shown(
    files: dict[str, list[Path]], tmp_path: Path
) -> None:
    sides = ("--a", *files["a"], "--b", *files["slower"])
    document = json.loads(run("compare", *sides, "--json").stdout)
    least = {
        (each["name"], each["transaction"] or "all"): each["least_detectable"]
        for each in document["metrics"]
        if each["least_detectable"]
    }
    path = tmp_path / "compare.xml"
    rows = [
        [cell.strip().replace("\\", "") for cell in line.strip("|").split("|")]
        for line in run("compare", *sides, "--markdown", "--junit", path).stdout.splitlines()
        if line.startswith("|")
    ]
    assert rows[0][-1] == "detectable"
    shown = {(row[0], row[1]): float(row[-1].removesuffix(" %")) / 100 for row in rows[2:] if row[-1] != "-"}
    assert shown == pytest.approx(least, rel=0.05)
    suite = ET.parse(path).getroot()[0]
    assert {each.get("name"): each.get("value") for each in suite.iter("property")} == {
        "a": document["a"]["name"],
        "b": document["b"]["name"],
        "runs of a": "3",
        "runs of b": "3",
        "threshold": "2 %",
        "verdict": "worse",
    }
    cases = {str(case.get("name")): case for case in suite.iter("testcase")}
    assert len(cases) == len(document["metrics"]) == int(suite.get("tests", 0))
    states = {"worse": "failure", "undecided": "skipped", "same": "system-out", "better": "system-out"}
    for each in document["metrics"]:
        name = " of ".join(filter(None, (each["name"], each["transaction"])))
        (state,) = cases[f"{name} is not worse"]
        assert state.tag == states[each["verdict"]]
        text = state.get("message") or state.text or ""
        assert ("80 %" if each["least_detectable"] else "are ignored") in text
    assert suite.get("failures") == str(sum(each["verdict"] == "worse" for each in document["metrics"]))


def test_junit_of_a_comparison_without_valid_runs_is_an_error(files: dict[str, list[Path]], tmp_path: Path) -> None:
    path = tmp_path / "compare.xml"
    done = run("compare", "--a", *files["a"], "--b", *files["broken"], "--junit", path)
    assert done.returncode == 4
    suite = ET.parse(path).getroot()[0]
    assert suite.get("errors") == "1"
    (error,) = suite.iter("error")
    assert str(error.get("message")).startswith("not valid: ")
    assert run("compare", *files["a"][:2], "--junit", tmp_path).returncode == 2


def test_two_configurations_of_a_study(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    done = run("compare", f"{folder}:search_index present", f"{folder}:search_index absent", "--json")
    assert done.returncode == 7
    document = json.loads(done.stdout)
    names = {each["name"] for each in document["metrics"]}
    assert {"cpu_per_transaction", "throughput", "errors"} <= names
    percentiles = [
        (place, found)
        for figures in (each.figures for each in side_of([str(folder)]).runs)
        for place, found in figures.items()
        if place.metric in (Metric.P50, Metric.P95, Metric.P99)
    ]
    # The resolution is the width of a histogram bucket with three significant digits.
    assert {found.step / found.value for _, found in percentiles} == {1 / 1024}
    same = run("compare", folder, folder, "--json")
    assert same.returncode == 0
    ratios = [each["ratio"]["value"] for each in json.loads(same.stdout)["metrics"] if each["name"] != "errors"]
    assert ratios == [1.0] * len(ratios)
    # Equal recordings do not vary, so the power of their comparison is unknown.
    assert "these runs do not show which change they would detect" in run("compare", folder, folder).stdout


def test_a_run_counts_once_on_a_side(files: dict[str, list[Path]], tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    copy = tmp_path / "copy.csv"
    copy.write_bytes(files["a"][0].read_bytes())
    link = tmp_path / "link.csv"
    link.symlink_to(files["a"][0])
    first, other = files["a"][0], files["a"][1]
    for repeated, message in (
        ([first, first], f"{first}: must be runs that this side does not have yet, got this result again instead"),
        ([first, copy], f"{copy}: must be runs that this side does not have yet, got the content of {first} again"),
        ([first, link], f"{link}: must be runs"),
        ([folder, folder / "runs" / "r003"], "r003: must be runs that this side does not have yet, got"),
        ([folder, f"{folder}:search_index present"], "must be runs that this side does not have yet"),
    ):
        for sides in (["--a", *repeated, "--b", other], ["--a", other, "--b", *repeated]):
            done = run("compare", *sides)
            assert (done.returncode, done.stdout) == (2, ""), sides
            assert message in done.stderr
    # Two configurations of one results folder have no run in common, so both may be on the same side.
    done = run("compare", "--a", f"{folder}:search_index present", f"{folder}:search_index absent", "--b", folder)
    assert "must be runs that this side" not in done.stderr


def test_a_transaction_that_is_missing_is_named_and_nothing_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = f"{copy_of_results_1(tmp_path / 'results').path}:search_index present"
    monkeypatch.chdir(tmp_path)
    assert run("compare", result, "--baseline", "main", "--keep").returncode == 0
    path = tmp_path / ".towtank" / "baselines" / "main.json"
    kept = json.loads(path.read_text())
    assert {"download", "add_document"} <= set(kept["runs"][0]["transactions"])
    for each in kept["runs"]:
        each["transactions"].append("export")
    path.write_text(json.dumps(kept))
    done = run("compare", result, "--baseline", "main", "--json")
    document = json.loads(done.stdout)
    (difference,) = (each for each in document["differs_in"] if each["what"] == "transactions")
    assert "export" in difference["a"]
    assert "export" not in difference["b"]
    assert document["verdict"] == "undecided"
    assert run("compare", result, "--baseline", "main").stdout.splitlines()[0].endswith("; B has no export)")


@pytest.mark.parametrize("threshold", [2, -0.5, 0.0, math.nan, "0 %", "x"])
def test_a_threshold_is_a_share(files: dict[str, list[Path]], threshold: object) -> None:
    with pytest.raises(StudyError, match="threshold: must be"):
        towtank.compare(files["a"], files["slower"], threshold=threshold)


def test_faults_of_the_command_line(files: dict[str, list[Path]], tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    for arguments, message in (
        ([files["a"][0]], "must be two results"),
        (["--a", files["a"][0]], "must be given with --b"),
        ([files["a"][0], files["a"][1], "--a", "x", "--b", "y"], "must not be given together with A and B"),
        ([files["a"][0], "missing"], "missing: must be a result file, got a path that does not exist instead"),
        ([files["a"][0], files["a"][1], "--threshold", "2"], "--threshold: must be a share in %"),
        ([files["a"][0], files["a"][1], "--threshold", "0 %"], "--threshold: must be above 0"),
        ([folder, f"{folder}:search_index gone"], "must be the label of a configuration or a part of only one, of"),
        ([folder, f"{folder}:search_index"], "got 'search_index' instead"),
        ([folder, files["a"][0]], "must be runs of a configuration and load that both sides have"),
    ):
        done = run("compare", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert message in done.stderr


def test_a_part_of_the_label_selects_a_configuration(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    whole = towtank.compare(f"{folder}:search_index present", f"{folder}:search_index absent")
    part = towtank.compare(f"{folder}:present", f"{folder}:absent")
    assert part.metrics == whole.metrics != ()


def test_the_python_function_has_the_words_of_the_document(files: dict[str, list[Path]]) -> None:
    found = towtank.compare(files["a"], files["slower"])
    assert (found.verdict, found.valid) == ("worse", True)
    (mean,) = (each for each in found.metrics if (each.name, each.transaction) == ("response_time_mean", "save"))
    assert mean.verdict == "worse"
    assert mean.ratio.low < 1.2 < mean.ratio.high
    assert found.least_detectable == found.document["least_detectable"]
    assert found.differs_in == ()
    assert towtank.compare(files["a"], files["slower"], threshold=0.5).verdict != "worse"
