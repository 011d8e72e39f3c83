"""All parts of a report make the same statement about the limit of a configuration."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import report_synthetic as synthetic
from report_synthetic import rows

from towtank.analysis.conclusion import conclude
from towtank.report.content import headline, limits, observations
from towtank.report.source import Results

EVIDENCE = "nearly reached: content at 97 % of its CPUs"
CPU, DISK, LOAD, UNLIKELY = (
    {"cause": cause, "place": {"tier": tier}, "sure": sure}
    for cause, tier, sure in (
        ("cpu", "content", 0.9),
        ("disk", "data", 0.95),
        ("none", None, 0.9),
        ("cpu", "content", 0.3),
    )
)
SEARCHED = {"of": "users", "value": 430, "low": 410, "high": 450, "method": "tested bracket", "confidence": 0.95,
            "is_lower_bound": False, "failure": {"kind": "objective_missed"}}  # fmt: skip


def studied(reached: bool | None, diagnosis: dict[str, Any], **more: Any) -> Results:
    """Return the synthetic study with one configuration whose limit and diagnosis are given."""
    made = synthetic.results(indices=("present",))
    kind = {True: "unknown", False: "none", None: "undecided"}[reached]
    limit = {**made.summary["configurations"][0]["limit"], "kind": kind, "reached": reached, "resource": None}
    configuration = {**made.summary["configurations"][0], **more, "diagnosis": diagnosis}
    configuration["limit"] = {**limit, "evidence": EVIDENCE}
    return dataclasses.replace(made, summary={**made.summary, "configurations": [configuration]})


@pytest.mark.parametrize(
    ("reached", "diagnosis", "more", "shown"),
    [
        (None, CPU, {}, ("the CPU of content", "probably reached", "the CPU of content", "was probably reached")),
        (None, LOAD, {}, ("probably not reached", "probably not reached", "–", "was probably not reached")),
        (None, UNLIKELY, {}, ("not decided", "not decided", "–", "do not show whether")),
        (True, DISK, {}, ("the speed of data", "reached", "the speed of data", "")),
        (False, LOAD, {}, ("not reached", "not reached", "–", "system was not reached")),
        (None, LOAD, {"found_limit": SEARCHED}, ("objective missed beyond 430 users [410, 450]", "reached", "–", "")),
    ],
)
def test_brief_table_and_conclusions_agree_about_a_limit(
    reached: bool | None, diagnosis: dict[str, Any], more: dict[str, Any], shown: tuple[str, ...]
) -> None:
    results = studied(reached, diagnosis, **more)
    (brief,) = rows(headline.build(results), "Results in brief")
    (row,) = rows(observations.build(results), "Limit of the system in the range measured")
    said = " ".join("".join(run.text for run in item) for item in limits.design_limits(results))
    *cells, concluded = shown
    assert [brief[3], *row[1:3]] == cells
    assert (concluded in said) if concluded else "In 1 of 1 configuration" not in said


def test_a_headline_names_the_probable_cause_or_that_there_is_none() -> None:
    texts = [
        conclude({**studied(None, diagnosis).summary, "comparisons": [], "objectives": []}).headline
        for diagnosis in (CPU, LOAD, UNLIKELY)
    ]
    assert "limited by the CPU of content" in texts[0]
    assert "its limit probably not reached" in texts[1]
    assert "the measured loads do not show whether this is the limit" in texts[2]
