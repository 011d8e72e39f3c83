"""Python API for models: fits to results and tables, predictions, and sizing of hardware for a load."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pages import ROOT
from results_1 import RESULTS_1

import towtank
from towtank.errors import MeasurementError, ModelError, StudyError

MEASURED = ROOT / "examples" / "from-csv-to-size" / "measured.csv"


@pytest.fixture(scope="module")
def shop() -> towtank.Fit:
    return towtank.fit(MEASURED, "closed", servers=4, think=2.0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> towtank.Results:
    path = tmp_path_factory.mktemp("api") / "results-1"
    shutil.copytree(RESULTS_1, path)
    return towtank.open(path)


def test_a_fit_has_parameters_with_units_and_intervals(shop: towtank.Fit) -> None:
    document = shop.document
    demand = shop.parameters["bottleneck_demand_s"]
    assert (demand, demand.unit) == (document["bottleneck_demand_s"], "s")
    assert list(demand.interval or ()) == document["confidence_interval"]["bottleneck_demand_s"]
    assert shop.parameters["limit_throughput"].unit == "1/s"
    assert (shop.curve, shop.verdict, shop.label, shop.doubts) == ("closed", "supported", "", ())
    assert shop.held_out_error is not None and shop.held_out_error == document["held_out"]["worst_error"]
    # The interval of the held-out error is a prediction interval, relative to the measured value.
    assert shop.held_out_error.low is not None and shop.held_out_error.high is not None
    assert shop.held_out_error.low < shop.held_out_error < shop.held_out_error.high
    assert shop.held_out_error.high - shop.held_out_error.low > 0.02
    frame = shop.frame()
    assert frame["load"][:2] == (10.0, 10.0)
    assert frame["fitted_low"][0] < frame["fitted_throughput"][0] < frame["fitted_high"][0]


def test_a_think_time_may_be_a_number_or_a_text() -> None:
    assert (
        towtank.fit(MEASURED, "closed", servers=4, think="2 s").parameters
        == towtank.fit(MEASURED, "closed", servers=4, think=2).parameters
    )


def test_predictions_are_those_of_the_command(shop: towtank.Fit) -> None:
    row = next(row for row in shop.document["predictions"] if row["load"] == 225.0)
    found = shop.predict(225)
    assert found.throughput_per_s == row["throughput"]["curve"]
    assert found.throughput_per_s is not None
    assert list(found.throughput_per_s.interval or ()) == row["throughput"]["band_95"]
    assert found.response_time_s == row["response_s"]["curve"]
    assert (found.range, found.refused) == ("measured", "")


def test_several_loads_give_several_predictions_some_of_them_refused(shop: towtank.Fit) -> None:
    near, far = shop.predict([300, 5000])
    assert near.range == "beyond" and near.throughput_per_s is not None
    assert far.throughput_per_s is None and "times the highest load measured" in far.refused
    with pytest.raises(StudyError, match="users: must be loads above 0"):
        shop.predict(0)


def test_a_fit_is_written_as_a_model(shop: towtank.Fit, tmp_path: Path) -> None:
    solved = towtank.solve(shop.write(tmp_path / "shop.yaml"), changes={"classes.transactions.users": 200})
    throughput = solved.classes["transactions"].throughput_per_s
    predicted = shop.predict(200).throughput_per_s
    assert throughput is not None and predicted is not None
    assert throughput == pytest.approx(predicted, rel=0.02)
    assert throughput.interval is not None  # The interval is computed from bootstrap replicates of the fit.


def test_only_a_closed_curve_is_a_model() -> None:
    with pytest.raises(ModelError, match="closed curve"):
        towtank.fit(MEASURED, "usl").write("nowhere.yaml")


def test_a_configuration_is_chosen_by_its_label(results: towtank.Results) -> None:
    with pytest.raises(StudyError, match=r"towtank\.fit\(\): configuration: must choose one configuration") as raised:
        results.fit()
    assert "search_index present; search_index absent" in str(raised.value)
    assert results.fit(configuration="present").label == "search_index present"
    with pytest.raises(StudyError, match="must be part of the label"):
        results.fit(configuration="none")


@pytest.mark.waits
def test_results_predict_and_are_sized(results: towtank.Results) -> None:
    predicted = results.predict(100, configuration="present").throughput_per_s
    assert predicted is not None and predicted.interval is not None
    assert predicted.interval.low < predicted < predicted.interval.high
    sizing = results.size(users=100, objective="mean < 500 ms", configuration="present", simulation=False, keep=True)
    assert sizing.found and sizing.tiers["content"].cpus >= 2
    assert sizing.configuration.startswith("content")
    assert sizing.probability is not None and sizing.probability > "90 %"
    assert (results.folder / "sizing.json").is_file()


@pytest.mark.waits
def test_a_fit_is_sized(shop: towtank.Fit) -> None:
    options = {"think": 2.0, "objective": "p95 < 400 ms", "simulation": False}
    sizing = shop.size(users=500, cpus={"bottleneck": [4, 8]}, nodes={"bottleneck": "1..4"}, **options)
    tier = sizing.tiers["bottleneck"]
    assert sizing.source == MEASURED and sizing.document["source"] == str(MEASURED)
    assert tier.cpus in (4, 8) and 1 <= tier.nodes <= 4
    assert tier.utilization["bottleneck"].interval is not None
    assert sizing.load_at_limit is not None and sizing.load_at_limit > 500 and sizing.load_at_limit.unit == "users"
    assert sizing.headroom is not None and sizing.headroom == pytest.approx(sizing.load_at_limit / 500 - 1)
    assert sizing.steps[0] == "load now: N0 = 500 users"
    assert any("not simulated" in doubt for doubt in sizing.doubts)
    assert sizing.configuration in sizing._repr_html_()
    none = shop.size(users=5000, cpus={"bottleneck": 4}, nodes={"bottleneck": 1}, beyond=True, **options)
    assert not none.found and none.tiers == {} and none.probability is None
    assert "No hardware meets the objectives" in none._repr_html_()


def test_arguments_are_named_as_they_were_given(shop: towtank.Fit) -> None:
    with pytest.raises(StudyError) as raised:
        shop.size(users=500, think="2 s", objective="p95 < 400 sheep", cpus={"app": 2})
    assert {fault.file for fault in raised.value.faults} == {"towtank.size()"}
    assert "tiers.app.cpus" in {fault.where for fault in raised.value.faults}
    for arguments, message in (
        ({"curve": "cubic"}, r"towtank\.fit\(\): curve: must be one of"),
        ({"servers": 0}, r"towtank\.fit\(\): servers: must be at least 1"),
        ({"x": "nothing"}, r"measured\.csv:1:1: x: must be one of users"),
    ):
        with pytest.raises(StudyError, match=message):
            towtank.fit(MEASURED, **arguments)  # type: ignore[arg-type]
    with pytest.raises(StudyError, match=r"towtank\.fit\(\): source: .* does not exist"):
        towtank.fit("nothing.csv")
    with pytest.raises(StudyError, match=r"towtank\.size\(\): source: .* does not exist"):
        towtank.size("nothing.yaml", users=5)


def test_columns_are_those_of_a_table_and_configurations_those_of_results(results: towtank.Results) -> None:
    with pytest.raises(StudyError, match=r"towtank\.fit\(\): x: must not be given with a results folder"):
        results.fit(configuration="present", x="users")
    with pytest.raises(StudyError, match=r"towtank\.fit\(\): configuration: must be given with a results folder"):
        towtank.fit(MEASURED, configuration="present")


def test_points_that_no_curve_describes_predict_nothing(tmp_path: Path) -> None:
    path = tmp_path / "wild.csv"
    path.write_text("users,throughput\n" + "".join(f"{10 * n},{5 + 40 * (n % 2)}\n" for n in range(1, 11)), "utf-8")
    fit = towtank.fit(path)
    assert (fit.curve, fit.verdict) == (None, "rejected")
    with pytest.raises(MeasurementError, match="no curve describes"):
        fit.predict(20)
    assert "no curve" in fit._repr_html_()
    assert "usl is rejected" in towtank.fit(path, "usl").predict(110).refused


def test_notebooks_show_curve_verdict_and_parameters(shop: towtank.Fit) -> None:
    shown = shop._repr_html_()
    assert "verdict: <strong>supported</strong>" in shown
    assert "bottleneck_demand_s" in shown and "35.4 [34.4, 36.4] ms" in shown
    assert "data:image/svg+xml;base64," in shown


def test_a_loss_is_a_share_and_each_interval_of_a_day_is_sized(tmp_path: Path) -> None:
    """The queue M/M/1/1 loses the fraction a / (1 + a) of the arrivals: a half at a = 1 erlang, a third at a = 0.5
    erlang.
    """
    model, day = tmp_path / "model.yaml", tmp_path / "day.csv"
    model.write_text("classes: {calls: {rate: 1 /s}}\nstations: {line: {capacity: 1, service_time: 1 s}}\n", "utf-8")
    day.write_text("time,load\n00:00,1\n12:00,0.5\n", "utf-8")
    found = towtank.size(model, objective="loss < 60 %", cpus={"line": 1}, profile=day)
    (loss,) = found.scenarios[0].objectives
    assert loss.value is not None
    assert (loss.value.unit, loss.limit.unit) == ("ratio", "ratio")
    assert loss.value == pytest.approx(0.5)
    assert loss.limit == pytest.approx(0.6)
    assert [row["objectives"] for row in found.document["profile"]["intervals"]] == [["50 %"], ["33.3 %"]]
