"""`towtank.solve` and `towtank.simulate`: queueing networks from files and from Python mappings."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import towtank
from towtank.errors import StudyError

# M/M/1 queue with utilization U = 0.8 and service time S: response time R = S / (1 - U), and number of requests in the
# system Q = U / (1 - U); Kleinrock, Queueing Systems I, section 3.2.
WEB = {"classes": {"web": {"rate": "8 /s"}}, "stations": {"cpu": {"demand": {"web": "100 ms"}}}}


def test_a_model_is_solved_from_a_mapping_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text("classes:\n  web: {rate: 8 /s}\nstations:\n  cpu: {demand: {web: 100 ms}}\n", "utf-8")
    for model in (WEB, file, str(file), MappingProxyType(WEB)):
        found = towtank.solve(model)
        web, cpu = found.classes["web"], found.stations["cpu"]
        assert web.response_time_s == pytest.approx(0.5)
        assert web.throughput_per_s == pytest.approx(8.0)
        assert cpu.utilization == pytest.approx(0.8)
        assert cpu.queue_length == pytest.approx(4.0)
        assert cpu.residence_time_s["web"] == pytest.approx(0.5)
        assert found.exact and found.steady
        assert web.response_time_s is not None and web.response_time_s.interval is None
        assert (str(web.response_time_s), str(cpu.utilization)) == ("500 ms", "80 %")


def test_values_are_changed_by_path() -> None:
    found = towtank.solve(WEB, changes={"classes.web.rate": "5 /s", "stations.cpu.servers": 2})
    assert found.stations["cpu"].utilization == pytest.approx(0.25)
    of_numpy = {**WEB, "stations": {"cpu": {"demand": {"web": "100 ms"}, "servers": np.int64(2)}}}
    assert towtank.solve(of_numpy).stations["cpu"].utilization == pytest.approx(0.4)


def test_faults_name_their_place() -> None:
    with pytest.raises(StudyError) as raised:
        towtank.solve({"classes": {"web": {"rate": "8"}}, "stations": {"cpu": {"demand": {"wbe": "100 ms"}}}})
    assert {fault.where for fault in raised.value.faults} >= {"classes.web.rate", "stations.cpu.demand.wbe"}
    with pytest.raises(StudyError, match=r"towtank\.solve\(\): method: must be one of"):
        towtank.solve(WEB, method="best")
    with pytest.raises(StudyError, match="steady state"):
        towtank.solve(WEB, changes={"classes.web.rate": "20 /s"})


def test_arguments_are_named_as_they_were_given() -> None:
    with pytest.raises(StudyError) as raised:
        towtank.simulate(WEB, replications=1, precision="2 s")
    assert {(fault.file, fault.where) for fault in raised.value.faults} == {
        ("towtank.simulate()", "replications"),
        ("towtank.simulate()", "precision"),
    }
    assert "--" not in str(raised.value)


def test_a_simulation_has_intervals_and_repeats_with_its_seed() -> None:
    first = towtank.simulate(WEB, seed=7, precision=0.2, replications=4)
    response = first.classes["web"].response_time_s
    assert response is not None and response.interval is not None
    low, high = response.interval
    assert low < response < high
    assert response.confidence == 0.95
    assert first.classes["web"].percentiles_s["p95"] > response
    utilization = first.stations["cpu"].utilization
    assert utilization is not None and utilization.interval is not None
    assert first.stations["cpu"].residence_time_s["web"].interval is not None
    assert not first.exact and first.steady
    assert towtank.simulate(WEB, seed=7, precision=0.2, replications=4) == first
    assert towtank.simulate(WEB, seed=8, precision=0.2, replications=4) != first


def test_solutions_as_tables_and_in_notebooks() -> None:
    found = towtank.solve(WEB)
    assert next(iter(found.frame()))["response_time_s"] == pytest.approx(0.5)
    shown = found._repr_html_()
    assert '<td style="text-align:left">500 ms</td>' in shown
    assert repr(found) == "<Solution by M/M/1, web: 8 /s, response time 500 ms>"
    assert found.document["classes"]["web"]["response_time_s"] == pytest.approx(0.5)
