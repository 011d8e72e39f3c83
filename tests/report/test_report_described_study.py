from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import report_synthetic as synthetic
from report_synthetic import rows

from towtank.report.content import configuration, question, tiers
from towtank.report.document import Figure
from towtank.report.source import Results, RunResult


def test_question_names_factors_and_tiers() -> None:
    section = question.build(synthetic.results())
    assert rows(section, "Factors") == [
        ("users", "30, 60, 90, 120", "load"),
        ("search_index", "present, absent", "configuration"),
    ]
    assert rows(section, "Tiers") == [("content", "content_server", "here", "CPU 0", "database")]


def test_shares_of_a_limit_stand_beside_their_loads() -> None:
    results = synthetic.results()
    factor = {"name": "users", "levels": ["20 %", "115%"], "numeric": [84, 481]}
    shown = question.build(dataclasses.replace(results, summary={**results.summary, "factors": [factor]}))
    assert rows(shown, "Factors")[0] == ("users", "20 % = 84, 115% = 481", "load")
    shown = question.build(
        dataclasses.replace(results, summary={**results.summary, "factors": [factor | {"numeric": None}]})
    )
    assert rows(shown, "Factors")[0] == ("users", "20 %, 115%", "load")


def test_drawing_shows_every_tier_and_part() -> None:
    (figure,) = [block for block in question.build(synthetic.results()).blocks if isinstance(block, Figure)]
    assert figure.svg is not None
    assert all(f">{name}<" in figure.svg for name in ("virtual users", "content", "database", "host here"))


def test_service_named_by_a_setting_is_asked_by_it() -> None:
    results = synthetic.results()
    services = {
        "content": {"kind": "content_server", "host": "here", "settings": {"database": "postgresql"}},
        "store": {"kind": "postgresql", "host": "here"},
    }
    study = {**results.study, "system": {"services": services, "targets": {"web": {"service": "content"}}}}
    described = dataclasses.replace(results, manifest={**results.manifest, "study": study})
    found = tiers.tiers(described)
    assert found["content"].asks == ["store"]
    assert tiers.entries(described, found) == ["content"]


def test_configuration_shows_what_differed() -> None:
    shown = rows(configuration.build(synthetic.results()), "Configuration in force")
    assert ("content", "workers", "4") in shown
    assert (
        "content",
        "drop_index",
        "none (search_index present); search_type (search_index absent)",
    ) in shown


def with_settings(results: Results, of_run: Callable[[RunResult], dict[str, Any]]) -> Results:
    """Return the results with changed settings of the only service."""
    runs = [
        dataclasses.replace(run, manifest={**run.manifest, "settings": {"content": of_run(run)}})
        for run in results.runs
    ]
    return dataclasses.replace(results, runs=tuple(runs))


def test_configuration_explains_the_percentiles_of_a_throttled_disk() -> None:
    disks = {"data": {"size": 1e9, "read_operations": "200 /s"}}
    results = synthetic.results()
    runs = tuple(
        dataclasses.replace(run, manifest={**run.manifest, "hosts": {"web": {"disks": disks}}}) for run in results.runs
    )
    texts = [str(block) for block in configuration.build(dataclasses.replace(results, runs=runs)).blocks]
    said = [text for text in texts if "The control group of host web limited disk data to 200 reads/s" in text]
    assert len(said) == 1
    assert "describe this limit" in said[0]


def test_configuration_names_only_the_factors_that_a_value_goes_with() -> None:
    def of_run(run: RunResult) -> dict[str, Any]:
        users = int(run.factors["users"])
        return {"pool": users // 10, "index": run.factors["search_index"], "port": int(run.run_id[1:]), "threads": 4}

    results = with_settings(synthetic.results(levels=(30, 60)), of_run)
    assert rows(configuration.build(results), "Configuration in force") == [
        ("content", "pool", "3 (users 30); 6 (users 60)"),
        ("content", "index", "present (search_index present); absent (search_index absent)"),
        ("content", "port", "differs from run to run: 1, 2, 3, 4"),
        ("content", "threads", "4"),
    ]


def test_configuration_falls_back_on_the_description() -> None:
    results = synthetic.results(levels=(30,), indices=("present",), missing=("r001",))
    services = {"content": {"kind": "content_server", "settings": {"threads": 4}}}
    manifest = {**results.manifest, "study": {**results.study, "system": {"services": services}}}
    shown = rows(configuration.build(dataclasses.replace(results, manifest=manifest)), "Configuration in force")
    assert shown == [("content", "threads", "4")]
