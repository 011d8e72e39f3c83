"""Output of `towtank size` as text and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from results_1 import RESULTS_1, copy_of_results_1
from sizing import sized, written

from towtank.cli import main
from towtank.model import load_model, solve_models
from towtank.report.content import build_document
from towtank.report.html import render
from towtank.report.source import load_results

MODEL = """
classes:
  web: {users: 200, think: 2 s}
stations:
  app: {servers: 4, discipline: ps, demand: 40 ms}
  db: {servers: 2, discipline: ps, demand: 25 ms}
"""
SIZING = """
schema: towtank/sizing/1
load: {users: 300, start: 2026-01-01}
objectives: [mean < 200 ms]
tiers:
  app: {cpus: 1..16, nodes: 1..4}
  db: {cpus: 1..16}
"""
MACHINES = """
schema: towtank/machine/1
machines:
  old: {cpus: 4, memory: 16 GiB, ratings: {towtank: 400}, price: {amount: 100, currency: EUR, per: month}}
  twice: {cpus: 4, memory: 16 GiB, ratings: {towtank: 800}, price: {amount: 150, currency: EUR, per: month}}
  unsure: {cpus: 4, memory: 16 GiB, ratings: {towtank: {value: 800, low: 400, high: 1600}}}
  foreign: {cpus: 4, ratings: {other: 800}}
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    return written(tmp_path, "model.yaml", MODEL)


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    status = main(["size", *arguments])
    found = capsys.readouterr()
    return status, found.out, found.err


def mean_of(tmp_path: Path, **changes: str) -> float:
    """Return the mean response time of the model with changed values, from the solver itself."""
    document = load_model(tmp_path / "model.yaml", {key.replace("__", "."): value for key, value in changes.items()})
    return float(solve_models([document.document])[0].solution.document()["classes"]["web"]["response_time_s"])


def test_what_if_says_what_the_changed_model_says(model: str, tmp_path: Path, capsys: Any) -> None:
    asked = ["think 1 s", "demand db x0.5", "cpus app=8", "cpu of app x2", "users 100"]
    options = [text for question in asked for text in ("--what-if", question)]
    found = sized(capsys, model, "--objective", "mean < 10 s", "--cpus", "app=4", "--cpus", "db=2", *options)
    seen = [row["classes"]["web"]["response_time_s"] for row in found["what_if"]]
    expected = [
        mean_of(tmp_path),
        mean_of(tmp_path, classes__web__think="1 s"),
        mean_of(tmp_path, stations__db__demand="12.5 ms"),
        mean_of(tmp_path, stations__app__servers="8"),
        mean_of(tmp_path, stations__app__demand="20 ms"),
        mean_of(tmp_path, classes__web__users="100"),
    ]
    assert seen == pytest.approx(expected, rel=1e-9)
    assert [row["what_if"] for row in found["what_if"]] == ["as it is", *asked]


def test_changes_of_one_question_add_up(model: str, tmp_path: Path, capsys: Any) -> None:
    options = ("--objective", "mean < 10 s", "--cpus", "app=4", "--cpus", "db=2")
    found = sized(capsys, model, *options, "--what-if", "think 1 s, demand db.web x0.5, cpu of app x2")
    changed = mean_of(
        tmp_path, classes__web__think="1 s", stations__db__demand="12.5 ms", stations__app__demand="20 ms"
    )
    assert found["what_if"][1]["classes"]["web"]["response_time_s"] == pytest.approx(changed, rel=1e-9)


def test_wrong_what_ifs_are_reported_with_their_place(model: str, capsys: Any) -> None:
    options = [text for question in ("cpux 2", "cpus app=0", "think 1 s, demand disk x2", "nodes x=3", "mix web=50 %")
               for text in ("--what-if", question)]  # fmt: skip
    status, _, err = run(capsys, model, "--objective", "mean < 1 s", *options)
    assert status == 2
    lines = err.strip().splitlines()
    assert len(lines) == 5
    assert "did you mean 'cpu'" in err
    assert "(character 12 of 'think 1 s, demand disk x2')" in err
    assert all(line.startswith("<command line>: what_if[") for line in lines)


def test_all_faults_of_a_sizing_file_come_at_once(model: str, tmp_path: Path, capsys: Any) -> None:
    text = """
schema: towtank/sizing/1
load: {users: {shop: 5}, rate: 5 /s, mix: {web: 60 %}, horizon: 2 years, growth_interval: [30 % / year, 10 % / year]}
objectives: [p95 < 1 s at 5 users, errors < 1 %, mean of shop < 1 s, mean > 1 s]
headroom: 20
nodes_lost: -1
utilization_at_most: {cpu: 70 %}
tiers:
  app: {cpus: 0, stations: [app, db]}
  db: {cpus: 4..2}
  lan: {}
memory: {apps: [{what: base}]}
pools: {threads: {holds: [apps]}}
machines: [nothing]
"""
    file = written(tmp_path, "sizing.yaml", text)
    status, _, err = run(capsys, model, "--for", file)
    assert status == 2
    assert "Traceback" not in err
    for place in (
        "load.users.shop", "load.rate", "load.mix", "load.growth_interval", "load.horizon", "objectives[0]",
        "objectives[1]", "objectives[2]", "objectives[3]", "headroom", "nodes_lost", "utilization_at_most.cpu",
        "tiers.app.cpus", "tiers.db", "tiers.lan", "memory.apps", "pools.threads.holds", "machines",
    ):  # fmt: skip
        assert f": {place}" in err, place
    lines = err.strip().splitlines()
    assert lines == sorted(lines, key=lambda line: [int(part) for part in line.removeprefix(file).split(":")[1:3]])
    assert main(["validate", file]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--objective: must have an objective"),
        (("--objective", "p95 < 5"), "objectives[0]: must be a duration"),
        (("--objective", "mean < 1 s", "--users", "0"), "load.users: must be at least 1"),
        (("--objective", "mean < 1 s", "--users", "2.5"), "load.users"),
        (("--objective", "mean < 1 s", "--growth", "20 %"), "load.growth: must be growth such as"),
        (("--objective", "mean < 1 s", "--cpus", "4"), "--cpus: must be TIER="),
        (("--objective", "mean < 1 s", "--cpus", "application=4"), "tiers.application"),
        (("--objective", "mean < 1 s", "--mix", "web"), "--mix: must be CLASS=SHARE"),
        (("--objective", "mean < 1 s", "--machine", "nobody"), "machines"),
        (("--objective", "mean < 1 s", "--history", "nowhere.csv"), "must be a CSV file that can be read"),
        (("--objective", "mean < 1 s", "--keep"), "--keep: must be given with a results folder"),
    ],
)
def test_wrong_options_are_one_line(model: str, capsys: Any, arguments: tuple[str, ...], words: str) -> None:
    status, out, err = run(capsys, model, *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_a_source_that_is_nothing_is_refused(tmp_path: Path, capsys: Any) -> None:
    assert run(capsys, str(tmp_path / "none.yaml"), "--objective", "mean < 1 s")[0] == 2
    assert run(capsys, str(tmp_path), "--objective", "mean < 1 s")[0] == 2


def test_a_faster_machine_is_a_smaller_demand(model: str, tmp_path: Path, capsys: Any) -> None:
    """The new machine has twice the rating with the same number of CPUs, so each CPU is twice as fast, and demands are
    halved.
    """
    machines = written(tmp_path, "machines.yaml", MACHINES)
    options = ("--machines", machines, "--measured-on", "old", "--nodes", "app=1", "--nodes", "db=1")
    found = sized(capsys, model, *options, "--objective", "mean < 60 ms", "--machine", "old", "--machine", "twice")
    # With both tiers on the old machine, the demands add up to 65 ms, which exceeds the objective for any number of
    # CPUs.
    assert {tier["machine"] for tier in found["answer"]["tiers"].values()} >= {"twice"}
    tiers = found["answer"]["tiers"]
    half = {
        name: f"{0.5 * demand if tiers[name]['machine'] == 'twice' else demand} ms"
        for name, demand in (("app", 40), ("db", 25))
    }
    expected = mean_of(
        tmp_path, stations__app__demand=half["app"], stations__db__demand=half["db"], stations__db__servers="4"
    )
    assert found["answer"]["objectives"][0]["value"] == pytest.approx(expected, rel=1e-9)
    assert (found["cost_by"], found["cost_unit"]) == ("price", "EUR / month")
    assert found["answer"]["cost"] == sum(150 if tier["machine"] == "twice" else 100 for tier in tiers.values())


@pytest.mark.waits
def test_the_interval_of_a_rating_lowers_the_probability(model: str, tmp_path: Path, capsys: Any) -> None:
    """The new machine is 2 times as fast as the old machine, with an interval of 1 to 4 times.

    The objective requires a factor of at least 65 / 45 = 1.44. The log-normal factor exceeds 1.44 with a probability of
    82 %, which waiting times reduce.
    """
    machines = written(tmp_path, "machines.yaml", MACHINES)
    options = ("--machines", machines, "--measured-on", "old", "--nodes", "app=1..6", "--nodes", "db=1..6")
    asked = (*options, "--machine", "unsure", "--objective", "mean < 45 ms")
    sure = sized(capsys, model, *asked, "--probability", "50 %")
    assert 0.5 < sure["answer"]["probability"] < 0.85
    assert sure["answer"]["objectives"][0]["value"] < 0.04
    found = sized(capsys, model, *asked, status=3)
    assert "of the draws" in found["next_cheaper"]["why_not"][0]


def test_machines_without_a_common_scale_are_refused(model: str, tmp_path: Path, capsys: Any) -> None:
    machines = written(tmp_path, "machines.yaml", MACHINES)
    options = ("--machines", machines, "--measured-on", "old", "--nodes", "app=1", "--machine", "foreign")
    status, _, err = run(capsys, model, *options, "--objective", "mean < 1 s")
    assert status == 2
    assert "machines cannot be compared" in err
    assert "foreign" in err


def test_memory_disks_and_pools_are_sums_that_can_be_done_by_hand(model: str, tmp_path: Path, capsys: Any) -> None:
    text = (
        SIZING
        + """
memory:
  app: [{what: base, size: 1 GiB}, {what: sessions, size: 2 MiB, per: user}, {what: stacks, size: 8 MiB, per: cpu}]
  db: [{what: index, share: 10 %}]
memory_free: 50 %
data: {now: 100 GiB, copies: 2, free: 20 %}
pools: {connections: {holds: [db], wait_at_most: 1 ms}}
"""
    )
    found = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", text))
    app = found["answer"]["tiers"]["app"]
    mib = 2**20
    each = 1024 * mib + 2 * mib * 300 / app["nodes"] + 8 * mib * app["cpus"]
    assert app["memory_bytes"] == pytest.approx(2 * each)
    assert found["answer"]["tiers"]["db"]["memory_bytes"] == pytest.approx(2 * 10 * 1024 * mib)
    room = next(step for step in found["steps"] if step["step"] == "room on disks")
    assert room["value"] == pytest.approx(100 * 2**30 * 2 / 0.8)
    assert found["connections"] == 300
    pool = found["pools"]["connections"]
    residence = found["answer"]["scenarios"][0]
    assert pool["wait_s"] <= pool["wait_at_most_s"] == 0.001
    # By Little's law, the mean number of busy connections is at least throughput times service time of the database (25
    # ms).
    assert residence["classes"]["web"]["throughput_per_s"] * 0.025 <= pool["held"]


def test_a_machine_with_too_little_memory_is_no_answer(model: str, tmp_path: Path, capsys: Any) -> None:
    written(tmp_path, "machines.yaml", MACHINES)
    text = SIZING.replace("app: {cpus: 1..16, nodes: 1..4}", "app: {nodes: 1..4, machines: [twice]}")
    text += "measured_on: old\nmachine_files: [machines.yaml]\nmemory: {app: [{what: cache, size: 15 GiB}]}\n"
    found = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", text), status=3)
    assert "a node of app needs 18.75 GiB of memory, twice has 16 GiB" in found["next_cheaper"]["why_not"]


def test_disks_hold_the_data(tmp_path: Path, capsys: Any) -> None:
    text = "classes: {in: {rate: 10 /s}}\nstations:\n  disk: {servers: 1, service_time: 8 ms, visits: 2}\n"
    path = written(tmp_path, "model.yaml", text)
    asked = """
schema: towtank/sizing/1
objectives: [mean < 1 s]
tiers: {disk: {kind: disk, cpus: 1..20, disk_size: 100 GB}}
data: {now: 600 GB, growth: 100 % / year, free: 0 %}
load: {growth: 10 % / year, horizon: 1 year}
disk_kinds: {ssd: {service_time: 0.2 ms}}
what_if: [disk disk=ssd]
"""
    found = sized(capsys, path, "--for", written(tmp_path, "sizing.yaml", asked))
    assert found["answer"]["tiers"]["disk"]["cpus"] == 12
    before, after = found["what_if"]
    # With 12 disks there is almost no waiting, so the response time is about 2 x 0.2 ms.
    assert after["classes"]["in"]["response_time_s"] == pytest.approx(0.0004, rel=1e-3)
    assert before["classes"]["in"]["response_time_s"] > 0.015


def test_memory_changes_the_misses_of_a_cache(tmp_path: Path, capsys: Any) -> None:
    text = "classes: {in: {rate: 10 /s}}\nstations:\n  cpu: {demand: 10 ms}\n  disk: {demand: 40 ms}\n"
    path = written(tmp_path, "model.yaml", text)
    asked = """
schema: towtank/sizing/1
objectives: [mean < 5 s]
tiers: {cpu: {cpus: 1}, disk: {kind: disk, cpus: 1}}
hit_ratios: {files: {station: disk, memory: [4 GiB, 8 GiB], hit_ratio: [50 %, 90 %], now: 4 GiB}}
what_if: [memory cpu=6 GiB, memory cpu=64 GiB]
"""
    found = sized(capsys, path, "--for", written(tmp_path, "sizing.yaml", asked))
    # With 6 GiB the hit ratio is 70 %, so the disk demand is 40 ms * 30 / 50 = 24 ms. The model is two M/M/1 queues in
    # series.
    expected = 0.01 / (1 - 0.1) + 0.024 / (1 - 0.24)
    assert found["what_if"][1]["classes"]["in"]["response_time_s"] == pytest.approx(expected, rel=1e-9)
    assert "must be from 4 GiB to 8 GiB" in found["what_if"][2]["refused"]


def test_dates_follow_the_limit(model: str, capsys: Any) -> None:
    options = ("--objective", "mean < 10 s", "--cpus", "app=8", "--cpus", "db=8", "--growth", "100 % / year",
               "--start", "2026-01-01")  # fmt: skip
    found = sized(capsys, model, *options)
    answer = next(row for row in found["dates"] if row["what"] == "the answer")
    # The initial load of 200 doubles every year.
    from math import log2  # noqa: PLC0415

    assert answer["days"] == pytest.approx(365.25 * log2(answer["limit"] / 200), abs=2)
    assert found["dates"][0]["days"] < answer["days"] < found["dates"][2]["days"]


def test_the_model_of_a_fit_carries_its_replicates(tmp_path: Path, capsys: Any) -> None:
    rows = [
        "users,throughput,response",
        *(f"{n},{n / (1 + 0.02) * f},{0.02 / f}" for n in (5, 10, 20, 40) for f in (0.99, 1.01)),
    ]
    csv = written(tmp_path, "measured.csv", "\n".join(rows) + "\n")
    out = str(tmp_path / "fitted.yaml")
    assert main(["model", "fit", "closed", csv, "--think", "1 s", "--out", out]) == 0
    capsys.readouterr()
    assert main(["validate", out]) == 0
    capsys.readouterr()
    found = sized(capsys, out, "--objective", "mean < 100 ms")
    assert found["trust"]["draws"] == 200
    assert found["trust"]["measured"]["users"] == [5, 40]
    assert found["answer"]["probability"] is not None
    status, _, err = run(capsys, out, "--objective", "mean < 100 ms", "--users", "4000")
    assert status == 4
    assert "times the highest throughput measured" in err
    far = sized(capsys, out, "--objective", "mean < 100 ms", "--users", "4000", "--beyond")
    assert far["trust"]["range"] == "beyond"


def test_wrong_replicates_are_faults_of_the_model(model: str, tmp_path: Path, capsys: Any) -> None:
    text = MODEL + "fitted: {users: [1, 2], throughput: 5 /s, verdict: supported, draws: {app: [1, 1], disk: [1]}}\n"
    path = written(tmp_path, "wrong.yaml", text)
    status, _, err = run(capsys, path, "--objective", "mean < 1 s")
    assert status == 2
    assert "fitted.draws.disk: must be a station of the model" in err
    assert "must have as many values as the other stations, got 1" in err


@pytest.mark.waits
def test_results_are_fitted_and_the_answer_is_in_the_report(tmp_path: Path, capsys: Any) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    options = ("--configuration", "present", "--users", "60", "--objective", "p95 < 2 s")
    assert main(["size", str(folder), *options, "--keep", "--what-if", "cpu x2", "--growth", "10 % / year"]) == 0
    found = capsys.readouterr().out
    assert "based on" in found
    kept = json.loads((folder / "sizing.json").read_text("utf-8"))
    page = render(build_document(load_results(folder)))
    assert "Steps of the calculation" in page
    assert kept["answer"]["configuration"] in page
    assert "Dates on which a limit is reached" in page
    # The results and the report contain the held-out error with its interval.
    low, high = kept["trust"]["held_out_interval"]
    assert low < kept["trust"]["held_out_error"] < high
    assert re.search(r"was predicted with an error of \S+ \[−?[\d.]+,\s[\d.]+\] %\.", page)


@pytest.mark.waits
def test_a_kept_sizing_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    (folder / "sizing.json").write_text("{", "utf-8")
    assert "sizing.json cannot be read" in render(build_document(load_results(folder)))


@pytest.mark.waits
def test_results_of_several_configurations_ask_for_one(capsys: Any) -> None:
    status, _, err = run(capsys, str(RESULTS_1), "--objective", "mean < 1 s")
    assert status == 2
    assert "--configuration: must choose one configuration" in err


def test_a_study_names_its_sizing(tmp_path: Path, capsys: Any) -> None:
    import shutil  # noqa: PLC0415

    from towtank.study import load_study  # noqa: PLC0415

    root = Path(__file__).parents[2]
    shutil.copytree(root / "examples" / "first-study", tmp_path / "study")
    study = tmp_path / "study" / "study.yaml"
    study.write_text(study.read_text("utf-8") + "\nsize: sizing.yaml\n", "utf-8")
    assert main(["validate", str(study)]) == 2
    assert "size: must be a file that exists" in capsys.readouterr().err
    written(tmp_path / "study", "sizing.yaml", SIZING)
    assert main(["validate", str(study)]) == 0
    assert load_study(study).files[str(study.with_name("sizing.yaml"))] == SIZING
    written(tmp_path / "study", "sizing.yaml", SIZING.replace("1..16", "0"))
    assert main(["validate", str(study)]) == 2
