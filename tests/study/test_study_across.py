import pytest
from small_study import Files

from towtank.errors import StudyError
from towtank.study import find_shipped, load_study

NODES = """\
  nodes:
    one: {}
    four: {services.content.settings.nodes: 4}
"""


def with_prediction(files: Files, prediction: str) -> Files:
    files.edit("study", "  search_index:\n", f"{NODES}  search_index:\n")
    files.edit("study", "pinning: auto\n", f"predict: {prediction}\npinning: auto\n")
    return files


def test_the_runs_that_it_rests_on_come_first_and_all_are_made(files: Files) -> None:
    prediction = "{from: {nodes: one, search_index: present}, to: {nodes: four}, service: content}"
    study = load_study(with_prediction(files, prediction).folder / "study.yaml")
    runs = study.design()
    first = [run.factors for run in runs[:4]]
    assert all(levels["nodes"] == "one" and levels["search_index"] == "present" for levels in first)
    assert [run.index for run in runs] == list(range(1, 17))
    assert len({(run.repetition, *sorted(run.factors.items())) for run in runs}) == 16
    found = study.describe()["predict"]
    assert (found["servers_from"], found["servers_to"], found["loads"]) == (1, 4, [10, 20])
    assert found["to"] == {"nodes": "four", "search_index": "present"}
    assert (found["cpus_of_hosts"], found["cpu_period_of_hosts_s"]) == ({}, {})


def test_a_study_that_repeats_its_runs_has_them_first_in_the_first_block_only(files: Files) -> None:
    prediction = "{from: {nodes: one, search_index: present}, to: {nodes: four}, service: content}"
    with_prediction(files, prediction)
    files.edit("study", "pinning: auto\n", "repeat: until decided, at most 9\npinning: auto\n")
    runs = load_study(files.folder / "study.yaml").design()
    blocks = [[run.factors for run in runs if run.repetition == block] for block in range(1, 10)]
    assert [run.repetition for run in runs] == [block for block in range(1, 10) for _ in range(8)]
    assert all(sorted(map(str, block)) == sorted(map(str, blocks[0])) for block in blocks)

    def is_source(levels: dict[str, str]) -> bool:
        return levels["nodes"] == "one" and levels["search_index"] == "present"

    assert [is_source(levels) for levels in blocks[0]] == [True, True, *[False] * 6]
    assert any([is_source(levels) for levels in block[:2]] != [True, True] for block in blocks[1:])


@pytest.mark.parametrize(
    ("prediction", "words"),
    [
        ("{from: {nodes: one}, to: {nodes: four}, service: content}", "must have a level of search_index, got none"),
        ("{from: {nodes: one, search_index: present}, to: {nodes: for}, service: content}", "did you mean 'four'"),
        ("{from: {nodes: one, search_index: present}, to: {users: 20}, service: content}", "other than the load"),
        ("{from: {nodes: one, search_index: present}, to: {nodes: four}, service: contnt}", "did you mean 'content'"),
        ("{from: {nodes: four, search_index: present}, to: {nodes: one}, service: content}", "must have more servers"),
    ],
)
def test_faults_are_reported_at_their_place(files: Files, prediction: str, words: str) -> None:
    with_prediction(files, prediction)
    line = (files.folder / "study.yaml").read_text().splitlines().index(f"predict: {prediction}") + 1
    with pytest.raises(StudyError) as found:
        load_study(files.folder / "study.yaml")
    assert [fault.line for fault in found.value.faults if words in str(fault)][:1] == [line], str(found.value)


@pytest.mark.parametrize("preset", [None, "quick", "full"])
def test_the_study_of_nodes_that_ships_puts_each_node_on_a_host(preset: str | None) -> None:
    path = find_shipped("content-nodes")
    assert path is not None
    study = load_study(path, preset)
    four = next(run for run in study.design() if run.factors["nodes"] == "four")
    assert four.system.services["content"].hosts_used == ["node-1", "node-2", "node-3", "node-4"]
    run = study.design()[0]
    assert run.factors["nodes"] == "one_parallel"
    assert run.system.services["content"].hosts_used == ["node-1"]


@pytest.mark.parametrize("preset", [None, "quick", "routing", "full"])
def test_the_study_of_nodes_that_ships_has_a_mount_where_a_node_is(preset: str | None) -> None:
    path = find_shipped("content-nodes")
    assert path is not None
    for run in load_study(path, preset).design():
        content, area = run.system.services["content"], run.system.services["area"]
        is_local = run.factors["nodes"] == "one"
        assert content.storage == ("contents" if is_local else "area")
        assert area.hosts_used == content.hosts_used
