"""The measured values decide if an objective is met; near its limit this outcome is uncertain."""

from __future__ import annotations

import pytest

from towtank.analysis import narrative, objectives
from towtank.analysis.statistics import t_interval
from towtank.analysis.study_summary import ObjectiveAnswer


def judged(values, comparison="<", limit=0.5):
    """Evaluate an objective about p95 of repeated runs at one load level."""
    found = t_interval(values).document()
    point = {"users": 10, "load": 10, "runs": ["r1"], "verdicts": ["valid"], "response_time_s": {"p95": found}}
    configuration = {"key": {}, "label": "all runs", "points": [point]}
    text = f"p95 {comparison} {limit} s"
    objective = {"text": text, "metric": "p95", "comparison": comparison, "value": limit}
    (judgement,) = objectives.check([objective], [configuration])
    return judgement


@pytest.mark.parametrize(
    ("values", "met", "certain"),
    [
        # One of three runs is above 500 ms, so the interval of the mean, 323 to 670 ms, contains the limit.
        ((0.45, 0.46, 0.58), True, False),
        ((0.30, 0.31, 0.32), True, True),
        ((0.60, 0.61, 0.62), False, True),
        ((0.49, 0.50, 0.55), False, False),
        ((0.45,), True, None),
    ],
)
def test_a_value_at_the_edge_is_not_certain(values, met, certain):
    found = judged(values)
    assert (found["met"], found["certain"]) == (met, certain)


def test_the_sentence_says_that_it_is_not_certain():
    answer = ObjectiveAnswer.model_validate(judged((0.45, 0.46, 0.58)))
    (sentence,) = narrative._objectives([answer])
    assert sentence.text.endswith("The interval contains the limit, so another run may give another verdict.")
