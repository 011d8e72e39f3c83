from __future__ import annotations

from dataclasses import replace

import pytest
from even_runs import even_script
from synthetic_runs import Stage, write_run

from towtank.analysis import drive_document, summarize_run
from towtank.analysis.study import describe_study
from towtank.analysis.windows.stretch import stretches
from towtank.results import RecordedStage

BASE, SPIKE = 4, 18
STAGES = [
    Stage("ramp_up", "ramp_up", 2.0, BASE),
    Stage("base", "steady", 40.0, BASE),
    Stage("rise", "ramp_up", 2.0, SPIKE),
    Stage("spike", "steady", 8.0, SPIKE),
]


@pytest.fixture
def run(tmp_path):
    """Return a run with two loads: 4 users in the stage `base` and 18 users in the stage `spike`."""
    script = even_script(
        STAGES, users=BASE, response_s=0.25, think_s=0.75, seconds=52.0, service_s=0.05, factors={"users": str(SPIKE)}
    )
    return write_run(tmp_path / "r001", replace(script, users=SPIKE))


def study_of(summary):
    factor = {"name": "users", "levels": [str(SPIKE)], "numeric": [SPIKE]}
    return describe_study({"study": {"name": "s", "load_factor": "users", "factors": [factor]}}, [summary])


def test_the_summary_of_a_run_names_the_load_of_the_stretch(run):
    summary = summarize_run(run)
    assert summary["throughput_per_s"]["value"] == pytest.approx(4.0)
    assert summary["users"]["asked"] == BASE
    assert summary["window"]["load"] == {"stages": ["base"], "users": BASE, "rate": None, "stretches": 2}
    document = drive_document(run, "t")
    assert (document["users"], document["load"]["stages"]) == (BASE, ["base"])


def test_every_sentence_of_a_study_names_the_load_of_the_stretch(run):
    study = study_of(summarize_run(run))
    (point,) = study["configurations"][0]["points"]
    assert (point["load"], point["users"], point["stage"]) == (BASE, BASE, "base")
    ideal = study["configurations"][0]["ideal"]
    assert (ideal["users"], ideal["load"], ideal["per_user_per_s"]) == (BASE, BASE, pytest.approx(1.0))
    texts = [study["headline"], *(sentence["text"] for sentence in study["observations"])]
    assert "transactions/s at 4 users (stage base) with" in study["headline"]
    assert not [text for text in texts if "18" in text]


def test_a_run_with_one_load_names_no_stage(tmp_path):
    script = even_script(
        STAGES[:2], users=BASE, response_s=0.25, think_s=0.75, seconds=42.0, service_s=0.05, factors={"users": "4"}
    )
    study = study_of(summarize_run(write_run(tmp_path / "r001", script)))
    assert study["configurations"][0]["points"][0]["stage"] is None
    assert "at 4 users with" in study["headline"]


def stage(name, start_s, end_s, **amount):
    return RecordedStage(**{"name": name, "phase": "steady", "start_s": start_s, "end_s": end_s, **amount})


def test_consecutive_stages_with_the_same_load_are_one_stretch():
    found = stretches(
        [
            stage("a", 0.0, 5.0, users=3),
            stage("b", 5.0, 9.0, users=3),
            stage("up", 9.0, 10.0, users=5, phase="ramp_up"),
            stage("c", 10.0, 12.0, users_by_group=[2, 3]),
            stage("d", 12.0, 14.0, rates_by_group=[0.1, 0.2]),
        ]
    )
    assert [
        (stretch.stages, stretch.start_s, stretch.end_s, stretch.users, stretch.rate, stretch.of) for stretch in found
    ] == [
        (("a", "b"), 0.0, 9.0, 3, None, 3),
        (("c",), 10.0, 12.0, 5, None, 3),
        (("d",), 12.0, 14.0, None, 0.3, 3),
    ]
