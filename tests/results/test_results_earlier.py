"""Documents of former versions are read, and their keys are renamed to the present names."""

from __future__ import annotations

import json
from pathlib import Path

from towtank.analysis.stored import read_stored
from towtank.results.earlier import run_summary, stored_document
from towtank.results.folder import RunFolder

EARLIER = {
    "told": 2,
    "lost": 1,
    "kinds": {"told": {"told": 2, "lost": 1, "named": [{"key": "told", "told_s": 31.5}]}},
    "named": [{"kind": "told", "key": "told", "told_s": 31.5}],
}
PRESENT = {
    "acknowledged": 2,
    "lost": 1,
    "kinds": {"told": {"acknowledged": 2, "lost": 1, "named": [{"key": "told", "acknowledged_s": 31.5}]}},
    "named": [{"kind": "told", "key": "told", "acknowledged_s": 31.5}],
}


def test_the_keys_are_renamed_and_the_names_of_users_stay() -> None:
    assert stored_document(EARLIER) == PRESENT
    assert stored_document(PRESENT) == PRESENT


def test_a_summary_gets_the_present_keys_and_outcome() -> None:
    summary = {"run": "r001", "stored": EARLIER, "window": {"steady": True, "outcome": "cannot tell"}}
    window = {"steady": True, "outcome": "undecided"}
    assert run_summary(summary) == {"run": "r001", "stored": PRESENT, "window": window, "factors": {}}


def test_a_summary_without_them_stays_as_it_is() -> None:
    some = {"factors": {"users": "60"}}
    for summary in (
        {},
        {**some, "stored": None, "window": None},
        {**some, "stored": 3, "window": {"outcome": ["holds"]}},
    ):
        assert run_summary(summary) == summary


def test_a_summary_without_factors_is_that_of_a_run_without_factors() -> None:
    for summary in ({"run": "r001"}, {"run": "r001", "factors": None}):
        assert run_summary(summary) == {"run": "r001", "factors": {}}


def test_stored_json_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    (tmp_path / "stored.json").write_text(json.dumps(EARLIER), "utf-8")
    assert read_stored(RunFolder(tmp_path)) == PRESENT
