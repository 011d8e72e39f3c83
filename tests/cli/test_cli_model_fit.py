"""Output of `towtank model fit` and `towtank model demands` as text and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import DATA, case
from results_1 import RESULTS_1, copy_of_results_1

from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel
from towtank.cli import main
from towtank.cli.fit_table import _classes, _knees, _resources
from towtank.model import ConfigurationDemands, FittedConfiguration, FittedDemand
from towtank.model.fitting.demand_levels import demand_from_levels
from towtank.report import format as people
from towtank.results.folder import write_json

TOLD = "the disk was full"


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    status = main(["model", *arguments])
    found = capsys.readouterr()
    return status, found.out, found.err


def document_of(capsys: Any, *arguments: str) -> dict[str, Any]:
    status, out, _ = run(capsys, *arguments, "--json")
    assert status == 0, out
    return dict(json.loads(out, parse_constant=_not_json))


def _not_json(word: str) -> Any:
    raise AssertionError(f"{word} is not valid JSON")


def test_the_contract_of_a_usl_fit(capsys: Any) -> None:
    source = str(DATA / "usl_specsdm91.csv")
    found = document_of(capsys, "fit", "usl", source, "--x", "load", "--y", "throughput")
    verified = case("V44")["verified"]
    assert found["schema"] == "towtank/model-fit/1"
    assert found["lambda"] == pytest.approx(verified["gamma"], rel=1e-5)
    assert found["sigma"] == pytest.approx(verified["sigma"], rel=1e-5)
    assert found["kappa"] == pytest.approx(verified["kappa"], rel=1e-5)
    assert found["peak_load"] == pytest.approx(verified["n_peak"], rel=1e-5)
    assert found["peak_throughput"] == pytest.approx(verified["x_peak"], rel=1e-5)
    assert 0.98 < found["r_squared"] < 1
    interval = found["confidence_interval"]
    assert interval["sigma"] == pytest.approx(verified["ci95"]["sigma"], rel=1e-3)
    low, high = interval["peak_load"]
    assert low < found["peak_load"] < high
    assert found["held_out"]["refitted"] is True
    assert found["points"][0]["fitted_throughput"] == pytest.approx(verified["fitted"][0], rel=1e-5)
    assert {row["range"] for row in found["predictions"]} == {"measured", "beyond"}


def test_a_fit_without_a_curve_chooses_one(capsys: Any) -> None:
    found = document_of(capsys, "fit", str(DATA / "usl_raytracer.csv"))
    assert (found["asked"], found["curve"]) == ("auto", "amdahl")
    assert {candidate["curve"] for candidate in found["choice"]["candidates"]} == {"usl", "amdahl", "linear", "closed"}
    assert found["peak_load"] is None
    assert found["kappa"] == 0


def test_the_errors_of_curves_that_were_tried_have_intervals(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the chosen curve is its held-out error, with an interval.

    The table shows as many digits of an error as its interval supports.
    """
    source = str(RESULTS_1)
    found = document_of(capsys, "fit", source, "--configuration", "present")["configurations"][0]
    tried = {candidate["curve"]: candidate for candidate in found["choice"]["candidates"]}
    chosen = tried[found["curve"]]
    (row,) = found["held_out"]["points"]
    ends = [end / row["measured_throughput"] - 1 for end in row["throughput_band_95"]]
    assert chosen["held_out_interval"] == pytest.approx(ends)
    low, high = chosen["held_out_interval"]
    assert low < chosen["held_out_error"] < high
    # The held-out error of the straight line is 24 % ± 26 percentage points, so two digits are printed.
    assert tried["linear"]["held_out_interval"] == pytest.approx([-0.02, 0.50], abs=0.02)
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = run(capsys, "fit", source, "--configuration", "present")
    assert status == 0
    line = next(line for line in out.splitlines() if line.startswith("│ linear"))
    assert re.search(r"\+24 \[-2, 50\] %", line)
    assert re.search(r"best \(-1 \[-\d+, \d+\] %", out)


def test_the_tables_for_people(capsys: Any) -> None:
    status, out, _ = run(capsys, "fit", "usl", str(DATA / "usl_raytracer.csv"), "--at", "96,1000")
    assert status == 0
    assert "rejected" in out.splitlines()[0]
    assert "kappa is at its bound 0" in out
    assert "no prediction at 96, 1000" in out
    assert re.search(r"held-out error [+-]?[\d.]+ \[-?[\d.]+, -?[\d.]+\] %\n", out)
    assert "Traceback" not in out


def test_a_value_without_an_interval_or_with_one_end_has_few_digits() -> None:
    rows = [
        {"kind": "objective", "load": 53.964, "low": None, "high": None, "confidence": 0.95, "how": "interpolated"},
        {"kind": "peak", "load": 1112.4, "low": 983.1, "high": None, "confidence": 0.95, "how": "of the curve"},
        {"kind": "model", "load": 236.12, "low": 225.9, "high": 248.3, "confidence": 0.95, "how": "of the curve"},
    ]
    columns = _knees(FittedConfiguration.model_validate({"knees": rows}).knees).columns
    assert list(columns[1].cells) == ["54", "1,110", "236"]
    assert list(columns[2].cells) == ["-", "980 - -", "226 - 248"]


def test_the_trend_of_a_demand_has_the_digits_that_its_ends_support() -> None:
    """At the ends of the measured range, the fitted parabola has the slopes 12.5 ± 3.7 ms and 25.3 ± 3.8 ms."""
    rate = np.array([10.0, 20, 40, 60, 80])
    found = demand_from_levels(rate, 0.01 * rate + 0.0001 * rate**2 + 1e-2 * np.array([1, -1, 1, 1, -1]), 1)
    assert found is not None
    (shown,) = _resources({"web": FittedDemand.model_validate({"servers": 1, **found.document()})}).columns[5].cells
    assert shown == "grows from 13 [9, 16] ms to 25 [21, 29] ms (p = 0.017)"


def test_estimates_by_class_have_the_digits_of_the_interval() -> None:
    """The estimate's interval of 37 to 63 ms does not support tenths of a millisecond."""
    demand: Any = SimpleNamespace(value=0.0452, low=0.0371, high=0.0633, identified=True, why_not=())
    demand.lowest_estimate_s, demand.highest_estimate_s = -0.00144, 0.0499
    found: Any = SimpleNamespace(classes={"a": demand}, variance_inflation={"a": 1.0})
    table = _classes(found)
    assert list(table.columns[3].cells) == ["-1 - 50 ms"]
    assert people.seconds_like((-0.00144, 0.0499), demand) == "−1 to 50\N{NO-BREAK SPACE}ms"
    demand.low = demand.high = None
    table = _classes(found)
    assert list(table.columns[3].cells) == ["-1.44 ms - 49.9 ms"]


def test_highest_levels_are_held_out(capsys: Any) -> None:
    found = document_of(capsys, "fit", "amdahl", str(DATA / "usl_raytracer.csv"), "--hold-out", "2")
    assert [row["load"] for row in found["held_out"]["points"]] == [48.0, 64.0]
    assert found["held_out"]["refitted"] is False
    assert found["points"][-1]["fitted_throughput"] is None
    assert found["degrees_of_freedom"] == 7


def test_results_are_fitted_by_configuration_and_written_as_a_model(capsys: Any, tmp_path: Path) -> None:
    out = tmp_path / "model.yaml"
    arguments = ("fit", "closed", str(RESULTS_1), "--configuration", "present", "--out", str(out))
    found = document_of(capsys, *arguments)["configurations"][0]
    # The recorded system has one server with a service time of 17.8 ms, and users with a think time of 1 s.
    low, high = found["confidence_interval"]["bottleneck_demand_s"]
    assert low < 0.0178 < high
    knee = next(found_knee for found_knee in found["knees"] if found_knee["kind"] == "model")
    assert knee["low"] < (0.0178 + 1.0) / 0.0178 < knee["high"]
    assert found["shape"]["kind"] == "cpu"
    assert found["bottleneck"] == "content"
    assert abs(found["held_out"]["points"][0]["error"]) < 0.05
    assert abs(found["held_out"]["points"][0]["response_error"]) < 0.10
    assert max(abs(row["error"]) for row in found["model"]["check"]) < 0.05
    text = out.read_text("utf-8")
    assert "content: {servers: 1, discipline: ps, demand: {transactions: " in text
    assert str(RESULTS_1) in text
    (row,) = found["held_out"]["points"]
    low, high = (end / row["measured_throughput"] - 1 for end in row["throughput_band_95"])
    assert f"  held_out_interval: [{low:.4g}, {high:.4g}]\n" in text
    assert main(["validate", str(out)]) == 0


def test_a_summary_without_factors_has_those_of_the_manifest(capsys: Any, tmp_path: Path) -> None:
    results = copy_of_results_1(tmp_path / "results")
    before = document_of(capsys, "fit", "linear", str(results.path))
    for path in results.path.glob("runs/*/summary.json"):
        summary = json.loads(path.read_text("utf-8"))
        del summary["factors"]
        path.write_text(json.dumps(summary))
    assert document_of(capsys, "fit", "linear", str(results.path)) == before


def test_a_run_that_fails_the_audit_is_not_modelled(capsys: Any, tmp_path: Path) -> None:
    results = copy_of_results_1(tmp_path / "results")
    document_of(capsys, "fit", "linear", str(results.path))
    run_of = {}
    for path in results.path.glob("runs/*/summary.json"):
        summary = json.loads(path.read_text("utf-8"))
        if summary["factors"]["search_index"] == "present":
            run_of[summary["users"]["asked"]] = (path, summary)
    path, summary = run_of[48]
    summary["laws"]["little"] |= {"z_s": 0.1, "residual": 0.8, "holds": False}
    write_json(path, summary)
    found = document_of(capsys, "fit", "linear", str(results.path), "--configuration", "present")["configurations"][0]
    assert [excluded["run"] for excluded in found["excluded"]] == [summary["run"]]
    assert "suspect is think time" in found["excluded"][0]["why"]
    assert 48.0 not in [point["load"] for point in found["points"]]


def test_invalid_runs_are_not_modelled_and_nothing_left_is_status_4(capsys: Any, tmp_path: Path) -> None:
    results = copy_of_results_1(tmp_path / "results")
    document_of(capsys, "fit", "linear", str(results.path))
    for path in results.path.glob("runs/*/summary.json"):
        summary = json.loads(path.read_text("utf-8"))
        summary["verdict"] = {
            "level": "invalid",
            "reasons": [Doubt(DoubtKind.DISK_FULL, DoubtLevel.INVALID, TOLD).document()],
        }
        write_json(path, summary)
    status, out, err = run(capsys, "fit", "auto", str(results.path), "--json")
    assert (status, out) == (4, "")
    assert "no run can be modelled" in err
    assert err.count(TOLD) == 8


def test_every_curve_rejected_is_status_4_with_the_document(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "users,throughput\n"
        + "\n".join(f"{n},{x}" for n, x in zip(range(1, 9), [10, 60, 12, 80, 9, 70, 11, 90], strict=True))
    )
    status, out, _ = run(capsys, "fit", str(path), "--json")
    assert status == 4
    found = json.loads(out)
    assert (found["curve"], found["verdict"]["level"]) == (None, "rejected")


@pytest.mark.waits
def test_demands_of_a_results_folder(capsys: Any) -> None:
    found = document_of(capsys, "demands", str(RESULTS_1))
    assert found["schema"] == "towtank/model-demands/1"
    configuration = found["configurations"][0]
    assert (
        configuration["resources"]["content"]["demand_s"]["low"]
        < 0.0178
        < configuration["resources"]["content"]["demand_s"]["high"]
    )
    assert configuration["classes"]["content"]["condition_number"] > 1
    demands = ConfigurationDemands.model_validate(configuration).resources
    columns = {str(column.header): list(column.cells) for column in _resources(demands).columns}
    assert "[" in columns["background, servers"][list(configuration["resources"]).index("content")]
    status, out, _ = run(capsys, "demands", str(RESULTS_1))
    assert status == 0
    assert "by class, content" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "usl"), "CSV|RESULTS: must name a CSV file or a results folder"),
        (("fit", "cubic", "FILE"), "CURVE: must be one of usl, amdahl, linear, closed, load-dependent, auto"),
        (("fit", "usl", "no-such.csv"), "which does not exist"),
        (("fit", "usl", "FOLDER"), "got the folder"),
        (("fit", "usl", "FILE", "--at", "x"), "--at: must be loads above 0"),
        (("fit", "usl", "FILE", "--servers", "0"), "--servers: must be at least 1"),
        (("fit", "usl", "FILE", "--hold-out", "0"), "--hold-out: must be at least 1"),
        (("fit", "usl", "FILE", "--hold-out", "99"), "held out: must be fewer than the 7 levels"),
        (
            ("fit", "usl", "FILE", "--out", "m.yaml"),
            "--out: must be given with closed, load-dependent, auto or network",
        ),
        (("fit", "usl", "FILE", "--configuration", "a"), "--configuration: must be given with a results folder only"),
        (("fit", "usl", "RESULTS", "--x", "users"), "--x: must not be given with a results folder"),
        (("fit", "usl", "RESULTS", "--configuration", "nothing"), "--configuration: must be part of the label"),
        (("fit", "closed", "RESULTS", "--out", "m.yaml"), "must be given for one configuration"),
        (("fit", "usl", "RUN"), "CSV|RESULTS: must be a CSV file, a results folder or its study-summary.json, got"),
        (("demands", "FILE"), "RESULTS: must be a results folder"),
    ],
)
def test_wrong_command_lines(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the current folder may not be writable
    places = {"FILE": str(DATA / "usl_specsdm91.csv"), "RESULTS": str(RESULTS_1), "FOLDER": str(tmp_path)}
    places["RUN"] = str(RESULTS_1 / "runs" / "r001" / "summary.json")
    status, out, err = run(capsys, *(places.get(argument, argument) for argument in arguments))
    assert (status, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_three_points_have_no_usl(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("users,throughput\n1,10\n2,19\n4,33\n")
    status, _, err = run(capsys, "fit", "usl", str(path))
    assert status == 2
    assert "must have at least 4 different loads for 3 parameters, got 3" in err


def test_the_folder_of_a_summary_alone(capsys: Any, tmp_path: Path) -> None:
    text = (RESULTS_1 / "study-summary.json").read_text("utf-8")
    (tmp_path / "study-summary.json").write_text(text, "utf-8")
    found = document_of(capsys, "fit", "closed", str(tmp_path), "--configuration", "present")
    assert found["configurations"][0]["curve"] == "closed"


def test_a_configuration_with_too_few_loads_does_not_cost_the_others(capsys: Any) -> None:
    found = document_of(capsys, "fit", "usl", str(RESULTS_1))["configurations"]
    present, absent = found
    assert present["curve"] == "usl"
    # One of the four runs fails the audit of its load, so only three load levels remain.
    assert (absent["curve"], absent["verdict"]["level"]) == (None, "rejected")
    assert "at least 4 different loads" in absent["verdict"]["reasons"][0]["text"]


def test_a_demand_that_changes_needs_the_use_of_the_bottleneck(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("users,x\n20,19\n50,48\n80,76\n105,98\n190,125\n")
    status, out, err = run(capsys, "fit", "load-dependent", str(path), "--y", "x")
    assert (status, out) == (2, "")
    assert "must have the utilization of the bottleneck at each level, got none" in err
    assert "--busy" in err
