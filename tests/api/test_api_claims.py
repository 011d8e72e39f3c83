"""Claims of a study (statements that the study tests) in the Python API."""

from __future__ import annotations

from typing import Any

from towtank.analysis import claims
from towtank.api.judged import claim_of


def estimate(value: float) -> dict[str, Any]:
    ends = {"low": 0.9 * value, "high": 1.1 * value}
    return {"value": value, **ends, "confidence": 0.95, "method": "batch means", "n": 20}


RUN = {
    "run": "r001",
    "status": "complete",
    "factors": {},
    "verdict": {"level": "suspect", "reasons": []},
    "throughput_per_s": estimate(100.0),
}


def judged(measure: dict[str, Any], holds: str) -> Any:
    study = {"factors": [], "claims": [{"says": "So it is.", "measure": measure, "holds": holds}], "run_to_run": 0.0}
    (found,) = claims.judge(study, [RUN]).claims
    return claim_of(found)


def test_a_claim_has_its_value_verdict_doubts_and_what_to_do() -> None:
    decided = judged({"value": {"of": "throughput"}}, "> 50 /s")
    assert (decided.says, decided.verdict, decided.holds, decided.why) == ("So it is.", "confirmed", "> 50 /s", "")
    assert (float(decided.measured), decided.measured.low, decided.measured.unit) == (100.0, 90.0, "1/s")
    assert (decided.doubts, decided.do) == (("it depends on the suspect run r001",), "")
    undecided = judged({"value": {"of": "throughput"}}, "> 95 /s")
    assert (undecided.verdict, undecided.why) == (
        "undecided",
        "the confidence interval contains the bound of the claim",
    )
    assert undecided.do == "repeat the runs (--repetitions)"


def test_a_claim_that_cannot_be_tested_has_no_value() -> None:
    missing = judged({"value": {"of": "machine.steal"}}, "< 1")
    assert (missing.verdict, missing.measured) == ("not_testable", None)
    assert missing.why == "machine.steal was not measured at any level"
    assert missing.do == "name a quantity that the summaries of these runs contain, or record this quantity"
