from __future__ import annotations

import pytest

from towtank.analysis.objective import Objective
from towtank.analysis.objective_scopes import ScopedValue, Windows, WorstWindow
from towtank.study.objectives import read_objective


@pytest.mark.parametrize(
    "text",
    ["p95 of search < 1 s", "throughput >= 50 /s at 300 users", "errors < 1 % in ramp_up", "mean < 1 s in every 10 s"],
)
def test_an_objective_of_a_study_is_read_as_written(text: str) -> None:
    written = read_objective(text)
    found = Objective.read(written.document())
    assert (found.text, found.metric, found.transaction) == (written.text, written.metric, written.transaction)
    assert (found.limit, found.users, found.rate) == (written.value, written.users, written.rate)
    assert found.is_scoped == (written.phase is not None or written.every_s is not None)
    assert found.compare(written.value, written.value) == (written.comparison == ">=")
    assert found.is_upward == (written.comparison == ">=")


@pytest.mark.parametrize(
    "document", [{}, {"text": None, "value": "1 s", "users": True, "comparison": 3, "every_s": []}]
)
def test_what_a_manifest_lacks_is_unknown(document: dict[str, object]) -> None:
    found = Objective.read(document)
    assert found == Objective("", "")
    assert not (found.is_scoped or found.is_share or found.is_about_stored)
    assert found.load is None


def test_metrics_of_older_versions_have_their_quantity() -> None:
    found = [Objective("", metric) for metric in ("response_time.p95_s", "errors_share", "stored.lost")]
    assert [each.quantity for each in found] == ["p95", "errors_share", "stored.lost"]
    assert [(each.is_share, each.is_about_stored) for each in found] == [(False, False), (True, False), (False, True)]
    assert found[2].stored_key == "lost"


def test_an_objective_applies_at_its_load() -> None:
    assert Objective("", "").is_at(3, None)
    assert Objective("", "", users=3).is_at(3, None)
    assert not Objective("", "", users=3).is_at(4, None)
    assert Objective("", "", rate=0.3).is_at(None, 0.1 + 0.2)
    assert not Objective("", "", rate=0.3).is_at(5, None)


def test_the_value_of_a_run_is_read_back() -> None:
    windows = Windows(3, 2, 1, WorstWindow(10.0, 20.0, 0.7))
    written = ScopedValue("mean < 1 s in every 10 s", 0.5, windows, "HISTFAAA")
    run = {"run": "r1", "objectives": [{"text": "another"}, written.document()]}
    found = ScopedValue.read(run, Objective(written.text, "mean"))
    assert found is not None and found.windows is not None
    assert found.windows.worst == WorstWindow(10.0, 20.0, 0.7, "r1")
    assert (found.value, found.histogram, found.windows.share) == (0.5, "HISTFAAA", 2 / 3)
    assert ScopedValue.read(run, Objective("a third", "mean")) is None
    assert "run" not in (windows.worst or WorstWindow(0, 0, 0)).document()
