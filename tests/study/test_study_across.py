"""`predict` of a study: the runs it rests on come first, and what does not fit is told."""

import pytest
from small_study import Files

from towtank.errors import StudyError
from towtank.study import load_study
from towtank.study.loading import find_shipped

NODES = """\
  nodes:
    one: {}
    four: {services.content.settings.nodes: 4}
"""


def with_prediction(files: Files, wish: str) -> Files:
    files.edit("study", "  search_index:\n", f"{NODES}  search_index:\n")
    files.edit("study", "pinning: auto\n", f"predict: {wish}\npinning: auto\n")
    return files


def test_the_runs_that_it_rests_on_come_first_and_all_are_made(files: Files) -> None:
    wish = "{from: {nodes: one, search_index: present}, to: {nodes: four}, service: content}"
    study = load_study(with_prediction(files, wish).folder / "study.yaml")
    runs = study.design()
    first = [run.factors for run in runs[:4]]
    assert all(one["nodes"] == "one" and one["search_index"] == "present" for one in first)
    assert [run.index for run in runs] == list(range(1, 17))
    assert len({(run.repetition, *sorted(run.factors.items())) for run in runs}) == 16
    told = study.describe()["predict"]
    assert (told["servers_from"], told["servers_to"], told["loads"]) == (1, 4, [10, 20])
    assert told["to"] == {"nodes": "four", "search_index": "present"}
    assert (told["cpus_of_hosts"], told["cpu_period_of_hosts_s"]) == ({}, {})


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ("{from: {nodes: one}, to: {nodes: four}, service: content}", "must have a level of search_index, got none"),
        ("{from: {nodes: one, search_index: present}, to: {nodes: for}, service: content}", "did you mean 'four'"),
        ("{from: {nodes: one, search_index: present}, to: {users: 20}, service: content}", "other than the load"),
        ("{from: {nodes: one, search_index: present}, to: {nodes: four}, service: contnt}", "did you mean 'content'"),
        ("{from: {nodes: four, search_index: present}, to: {nodes: one}, service: content}", "must have more servers"),
    ],
)
def test_faults_are_told_at_their_place(files: Files, wish: str, words: str) -> None:
    with_prediction(files, wish)
    line = (files.folder / "study.yaml").read_text().splitlines().index(f"predict: {wish}") + 1
    with pytest.raises(StudyError) as told:
        load_study(files.folder / "study.yaml")
    assert [one.line for one in told.value.faults if words in str(one)][:1] == [line], str(told.value)


@pytest.mark.parametrize("preset", [None, "quick", "full"])
def test_the_study_of_nodes_that_ships_puts_each_node_on_a_host(preset: str | None) -> None:
    path = find_shipped("content-nodes")
    assert path is not None
    study = load_study(path, preset)
    four = next(run for run in study.design() if run.factors["nodes"] == "four")
    assert four.system.services["content"].hosts_used == ["node-1", "node-2", "node-3", "node-4"]
    one = study.design()[0]
    assert one.factors["nodes"] == "one_parallel"
    assert one.system.services["content"].hosts_used == ["node-1"]


@pytest.mark.parametrize("preset", [None, "quick", "routing", "full"])
def test_the_study_of_nodes_that_ships_has_a_mount_where_a_node_is(preset: str | None) -> None:
    path = find_shipped("content-nodes")
    assert path is not None
    for run in load_study(path, preset).design():
        content, area = run.system.services["content"], run.system.services["area"]
        is_local = run.factors["nodes"] == "one"
        assert content.storage == ("contents" if is_local else "area")
        assert area.hosts_used == content.hosts_used
