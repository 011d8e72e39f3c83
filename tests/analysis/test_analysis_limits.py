import numpy as np
import pytest
from even_runs import even_script, stages_of
from synthetic_runs import write_run

from towtank.analysis import objectives, summarize_run
from towtank.analysis.limits.of_runs import found_limit
from towtank.analysis.load_point import FoundLimit
from towtank.analysis.run_summary import RunSummary


def limit(value, *, low=None, high=None, bound=False):
    return {
        "of": "users",
        "value": value,
        "low": value if low is None else low,
        "high": high,
        "method": "none" if bound else "tested bracket",
        "confidence": None if bound else 0.95,
        "n": 9,
        "is_lower_bound": bound,
        "ended": "at_most" if bound else "refined",
        "failure": None if bound else {"kind": "objective_missed", "text": "p95 < 1 s: seen 1.1 s"},
        "binding": {"text": "p95 < 1 s"},
    }


def in_words(found):
    return FoundLimit.model_validate(found).in_words


def runs(*limits):
    return [RunSummary(run=f"r{number:03d}", limit=found) for number, found in enumerate(limits, 1)]


def test_one_run_keeps_its_interval():
    found = found_limit(runs(limit(430, low=410, high=450)))
    assert (found["value"], found["low"], found["high"], found["method"]) == (430, 410, 450, "tested bracket")
    assert in_words(found) == "430 users [410, 450]"


def test_runs_have_students_t():
    """Limits of 430, 440 and 450 have the mean 440 and the standard deviation 10. With t(0.975, 2) = 4.303, the half
    width is 4.303 * 10 / sqrt(3) = 24.84.
    """
    found = found_limit(runs(*(limit(value, low=value - 15, high=value + 15) for value in (430, 440, 450))))
    assert found["value"] == pytest.approx(440)
    assert found["high"] - 440 == pytest.approx(24.84, abs=0.01)
    assert (found["method"], found["confidence"], found["n"]) == ("runs", 0.95, 3)


def test_a_lower_bound_among_the_runs_makes_the_lowest_value_a_bound():
    found = found_limit(runs(limit(430, low=410, high=450), limit(2000, bound=True)))
    assert (found["value"], found["high"], found["is_lower_bound"], found["lower_bounds"]) == (430, None, True, 1)
    assert in_words(found) == "430 users or more"


def test_a_bracket_without_a_confidence_is_never_in_the_notation_of_an_interval():
    """The bracket (highest passed and lowest failed level) of a search has no confidence, so its notation must differ
    from that of a confidence interval.
    """
    bare = limit(265, low=265, high=278) | {"method": "bracket", "confidence": None}
    found = found_limit(runs(bare))
    assert in_words(bare) == in_words(found) == "265 users (bracket 265 to 278, no confidence level)"
    assert FoundLimit.model_validate(found).method_in_words == ""
    assert (
        FoundLimit.model_validate(limit(430, low=410, high=450)).method_in_words
        == " (tested bracket, 95 % confidence within one run)"
    )


def test_a_lower_bound_has_no_upper_end_whatever_failed_beyond_it():
    contradictory = limit(265, low=265, high=278) | {"is_lower_bound": True, "ended": "contradictory"}
    assert in_words(contradictory) == in_words(found_limit(runs(contradictory))) == "265 users or more"


def test_runs_without_a_search_have_no_limit():
    assert found_limit([RunSummary(run="r001"), RunSummary(run="r002")]) is None


def test_objective_is_met_up_to_the_limit():
    estimate = {"value": 0.9, "low": None, "high": None}
    point = {"users": 430, "load": 430, "response_time_s": {"p95": estimate}, "transactions": {}, "runs": []}
    configuration = {
        "key": {},
        "label": "all runs",
        "points": [point],
        "found_limit": found_limit(runs(limit(430, low=410, high=450))),
    }
    about = {"text": "p95 < 1 s", "metric": "p95", "comparison": "<", "value": 1.0}
    judged = objectives.check([about], [configuration])[0]
    assert (judged["met"], judged["holds_up_to"], judged["up_to"]) == (True, 430, "430 users [410, 450]")


def test_even_load_has_what_littles_law_says(tmp_path):
    """Each of 8 users has a request in flight for 0.25 s of each second, so 8 * 0.25 = 2 requests are in flight on
    average. At the end of each second their number is the same, so the swing is that of a Poisson variable, sqrt(2).
    """
    script = even_script(stages_of(8, 2.0, 40.0), users=8, response_s=0.25, think_s=0.75, seconds=42.0, service_s=0.05)
    found = summarize_run(write_run(tmp_path / "r001", script), tables=False)["backlog"]
    assert found["needs"] == pytest.approx(2.0, rel=0.05)
    assert found["excess_at_start"] == 0
    assert found["swing"] == pytest.approx(np.sqrt(2.0), rel=0.03)
