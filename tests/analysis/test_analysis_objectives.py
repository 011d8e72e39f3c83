from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic_runs import Exchange, Script, Stage, write_run

from towtank.analysis import objectives, summarize_run, summarize_study
from towtank.results.folder import ResultsFolder
from towtank.study.objectives import read_objective

STAGES = [
    Stage("ramp_up", "ramp_up", 4.0, 1),
    Stage("steady", "steady", 22.0, 1),
    Stage("ramp_down", "ramp_down", 2.0, 0),
]


def script(slow=(), failing=(), silent=()):
    """Return the script of one user with ten transactions per second of 50 ms each.

    The seconds in `slow`, `failing` and `silent` have slow, failed or no transactions.
    """
    exchanges = []
    for number in range(280):
        second = number // 10
        start = number / 10
        if second in silent:
            continue
        response = 0.09 if second in slow else 0.05
        failure = "status_5xx" if second in failing else None
        exchanges.append(Exchange(number % 2, start, start, start + response, 0.01, 0.1 - response, 0, failure))
    return Script(
        name="r001",
        transactions=["search", "view"],
        stages=STAGES,
        exchanges=exchanges,
        factors={"users": "1"},
        users=1,
        user_starts=[0.0],
        user_ends=[28.0],
    )


def study(tmp_path, texts, *scripts):
    """Write a results folder with the given runs, all with one user, and with the given objectives."""
    described = [read_objective(text).document() for text in texts]
    factors = [{"name": "users", "levels": ["1"], "numeric": [1]}]
    manifest = {
        "study": {"name": "objectives", "factors": factors, "load_factor": "users", "objectives": described},
        "design": [],
    }
    results = ResultsFolder.create(tmp_path / "results", manifest)
    for number, each in enumerate(scripts, start=1):
        name = f"r{number:03d}"
        write_run(results.run_path(name), replace(each, name=name, index=number, repetition=number))
    return results


def checked(tmp_path, text, *scripts):
    return summarize_study(study(tmp_path, [text], *scripts))["objectives"][0]


@pytest.mark.parametrize(
    ("text", "met", "seen"),
    [
        ("p95 < 60 ms in ramp_up", False, 0.09),
        ("p95 < 60 ms in steady", True, 0.05),
        ("p95 of search < 60 ms in ramp_up", False, 0.09),
        ("mean < 61 ms in ramp_up", True, 0.06),
        ("errors of search < 1 % in ramp_down", False, 0.5),
        ("errors of search < 1 % in steady", True, 0.0),
        ("throughput > 9 /s in ramp_up", True, 10.0),
        ("max of view <= 51 ms in steady", True, 0.05),
        ("min of view <= 51 ms in settle", None, None),
        ("p95 of missing < 1 s in steady", None, None),
    ],
)
def test_a_phase_is_judged_by_itself(tmp_path, text, met, seen):
    found = checked(tmp_path, text, script(slow=[1], failing=[27]))
    assert found["met"] is met
    assert found["seen"] == (None if seen is None else pytest.approx(seen, rel=0.01))


def test_every_window_must_meet_it_and_the_worst_is_named(tmp_path):
    # Windows of 5 s in the steady stage, 4 to 26 s, begin at 4, 9, 14 and 19 s. The p95 of a window is slow if one of
    # its seconds is slow.
    found = checked(tmp_path, "p95 of search < 60 ms in every 5 s", script(slow=[10, 25]))
    assert found["met"] is False
    assert found["seen"] == pytest.approx(0.09, rel=0.001)
    windows = found["windows"]
    assert (windows["count"], windows["met"], windows["share"], windows["empty"]) == (4, 3, 0.75, 0)
    assert windows["worst"] == {"run": "r001", "start_s": 9.0, "end_s": 14.0, "value": pytest.approx(0.09, rel=0.001)}
    # Over the whole steady stage the objective is met, although one window violates it.
    assert checked(tmp_path / "whole", "p95 of search < 60 ms", script(slow=[10]))["met"] is True


def test_windows_of_all_repetitions_count(tmp_path):
    found = checked(tmp_path, "p95 < 60 ms in every 11 s", script(), script(slow=[10]))
    assert (found["windows"]["count"], found["windows"]["met"]) == (4, 3)
    assert found["windows"]["worst"]["run"] == "r002"
    assert found["met"] is False


def test_a_silent_window_has_no_percentile_but_no_throughput_either(tmp_path):
    times = checked(tmp_path / "times", "p95 < 60 ms in every 1 s", script(silent=[12, 13]))
    assert times["met"] is True
    assert (times["windows"]["count"], times["windows"]["empty"]) == (20, 2)
    flow = checked(tmp_path / "flow", "throughput > 5 /s in every 1 s", script(silent=[12, 13]))
    assert flow["met"] is False
    assert (flow["seen"], flow["windows"]["met"]) == (0.0, 20)
    assert flow["windows"]["worst"]["start_s"] == 12.0


def test_windows_longer_than_the_phase_decide_nothing(tmp_path):
    found = checked(tmp_path, "p95 < 60 ms in every 1 min", script())
    assert (found["met"], found["windows"]["count"], found["windows"]["worst"]) == (None, 0, None)


def test_the_narrative_names_share_and_worst_window(tmp_path):
    results = study(tmp_path, ["p95 < 60 ms in every 5 s"], script(slow=[10]))
    sentences = [
        observation["text"]
        for observation in summarize_study(results)["observations"]
        if observation["kind"] == "objective"
    ]
    assert "3 of 4 windows met it; the worst was 9 to 14 s of r001." in sentences[0]


def test_summaries_made_before_an_objective_are_made_again(tmp_path):
    results = study(tmp_path, ["p95 < 60 ms"], script(slow=[10]))
    summarize_study(results)
    described = [read_objective("p95 < 60 ms in every 5 s").document()]
    results.update(study={**results.manifest["study"], "objectives": described})
    assert summarize_study(results)["objectives"][0]["windows"]["met"] == 3


def test_a_run_outside_a_study_has_no_objectives(tmp_path):
    assert summarize_run(write_run(tmp_path / "r001", script()), tables=False)["objectives"] == []


def test_an_objective_at_a_rate_is_judged_there_only():
    rows = [
        {"rate": rate, "load": rate, "throughput_per_s": {"value": rate, "low": None, "high": None, "method": "none"}}
        for rate in (10, 20)
    ]
    objective = read_objective("throughput > 15 /s at 20 /s").document()
    found = objectives.check([objective], [{"key": {}, "label": "all runs", "points": rows}])[0]
    assert (found["met"], found["at"], found["rate"]) == (True, {"rate": 20}, 20.0)
