import pytest
from small_study import Files

from towtank.errors import StudyError
from towtank.study import load_study
from towtank.study.events import Moment, read_moment

EVENTS = """\
events:
  lost: {at: steady + 4 s, do: kill, service: content}
  back: {at: 8 s, do: start, service: content, happens: false}
pinning: auto
"""


@pytest.mark.parametrize(
    ("text", "moment", "words"),
    [
        ("steady + 10 s", Moment("steady", 10.0), "steady + 10 s"),
        ("ramp_up+150 ms", Moment("ramp_up", 0.15), "ramp_up + 150 ms"),
        ("steady", Moment("steady", 0.0), "steady"),
        ("1.5 min", Moment(None, 90.0), "90 s"),
    ],
)
def test_times_are_read_and_written(text: str, moment: Moment, words: str) -> None:
    assert read_moment(text) == moment
    assert moment.words() == words
    assert read_moment(words) == moment


@pytest.mark.parametrize("wrong", ["steady - 3 s", "steady + 3", "+ 3 s", 3, ""])
def test_other_times_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        read_moment(wrong)


def with_events(files: Files, events: str = EVENTS) -> Files:
    files.edit("study", "pinning: auto\n", events)
    return files


def test_what_happens_is_known_of_each_run_and_recorded_in_its_manifest(files: Files) -> None:
    study = load_study(with_events(files).folder / "study.yaml")
    run = study.design()[0]
    assert list(run.events) == ["lost"]
    found = {"name": "lost", "do": "kill", "service": "content", "at": "steady + 4 s"}
    assert run.document()["events"] == [found]
    assert [event["happens"] for event in study.describe()["events"]] == [True, False]


def test_levels_of_a_factor_set_what_happens(files: Files) -> None:
    with_events(files).edit(
        "study", "    present: {}\n", "    present: {events.back.happens: true, events.lost.at: 3 s}\n"
    )
    study = load_study(files.folder / "study.yaml")
    by_level = {run.factors["search_index"]: run.events for run in study.design()}
    assert {level: list(events) for level, events in by_level.items()} == {
        "present": ["lost", "back"],
        "absent": ["lost"],
    }
    assert by_level["present"]["lost"].at == Moment(None, 3.0)
    assert by_level["absent"]["lost"].at == Moment("steady", 4.0)


def test_the_command_line_sets_them_too(files: Files) -> None:
    path = with_events(files).folder / "study.yaml"
    study = load_study(path, changes={"events.lost.happens": "false"})
    assert all(run.events == {} and run.document()["events"] is None for run in study.design())


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("{at: steady + 4 s, do: kill}", "must have service to kill, got none"),
        ("{at: steady + 4 s, do: pause, service: content}", "must have for to pause"),
        ("{at: steady + 4 s, do: cut, host: here, for: 1 s, disk: data}", "must not have disk to cut"),
        ("{at: steady + 10 s, do: kill, service: content}", "must lie within stage steady of 5 s"),
        ("{at: steady + 5 s, do: kill, service: content}", "must lie within stage steady of 5 s"),
        ("{at: 8.2 s, do: kill, service: content}", "must lie within the load of 8.2 s"),
        ("{at: stedy + 1 s, do: kill, service: content}", "did you mean 'steady'"),
        ("{at: steady + 1 s, do: kill, service: contnt}", "did you mean 'content'"),
        ("{at: steady + 1 s, do: cut, host: here, for: 1 s}", "must be a host of provider namespaces"),
        ("{at: steady + 1 s, do: maim, service: content}", "do: must be"),
    ],
)
def test_faults_are_reported_at_their_place(files: Files, event: str, words: str) -> None:
    with_events(files, f"events:\n  lost: {event}\n")
    text = (files.folder / "study.yaml").read_text()
    line = text.splitlines().index(f"  lost: {event}") + 1
    with pytest.raises(StudyError) as found:
        load_study(files.folder / "study.yaml", preset="quick")
    fits = [fault for fault in found.value.faults if words in str(fault)]
    assert fits, str(found.value)
    assert fits[0].line == line
    assert fits[0].where.startswith("events.lost")


@pytest.mark.parametrize("at", ["steady + 4999 ms", "8199 ms"])
def test_an_event_may_happen_until_the_end_of_its_stage_and_of_the_load(files: Files, at: str) -> None:
    with_events(files, f"events:\n  lost: {{at: {at}, do: kill, service: content}}\n")
    study = load_study(files.folder / "study.yaml", preset="quick")
    assert all(list(run.events) == ["lost"] for run in study.design())


def test_a_level_must_name_an_event_that_is_there(files: Files) -> None:
    with_events(files).edit("study", "    present: {}\n", "    present: {events.lst.happens: true}\n")
    with pytest.raises(StudyError, match=r"must be a path to an event of the study \(lost, back\), got 'lst'"):
        load_study(files.folder / "study.yaml")


def test_a_value_that_does_not_fit_an_event_is_reported_at_the_level(files: Files) -> None:
    with_events(files).edit("study", "    present: {}\n", "    present: {events.lost.happens: soon}\n")
    with pytest.raises(StudyError, match="happens"):
        load_study(files.folder / "study.yaml")
