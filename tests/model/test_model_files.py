from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import towtank

from towtank.errors import StudyError
from towtank.model import load_model

MODEL = """\
classes:
  web:   {users: 50, think: 10 s}
  batch: {rate: 2 /s}
stations:
  cpu:   {servers: 4, discipline: ps,   demand: {web: 20 ms, batch: 100 ms}}
  disk:  {servers: 1, discipline: fcfs, demand: {web: 5 ms,  batch: 40 ms}}
  lan:   {discipline: delay, demand: {web: 30 ms}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.yaml"
    path.write_text(MODEL, "utf-8")
    return path


def faults(path: Path, text: str) -> list[str]:
    """Return the faults that `validate` prints, without the name of the file. Check that `solve` prints the same."""
    path.write_text(text, "utf-8")
    found, solved = towtank("validate", path), towtank("model", "solve", path)
    assert (found.returncode, solved.returncode) == (2, 2)
    assert found.stderr == solved.stderr
    assert "Traceback" not in found.stderr
    return [line.removeprefix(f"{path}:") for line in found.stderr.splitlines()]


def test_the_answer_has_the_agreed_keys_and_nothing_else_is_printed(file):
    done = towtank("model", "solve", file, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert {"throughput_per_s", "response_time_s", "users_in_system"} <= set(answer["classes"]["web"])
    assert {"utilization", "queue_length", "residence_time_s"} <= set(answer["stations"]["cpu"])
    assert list(answer["stations"]) == ["cpu", "disk", "lan"]
    assert list(answer["stations"]["lan"]["residence_time_s"]) == ["web"]
    assert answer["stations"]["cpu"]["utilization"] == pytest.approx(
        (answer["classes"]["web"]["throughput_per_s"] * 0.02 + 0.2) / 4, rel=1e-12
    )
    assert isinstance(answer["method"], str)
    assert answer["exact"] is False


def test_people_get_tables(file):
    done = towtank("model", "solve", file)
    assert done.returncode == 0
    assert "approximate" in done.stdout.splitlines()[0]
    assert "the bottleneck is disk" in done.stdout


def test_a_model_file_is_known_with_and_without_its_schema(file):
    assert towtank("validate", file).stdout == f"{file}: ok (model)\n"
    file.write_text(f"schema: towtank/model/1\n{MODEL}", "utf-8")
    assert towtank("validate", file).stdout == f"{file}: ok (model)\n"


def test_all_faults_of_form_come_at_once(tmp_path):
    text = MODEL.replace("50,", "50.5,").replace("2 /s", "-2 /s").replace("servers: 4", "servers: 0")
    text = text.replace("5 ms,", "-5 ms,").replace("discipline: delay", "discipline: dealy")
    found = faults(tmp_path / "m.yaml", text)
    assert [line.split(" must")[0] for line in found] == [
        "2:18: classes.web.users:",
        "3:17: classes.batch.rate:",
        "5:20: stations.cpu.servers:",
        "6:55: stations.disk.demand.web:",
        "7:23: stations.lan.discipline:",
    ]


def test_all_faults_of_meaning_come_at_once(tmp_path):
    text = """\
classes:
  web:   {users: 50, think: 10 s}
  batch: {rate: 2 /s, think: 0 s}
  none:  {think: 1 s}
stations:
  cpu:   {demand: {web: 20 ms, bach: 1 ms}}
  disk:  {service_time: 5 ms, demand: 5 ms}
  full:  {capacity: 3, demand: 1 ms}
pools:
  one: {size: 1, holds: [two, cpu]}
  two: {size: 1, holds: one}
forks:
  both: {branches: [cpu]}
"""
    found = faults(tmp_path / "m.yaml", text)
    assert [line.split(": must")[0] for line in found] == [
        "3:30: classes.batch.think",
        "4:10: classes.none",
        "6:32: stations.cpu.demand.bach",
        "7:39: stations.disk.demand",
        "8:21: stations.full.capacity",
        "10:25: pools.one.holds",
        "11:25: pools.two.holds",
        "13:20: forks.both.branches",
    ]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("  web:   {users: 50, think: 10 s}\n  batch: {rate: 2 /s}", "", "classes"),
        ("users: 50", "users: 0", "classes.web.users"),
        ("users: 50", "users: 10000000000", "classes.web.users"),
        ("rate: 2 /s", "rate: 0 /s", "classes.batch.rate"),
        ("20 ms", "20", "stations.cpu.demand.web"),
        ("servers: 4", "rates: [1, 0]", "stations.cpu.rates[1]"),
        ("servers: 4", "rates: [1], servers: 2", "stations.cpu.rates"),
        ("servers: 4", "scv: {web: -1}", "stations.cpu.scv.web"),
        ("servers: 4", "distribution: pareto", "stations.cpu.distribution"),
        ("{web: 20 ms, batch: 100 ms}", "0 s", "classes.batch"),
    ],
)
def test_one_fault_is_reported_at_its_place(tmp_path, old, new, where):
    text = MODEL.replace(old, new)
    if where == "classes.batch":
        text = text.replace("batch: 40 ms", "batch: 0 ms")
    found = faults(tmp_path / "m.yaml", text)
    assert any(f": {where}: must" in line for line in found), found


@pytest.mark.parametrize("demand", ["{web: 10 parsecs}", "{web: }", "{web: [1, 2]}"])
def test_a_demand_that_cannot_be_read_is_the_only_fault(tmp_path, demand):
    text = f"classes:\n  web: {{users: 4, think: 1 s}}\nstations:\n  cpu: {{demand: {demand}}}\n"
    (fault,) = faults(tmp_path / "model.yaml", text)
    assert fault.startswith("4:")


def test_a_route_without_a_way_out_is_refused(tmp_path):
    text = """\
classes: {web: {users: 2}}
stations: {a: {service_time: 1 s}, b: {service_time: 1 s}}
routing: {web: {start: {a: 1}, a: {b: 1}, b: {a: 1}}}
"""
    (found,) = faults(tmp_path / "m.yaml", text)
    assert found.startswith("3:16: routing.web: must have a path to 'end'")


def test_values_can_be_set_and_varied(file):
    done = towtank("model", "solve", file, "--users", "50,100", "--set", "stations.disk.servers=2", "--json")
    points = json.loads(done.stdout)["points"]
    assert [point["changes"] for point in points] == [{"classes.web.users": "50"}, {"classes.web.users": "100"}]
    assert points[0]["classes"]["web"]["throughput_per_s"] < points[1]["classes"]["web"]["throughput_per_s"]
    done = towtank("model", "solve", file, "--sweep", "stations.cpu.servers=1,2,4", "--users", "web=1,2", "--json")
    assert len(json.loads(done.stdout)["points"]) == 6


def test_a_variant_without_steady_state_does_not_hide_the_others(file):
    done = towtank("model", "solve", file, "--sweep", "classes.batch.rate=2 /s,30 /s", "--json")
    points = json.loads(done.stdout)["points"]
    assert done.returncode == 0
    assert points[0]["exact"] is False
    assert points[1]["faults"][0]["where"] == "stations.disk"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "stations.gpu.servers=8"], "stations.gpu.servers: must lead to a key of the model"),
        (["--set", "stations.cpu.servers=0"], "stations.cpu.servers: must be at least 1, got 0"),
        (["--set", "nonsense"], "--set: must be PATH=VALUE"),
        (["--users", "web=1,,2"], "--users: must be values separated by commas"),
        (["--method", "magic"], "--method: must be one of auto, exact"),
        (["--method", "exact"], "must be an approximate method or 'auto' for this model, got 'exact'"),
    ],
)
def test_wrong_options_are_reported_in_one_line(file, options, words):
    done = towtank("model", "solve", file, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(("text", "message"), [("null", "must not be empty"), ("{a", "must be YAML, got")])
def test_a_value_that_cannot_be_set_is_named_by_its_key(tmp_path, text, message):
    path = tmp_path / "model.yaml"
    path.write_text("classes: {a: {rate: 1 /s}}\nstations: {cpu: {service_time: 1 s}}\n", "utf-8")
    with pytest.raises(StudyError) as caught:
        load_model(path, {"stations.cpu.capacity": text})
    assert str(caught.value).startswith(f"<command line>: stations.cpu.capacity: {message}")
