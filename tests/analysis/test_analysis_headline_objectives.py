"""The headline of a report states the highest load at which the objective is met, and the load at which it is
violated.
"""

from __future__ import annotations

from typing import Any

import pytest
from test_analysis_study_by_hand import made

from towtank.analysis.aggregation import aggregate
from towtank.analysis.objective_answers import answered
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.study import describe_study
from towtank.analysis.study_summary import Configuration, ObjectiveAnswer
from towtank.study.objectives import read_objective

Json = dict[str, Any]


def study(p95: dict[int, float], *texts: str) -> Json:
    """Return a study with one run at each load, which has the given p95 [s]. Throughput is 0.7 /s per user."""
    runs = []
    for number, (users, value) in enumerate(p95.items(), 1):
        run = made(f"r{number}", users, 0.7 * users)
        times = run["response_time_s"]
        times["p95"] = {
            "value": value,
            "low": 0.95 * value,
            "high": 1.05 * value,
            "method": "order statistics",
            "n": 99,
        }
        runs.append(run)
    objectives = [read_objective(text).document() for text in texts]
    factors = [{"name": "users", "levels": [str(users) for users in p95], "numeric": list(p95)}]
    return describe_study({"study": {"name": "s", "factors": factors, "objectives": objectives}}, runs)


def test_the_headline_says_up_to_which_load_an_objective_is_met() -> None:
    summary = study({60: 0.1, 180: 0.2, 450: 1.2}, "p95 < 300 ms")
    assert summary["headline"].startswith(
        "The system meets p95 < 300 ms up to 180 users, misses it at 450; throughput reaches 315"
    )
    (objective,) = summary["objectives"]
    assert (objective["met"], objective["holds_up_to"], objective["missed_at"]) == (False, 180, 450)


@pytest.mark.parametrize(
    ("p95", "text", "answer"),
    [
        ({60: 0.1, 180: 0.2}, "p95 < 300 ms", "meets p95 < 300 ms up to 180 users"),
        ({60: 0.4, 180: 0.5}, "p95 < 300 ms", "misses p95 < 300 ms at 60 users already"),
        ({60: 0.1, 180: 0.4, 450: 0.2}, "p95 < 300 ms", "meets p95 < 300 ms up to 60 users, misses it at 180"),
        ({60: 0.1, 180: 0.301}, "p95 < 300 ms", "up to 60 users, misses it at 180, not for certain"),
        (
            {60: 0.299, 180: 0.301, 450: 1.2},
            "p95 < 300 ms",
            "up to 60 users, not for certain, misses it at 180, not for certain",
        ),
        ({60: 0.299, 180: 0.9}, "p95 < 300 ms", "up to 60 users, not for certain, misses it at 180"),
        ({60: 0.301, 180: 0.9}, "p95 < 300 ms", "misses p95 < 300 ms at 60 users already, not for certain"),
        ({60: 0.1, 180: 0.299}, "p95 < 300 ms", "meets p95 < 300 ms up to 180 users, not for certain"),
        ({60: 0.1, 180: 0.2}, "p95 < 300 ms at 180 users", "meets p95 < 300 ms at 180 users"),
        ({60: 0.1, 180: 0.4}, "p95 < 300 ms at 180 users", "misses p95 < 300 ms at 180 users"),
        ({60: 0.1, 180: 0.4}, "p95 < 300 ms at 90 users", "was not tested against p95 < 300 ms at 90 users"),
    ],
)
def test_each_outcome_has_its_words(p95: dict[int, float], text: str, answer: str) -> None:
    assert f"{answer}; throughput reaches" in study(p95, text)["headline"]


def test_errors_of_all_and_of_the_only_transaction_are_one_share() -> None:
    # Only 0.03 % of all 10,100 transactions failed, although the mean of the fractions of both runs is 1.5 %.
    runs = [made("r1", 10, 9.0), made("r2", 10, 9.0)]
    runs[0]["transactions"]["read"].update(count=10_000, errors=0)
    runs[1]["transactions"]["read"].update(count=97, errors=3)
    runs[1]["errors"]["share"] = 0.03
    factors = [{"name": "users", "levels": ["10"], "numeric": [10]}]
    objectives = [read_objective(text).document() for text in ("errors < 1 %", "errors of read < 1 %")]
    summary = describe_study({"study": {"name": "s", "factors": factors, "objectives": objectives}}, runs)
    assert [objective["seen"] for objective in summary["objectives"]] == [3 / 10_100, 3 / 10_100]
    (point,) = summary["configurations"][0]["points"]
    assert (point["errors_share"], point["of_runs"]["errors_share"]) == (3 / 10_100, [0.0, 0.03])
    assert aggregate("users", 10, list(map(RunSummary.read, runs))).failed_share == 3 / 10_100


def test_several_objectives_are_answered_with_the_missed_one_first() -> None:
    headline = study({60: 0.1, 180: 0.4}, "mean < 300 ms", "p95 < 300 ms")["headline"]
    assert headline.startswith(
        "The system meets p95 < 300 ms up to 60 users, misses it at 180 and meets mean < 300 ms up to 180 users; "
    )


def test_without_objectives_the_headline_begins_with_the_throughput() -> None:
    assert study({60: 0.1, 180: 0.4})["headline"].startswith("Throughput reaches 126")


def test_rates_and_further_objectives() -> None:
    points = [{"rate": 20, "load": 20}, {"rate": 40, "load": 40}]
    configuration = Configuration.model_validate({"points": points})
    met = ObjectiveAnswer.model_validate(
        {"configuration": {}, "text": "p95 < 1 s", "met": True, "holds_up_to": 40, "missed_at": None}
    )
    assert answered(configuration, [met]) == "meets p95 < 1 s up to 40 arrivals per second"
    assert answered(configuration, [met] * 5).endswith(" and meets 2 of 2 further objectives")
    assert answered(configuration, [met.model_copy(update={"up_to": "42 /s"})]) == "", (
        "the headline states the limit instead of the objective"
    )
