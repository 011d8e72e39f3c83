from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from small_study import Files

from towtank.errors import StudyError
from towtank.study import Study, load_study, study_path
from towtank.system.model import ContentServer, SystemFile

ADDRESSES = {"content": ["127.0.0.1:8080"]}


def server(system: SystemFile) -> ContentServer:
    service = system.services["content"]
    assert isinstance(service, ContentServer)
    return service


def test_design_is_a_full_factorial_in_randomised_blocks(files: Files) -> None:
    runs = load_study(files.study).design()
    cells = [tuple(run.factors.items()) for run in runs]
    everything = Counter(
        (("users", users), ("search_index", index)) for users in ("10", "20") for index in ("present", "absent")
    )
    assert Counter(cells[:4]) == Counter(cells[4:]) == everything
    assert [run.run for run in runs] == [f"r00{n}" for n in range(1, 9)]
    assert [run.index for run in runs] == list(range(1, 9))
    assert [run.repetition for run in runs] == [1] * 4 + [2] * 4
    assert len({run.seed for run in runs}) == 8
    assert all(0 <= run.seed < 2**53 for run in runs)
    assert {(run.factors["users"], run.users, run.rate) for run in runs} == {
        ("10", 10, None),
        ("20", 20, None),
    }


def order(study: Study) -> list[tuple[str, ...]]:
    return [tuple(run.factors.values()) for run in study.design()]


def test_design_is_the_same_each_time_and_differs_by_seed(files: Files) -> None:
    first = load_study(files.study)
    assert first.design() == load_study(files.study).design()
    orders = {tuple(order(load_study(files.study, changes={"seed": str(seed)}))) for seed in range(8)}
    assert len(orders) > 1


def test_given_order_takes_levels_as_written(files: Files) -> None:
    study = load_study(files.study, changes={"order": "given", "repetitions": "1"})
    assert order(study) == [("10", "present"), ("10", "absent"), ("20", "present"), ("20", "absent")]


def test_seed_of_a_run_does_not_depend_on_the_order(files: Files) -> None:
    def seeds(study: Study) -> dict[tuple[object, ...], int]:
        return {(run.repetition, *run.factors.items()): run.seed for run in study.design()}

    assert seeds(load_study(files.study)) == seeds(load_study(files.study, changes={"order": "given"}))


def test_presets_are_laid_over_the_file(files: Files) -> None:
    base, quick, full = (load_study(files.study, preset) for preset in (None, "quick", "full"))
    assert [study.study.load.stages.steady for study in (base, quick, full)] == [10.0, 5.0, 10.0]
    assert quick.study.load.stages.settle == 1.0
    assert (base.preset, full.preset, full.study.repetitions) == (None, "full", 3)
    assert {run.users for run in full.design()} == {100}
    assert len(full.design()) == 6


def test_null_in_a_preset_takes_a_level_away(files: Files) -> None:
    files.edit("study", "  full:\n", "  half:\n    factors: {search_index: {absent: null}}\n  full:\n")
    whole, half = (load_study(files.study, preset) for preset in (None, "half"))
    assert {run.factors["search_index"] for run in whole.design()} == {"present", "absent"}
    assert {run.factors["search_index"] for run in half.design()} == {"present"}


def test_changes_from_the_command_line_come_last(files: Files) -> None:
    changes = {"load.stages.steady": "7 s", "services.content.settings.threads": "2", "factors.users": "[3]"}
    study = load_study(files.study, "quick", changes=changes)
    assert study.study.load.stages.steady == 7.0
    assert {run.users for run in study.design()} == {3}
    assert {server(run.system).settings.threads for run in study.design()} == {2}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("load.stages.steady", "7", "must be a duration"),
        ("load.stages.stedy", "7 s", "did you mean 'steady'"),
        ("services.kontent.settings.threads", "2", "did you mean 'content'"),
        ("services.content.settings.threads", "many", "must be a whole number"),
        ("parameters.think", "1 s", "must be a parameter of the workload"),
        ("seed", "[", "must be YAML"),
    ],
)
def test_wrong_changes_are_faults_of_the_command_line(files: Files, path: str, value: str, message: str) -> None:
    with pytest.raises(StudyError) as raised:
        load_study(files.study, changes={path: value})
    text = str(raised.value)
    assert text.startswith("<command line>")
    assert message in text
    assert len(raised.value.faults) == 1, text


def test_overrides_reach_system_and_workload(files: Files) -> None:
    study = load_study(files.study)
    settings = {run.factors["search_index"]: server(run.system).settings.drop_index for run in study.design()}
    assert settings == {"present": [], "absent": ["search_type"]}
    assert {run.settings["content"]["threads"] for run in study.design()} == {8}
    assert study.design()[0].parameters == {"think_mean": "2 s"}
    plan = study.design()[0].plan("out", ADDRESSES, {}, 1, []).document()
    assert plan["groups"][0]["think"] == {"dist": "exponential", "mean_s": 2.0}


def test_the_link_of_the_generator_is_set_by_path(files: Files) -> None:
    study = load_study(files.study, changes={"network.mtu": "8992"})
    assert {run.system.network.mtu for run in study.design()} == {8992}
    with pytest.raises(StudyError, match="unknown key 'mtuu'"):
        load_study(files.study, changes={"network.mtuu": "8992"})


def test_plan_of_a_run(files: Files) -> None:
    run = next(run for run in load_study(files.study).design() if run.users == 20)
    plan = run.plan(Path("/tmp/out"), ADDRESSES, {"content": {"x_csv": Path("/x")}}, 2, [1, 2]).document()
    assert {key: plan[key] for key in ("schema", "run", "seed", "out", "threads", "cpus")} == {
        "schema": "towtank/plan/1",
        "run": run.run,
        "seed": run.seed,
        "out": "/tmp/out",
        "threads": 2,
        "cpus": [1, 2],
    }
    assert plan["targets"][0]["balance"] == "random"
    assert plan["load"] == {
        "kind": "closed",
        "users_at_most": 20,
        "stages": [
            {"name": "ramp_up", "phase": "ramp_up", "level": 0, "duration_s": 0.4, "users": 20},
            {"name": "settle", "phase": "settle", "level": 0, "duration_s": 1.0, "users": 20},
            {"name": "steady", "phase": "steady", "level": 0, "duration_s": 10.0, "users": 20},
            {"name": "ramp_down", "phase": "ramp_down", "level": 0, "duration_s": 2.0, "users": 0},
        ],
    }
    json.dumps(plan)


def test_several_levels_within_one_run(files: Files) -> None:
    files.edit("study", "  users: [10, 20]\n", "")
    files.edit("study", "\n    factors: {users: [100]}", "")
    files.edit("study", "  kind: closed", "  levels: [10, 30, 20]")
    run = load_study(files.study).design()[0]
    assert [(stage.name, stage.level, stage.duration_s, stage.users) for stage in run.load.stages] == [
        ("ramp_up 10", 0, 0.2, 10),
        ("settle 10", 0, 1.0, 10),
        ("steady 10", 0, 10.0, 10),
        ("ramp_up 30", 1, 0.4, 30),
        ("settle 30", 1, 1.0, 30),
        ("steady 30", 1, 10.0, 30),
        ("ramp_up 20", 2, 0.2, 20),
        ("settle 20", 2, 1.0, 20),
        ("steady 20", 2, 10.0, 20),
        ("ramp_down", 2, 2.0, 0),
    ]
    assert run.users == 30


def test_open_load(files: Files) -> None:
    files.edit("study", "  users: [10, 20]", "  rate: [5 /s, 90 /min]")
    files.edit("study", "{users: [100]}", "{rate: [50 /s]}")
    files.edit("study", "  kind: closed", "  kind: open\n  arrivals: constant")
    files.edit("study", "ramp_up: {each: 20 ms}", "ramp_up: 0 s")
    study = load_study(files.study)
    assert study.load_factor == "rate"
    assert {(run.factors["rate"], run.rate, run.users) for run in study.design()} == {
        ("5 /s", 5.0, None),
        ("90 /min", 1.5, None),
    }
    plan = next(run for run in study.design() if run.rate == 1.5).plan("out", ADDRESSES, {}, 1, []).document()
    assert plan["load"]["arrivals"] == "constant"
    assert [(stage["phase"], stage["duration_s"], stage["rate"]) for stage in plan["load"]["stages"]] == [
        ("ramp_up", 0.0, 1.5),
        ("settle", 1.0, 1.5),
        ("steady", 10.0, 1.5),
        ("ramp_down", 2.0, 0),
    ]
    assert study.describe()["factors"][0] == {
        "name": "rate",
        "levels": ["5 /s", "90 /min"],
        "numeric": [5, 1.5],
    }


def test_manifest_has_what_analysis_and_report_need(files: Files) -> None:
    described = load_study(files.study, "quick").describe()
    assert json.loads(json.dumps(described)) == described
    assert described["factors"] == [
        {"name": "users", "levels": ["10", "20"], "numeric": [10, 20]},
        {"name": "search_index", "levels": ["present", "absent"], "numeric": None},
    ]
    assert described["load_factor"] == "users"
    assert described["limits"] == {
        "errors": 0.02,
        "start_lag_p99": 0.005,
        "start_lag_share": 0.05,
        "interference": 0.1,
        "not_attributed": 0.05,
        "storage_free": 0.001,
        "generator_busy": 0.85,
    }
    assert described["objectives"] == [
        {
            "text": "p95 of view < 1 s",
            "metric": "p95",
            "transaction": "view",
            "comparison": "<",
            "value": 1.0,
            "users": None,
            "rate": None,
            "phase": None,
            "every_s": None,
            "of_limit": None,
        }
    ]
    assert described["stages"] == [
        {"name": "ramp_up", "phase": "ramp_up", "each_s": 0.02},
        {"name": "settle", "phase": "settle", "duration_s": 1.0},
        {"name": "steady", "phase": "steady", "duration_s": 5.0},
        {"name": "ramp_down", "phase": "ramp_down", "duration_s": 2.0},
    ]
    assert described["mix"] == [
        {"group": "readers", "share": 0.7, "transaction": "view", "weight": 100.0},
        {"group": "editors", "share": 0.3, "transaction": "view", "weight": 60.0},
        {"group": "editors", "share": 0.3, "transaction": "add", "weight": 40.0},
    ]
    assert described["think"] == {
        "readers": "exponential with mean 2 s",
        "editors": "from start to start: 12 s, constant",
    }
    assert described["system"]["services"]["content"]["settings"]["content_cache"] == "32 MiB"
    assert described["system"]["copies"] == {}
    assert [run["run"] for run in described["design"]] == [f"r00{n}" for n in range(1, 9)]
    assert (described["preset"], described["seed"]) == ("quick", 7)


def test_the_system_of_a_run_survives_json(files: Files) -> None:
    for run in load_study(files.study).design():
        document = json.loads(json.dumps(run.system.model_dump(mode="json", exclude_none=True)))
        assert SystemFile.model_validate(document) == run.system


def test_texts_of_the_files_are_kept(files: Files) -> None:
    study = load_study(files.study)
    kept = [getattr(files, name) for name in ("study", "system", "workload")]
    assert study.files == {str(path): path.read_text() for path in kept}


def test_studies_are_found_by_file_folder_and_name(files: Files, tmp_path: Path) -> None:
    assert study_path(str(files.study)) == files.study
    assert study_path(str(files.folder)) == files.study
    assert load_study(study_path("content-users")).name == "content-users"
    with pytest.raises(StudyError, match="did you mean 'content-users'"):
        study_path("content-user")


@pytest.mark.parametrize("preset", [None, "quick", "full"])
def test_the_shipped_study_keeps_what_it_promises(preset: str | None) -> None:
    study = load_study(study_path("content-users"), preset)
    runs = study.design()
    numbers = sorted({run.users for run in runs if run.users})
    assert len(numbers) == (4 if preset == "full" else 3)
    assert {run.factors["search_index"] for run in runs} == {"present", "absent"}
    if preset == "full":
        assert numbers == [250, 500, 750, 1000]
        assert len(runs) == 24
    else:
        # Besides its stages, each of the six runs takes at most six seconds to start and stop the system. Together with
        # a pilot run of a minute, and 15 s for all other work, the study must take less than 560 s.
        assert len(runs) == 6
        assert sum(run.load.planned_s for run in runs) + 6 * len(runs) + 15 + 60 < 560
    for group in study.workload.file.groups.values():
        assert {"log_in", "open_root", "open_all_searches"} <= set(group.once)
        assert sum(group.loop.mix.values()) == 100
