from __future__ import annotations

from pathlib import Path

import pytest
from small_study import Files

from towtank.analysis.limits.search import search_levels, search_plan_of
from towtank.cli import main
from towtank.study import load_study
from towtank.study.model import FindLimit
from towtank.study.search import StepUp, read_stop
from towtank.study.search_checks import _number
from towtank.study.search_stages import plateau_stages
from towtank.study.settle import SettleUntil

EXAMPLE = Path(__file__).parents[2] / "examples" / "find-limit" / "study.yaml"
SEARCH = """\
load:
  kind: find-limit
  of: users
  start: 100
  steps: [{by: 100, up_to: 400}, {by: 50}]
  at_most: 2000
  stages: {ramp_up: {each: 20 ms}, settle: "until steady, at most 5 min, at least 5 s", steady: 45 min}
  refine: {to: 5 %, repeats: 3}
"""


@pytest.fixture
def searching(files: Files) -> Files:
    """The small study with a search for the limit in place of fixed load levels. The key `load` is in line 15."""
    text = files.study.read_text("utf-8")
    start, end = text.index("load:\n"), text.index("pinning:")
    text = (text[:start] + SEARCH + text[end:]).replace("  users: [10, 20]\n", "")
    files.study.write_text(text[: text.index("presets:")], "utf-8")
    return files


def faults(files: Files, capfd: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["validate", str(files.study)]) == 2
    return [line.removeprefix(str(files.study)) for line in capfd.readouterr().err.splitlines()]


def test_search_becomes_a_plan_of_its_first_plateau(searching: Files) -> None:
    study = load_study(searching.study)
    run = study.design()[0]
    assert [stage.name for stage in run.load.stages] == ["ramp_up 100", "settle 100", "steady 100", "decide 100"]
    assert [stage.until for stage in run.load.stages] == [None, "command", None, "command"]
    assert run.load.stages[0].duration_s == pytest.approx(2.0)
    assert run.load.stages[1].duration_s == 300.0
    assert (run.users, run.rate) == (2000, None)
    assert run.document()["settle"] == {"until": "steady", "at_most_s": 300.0, "at_least_s": 5.0}
    assert run.document()["search"]["refine"] == {"to": 0.05, "repeats": 3}
    stops = {"objective_missed": True, "errors": 0.01, "achieved": 0.95, "throughput_grows": 0.05}
    assert run.document()["search"]["stop_when"] == stops


def test_plateaus_further_on_ramp_from_the_load_before(searching: Files) -> None:
    load = load_study(searching.study).study.load
    assert isinstance(load, FindLimit)
    up = plateau_stages(load, 1, 100.0, 200.0)
    assert (up[0].name, up[0].duration_s) == ("ramp_up 200", pytest.approx(2.0))
    down = plateau_stages(load, 2, 200.0, 150.0, again=1)
    assert [stage.name for stage in down] == ["ramp_down 150 #2", "settle 150 #2", "steady 150 #2", "decide 150 #2"]
    relieved = plateau_stages(load, 2, 200.0, 150.0, relieve_at=75.0)
    assert [stage.users for stage in relieved] == [75, 75, 150, 150, 150, 150]
    assert relieved[1].until == "command"


def test_settle_stage_of_plain_levels_may_end_on_evidence(files: Files) -> None:
    files.edit("study", "settle: 1 s", "settle: {until: steady, at_most: 2 min}")
    study = load_study(files.study)
    assert study.study.load.stages.settle == SettleUntil.model_validate({"until": "steady", "at_most": "2 min"})
    run = study.design()[0]
    assert (run.load.stages[1].duration_s, run.load.stages[1].until) == (120.0, "command")


FAULTS = [
    ("at_most: 2000", "at_most: 100", ":20:12: load.at_most: must be above start (100), got 100 instead"),
    ("start: 100", "start: 5 /s", ":18:10: load.start: must be a whole number of users from 1, got '5 /s' instead"),
    ("of: users", "of: rate", ":18:10: load.start: must be a rate above 0 such as 5 /s, got 100 instead"),
    (
        "up_to: 400",
        "up_to: 90",
        "load.steps[0].up_to: must be above the level at which this step starts (100), got 90 instead",
    ),
    ("{by: 100, up_to: 400}", "{by: 100}", "load.steps[0]: must have the key up_to, because another step follows"),
    ("{by: 50}", "{by: 50, times: 2}", "load.steps[1]: must have either by or times, got both instead"),
    ("{by: 50}", "{up_to: 500}", "load.steps[1]: must have either by or times, got neither instead"),
    ("{by: 50}", "{times: 1}", "load.steps[1].times: must be above 1, got 1 instead"),
    ("{by: 50}", "{by: 1}", "load.steps: must make at most 1000 levels, got about 1603 instead"),
    ("to: 5 %", "to: 0 %", "load.refine.to: must be above 0 % and below 100 %, got 0 % instead"),
    ("repeats: 3", "repeats: 0", "load.refine.repeats: must be at least 1, got 0 instead"),
    ("at least 5 s", "at least 6 min", "must have at_least no longer than at_most (5 min), got 6 min instead"),
    ("at most 5 min, ", "", "must be a time, or 'until steady, at most TIME[, at least TIME]'"),
    ("  refine:", "  stop_when: [errors < 1 %]\n  refine:", "load.stop_when[0]: must be one of objective missed"),
    (
        "  refine:",
        "  stop_when: [achieved < 9 %]\n  refine:",
        "load.stop_when[0]: must only be used in a search for a rate",
    ),
    ("  refine:", "  users: 5\n  refine:", "unknown key 'users'"),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[new for _, new, _ in FAULTS])
def test_fault_of_a_search(
    searching: Files, capfd: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    searching.edit("study", old, new)
    assert any(message in line for line in faults(searching, capfd))


def test_all_faults_come_at_once(searching: Files, capfd: pytest.CaptureFixture[str]) -> None:
    searching.edit("study", "up_to: 400", "up_to: 90")
    searching.edit("study", "  refine:", "  stop_when: [objective missed, objective missed]\n  refine:")
    searching.edit("study", "  search_index:", "  users: [10]\n  search_index:")
    assert len(faults(searching, capfd)) == 3


def test_refinement_needs_an_objective(searching: Files, capfd: pytest.CaptureFixture[str]) -> None:
    searching.edit("study", "  - p95 of view < 1 s", "  - p95 of view < 1 s at 300 users")
    assert ["load.refine" in line and "an objective at every load" in line for line in faults(searching, capfd)]


def test_objective_that_is_asked_for_must_be_there(searching: Files, capfd: pytest.CaptureFixture[str]) -> None:
    searching.edit("study", "  - p95 of view < 1 s", "  - p95 of view < 1 s in ramp_up")
    searching.edit("study", "  refine: {to: 5 %, repeats: 3}", "  stop_when: [objective missed]")
    assert any(
        "load.stop_when[0]: must only be used if an objective applies" in line for line in faults(searching, capfd)
    )


def test_shares_of_conditions_are_read() -> None:
    assert read_stop("throughput grows < 5 % of the ideal") == ("throughput_grows", 0.05)
    assert read_stop("objective missed") == ("objective_missed", None)


@pytest.mark.parametrize("preset", [None, "quick", "stages-of-90-minutes"])
def test_example_is_without_faults(preset: str | None) -> None:
    study = load_study(EXAMPLE, preset)
    assert len(study.design()) == 1


def test_example_has_the_published_stage_plan() -> None:
    run = load_study(EXAMPLE, "stages-of-90-minutes").design()[0]
    assert run.document()["search"]["refine"] is None
    levels = search_levels(search_plan_of(run.document()["search"]))
    assert [next(levels) for _ in range(7)] == [100, 200, 300, 400, 450, 500, 550]
    assert [stage.duration_s for stage in run.load.stages[:3]] == [900.0, 900.0, 2700.0]
    assert run.parameters == {"think": "1 min"}


@pytest.mark.parametrize(("times", "levels"), [(2.0, 7.0), (10.0, 2.0), (100.0, 1.0)])
def test_levels_of_a_factor_are_counted(times: float, levels: float) -> None:
    # From 10, the search multiplies the level by `times` until it exceeds 1,000. With the factor 2, it visits seven
    # further levels: 20, 40, 80, 160, 320, 640 and 1,280.
    assert _number(StepUp(times=times), 10.0, 1000.0) == levels
