"""Verdicts on claims of a study, compared with values computed by hand from textbook formulas."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest

from towtank.analysis import claims, summarize_study
from towtank.results import ITEM_FATES
from towtank.results.folder import ResultsFolder, write_json

# 97.5 % quantiles of Student's t with 1, 2 and 4 degrees of freedom (NIST/SEMATECH e-Handbook, table 1.3.6.7.2).
T1, T2, T4 = 12.706, 4.303, 2.776
NOTHING_STORED: dict[str, Any] = {
    **dict.fromkeys(("acknowledged", "removed", "uncertain", "read", *ITEM_FATES), 0),
    "kinds": {},
    "named": [],
}


def estimate(value: float, half: float = 0.0, n: int = 20) -> dict[str, Any]:
    bounds = {"low": value - half, "high": value + half} if half else {"low": None, "high": None}
    return {"value": value, **bounds, "confidence": 0.95, "method": "batch means" if half else "none", "n": n}


def run(name: str, factors: dict[str, str], throughput: float, half: float = 0.0, **more: Any) -> dict[str, Any]:
    """Return a summary with the keys that claims read."""
    return {
        "run": name,
        "status": "complete",
        "factors": factors,
        "verdict": {"level": more.pop("verdict", "valid"), "reasons": []},
        "users": {"asked": int(factors.get("users", 10)), "mean": 10.0},
        "throughput_per_s": estimate(throughput, half),
        **more,
    }


def factor(name: str, *levels: str) -> dict[str, Any]:
    numeric = [float(level) for level in levels] if all(level.isdigit() for level in levels) else None
    return {"name": name, "levels": list(levels), "numeric": numeric}


CACHE = factor("cache", "small", "large")
SIZES = factor("files", "4", "20", "40", "100")


def judged(
    claim: dict[str, Any], factors: list[dict[str, Any]], runs: list[dict[str, Any]], run_to_run: float | None = 0.0
) -> dict[str, Any]:
    """Return the verdict on one claim; by default no variation from run to run is assumed."""
    study = {"name": "s", "preset": None, "factors": factors, "claims": [{"says": "So it is.", **claim}]}
    study |= {} if run_to_run is None else {"run_to_run": run_to_run}
    (found,) = claims.judge(study, runs).document()["claims"]
    assert isinstance(found, dict)
    return found


def ratio(holds: str, **more: Any) -> dict[str, Any]:
    measure = {"of": "throughput", "at": {"cache": "large"}, "to": {"cache": "small"}, **more}
    return {"measure": {"ratio": measure}, "holds": holds}


def pair(large: tuple[float, ...], small: tuple[float, ...], **more: Any) -> list[dict[str, Any]]:
    runs = [run(f"r{n}", {"cache": "large"}, value, **more) for n, value in enumerate(large)]
    return runs + [run(f"s{n}", {"cache": "small"}, value) for n, value in enumerate(small)]


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ("> 1.1", "confirmed"),
        ("> 1.9", "undecided"),
        ("< 1.1", "refuted"),
        ("between 1.5 and 2.5", "confirmed"),
        ("between 0.9 and 1.1", "refuted"),
        ("> 190 %", "undecided"),
    ],
)
def test_a_ratio_of_repeated_runs_holds_wholly_or_not_at_all_or_is_undecided(holds: str, verdict: str) -> None:
    # The ratio of the means 20 and 10 is 2, with a half width of about 0.2.
    found = judged(ratio(holds), [CACHE], pair((19, 20, 21), (9.5, 10, 10.5)))
    assert (found["verdict"], found["unit"]) == (verdict, "")
    assert found["measured"]["value"] == 2.0
    assert found["measured"]["method"] == "runs"
    assert found["runs"] == ["r0", "r1", "r2", "s0", "s1", "s2"]


def test_a_ratio_to_an_exact_value_has_the_interval_of_its_upper_side() -> None:
    # The denominator hardly varies. The three runs of the numerator have a relative standard deviation of 1 / 20 =
    # 0.05, so the interval is 2 exp(+-t(2) 0.05 / sqrt(3)).
    found = judged(ratio("> 1"), [CACHE], pair((19, 20, 21), (10, 10.000001, 9.999999)))["measured"]
    assert math.log(found["high"] / 2) == pytest.approx(T2 * 0.05 / 3**0.5, rel=1e-3)
    assert math.log(2 / found["low"]) == pytest.approx(T2 * 0.05 / 3**0.5, rel=1e-3)


def test_runs_that_agree_by_chance_are_worth_no_more_than_the_errors_within_them() -> None:
    """The runs with the same cache agree within 0.1 % by chance, but the error within each run is about 10 %.

    So the ratio, 1.04, also has an error of about 10 %.
    """
    runs = [run(f"r{n}", {"cache": "large"}, value, 10.0) for n, value in enumerate((104.1, 104.0))]
    runs += [run(f"s{n}", {"cache": "small"}, value, 10.0) for n, value in enumerate((100.0, 100.1))]
    found = judged(ratio("> 1"), [CACHE], runs)
    assert found["verdict"] == "undecided"
    assert found["measured"]["low"] < 0.97
    measure = {"of": "throughput", "at": {"cache": "large"}, "to": {"cache": "small"}}
    apart = judged({"measure": {"difference": measure}, "holds": "> 0 /s"}, [CACHE], runs)
    assert apart["verdict"] == "undecided"
    assert apart["measured"]["low"] < -3.0


def test_a_ratio_has_the_two_values_that_it_compares() -> None:
    runs = [run("r1", {"cache": "large"}, 12.0, 1.0), run("r2", {"cache": "small"}, 10.0, 1.0)]
    compared = judged(ratio("> 1"), [CACHE], runs)["compared"]
    assert [(each["value"], each["low"]) for each in compared] == [(12.0, 11.0), (10.0, 9.0)]
    value = {"measure": {"value": {"of": "throughput", "at": {"cache": "large"}}}, "holds": "> 1 /s"}
    assert judged(value, [CACHE], runs)["compared"] == []


def test_a_difference_has_the_interval_of_welch() -> None:
    # The three runs with each cache have a standard deviation of 1, so the half width is t(4) sqrt(1/3 + 1/3).
    measure = {"of": "throughput", "at": {"cache": "large"}, "to": {"cache": "small"}}
    claim = {"measure": {"difference": measure}, "holds": "> 5 /s"}
    found = judged(claim, [CACHE], pair((19, 20, 21), (9, 10, 11)))
    assert (found["verdict"], found["unit"], found["measured"]["value"]) == ("confirmed", "/s", 10.0)
    assert found["measured"]["high"] == pytest.approx(10 + T4 * (2 / 3) ** 0.5, rel=1e-3)


def test_one_run_has_its_own_interval_and_without_one_a_claim_is_undecided() -> None:
    runs = [run("a", {"cache": "large"}, 20, 0.4), run("b", {"cache": "small"}, 10, 0.2)]
    assert judged(ratio("> 1.5"), [CACHE], runs)["measured"]["method"] == "batch means"
    assert judged(ratio("> 1.5"), [CACHE], runs)["verdict"] == "confirmed"
    found = judged(ratio("> 1.5"), [CACHE], pair((20,), (10,)))
    assert (found["verdict"], found["measured"]["value"]) == ("undecided", 2.0)
    assert (found["why"], found["do"]) == ("no interval exists", "repeat the runs (--repetitions)")


@pytest.mark.parametrize(
    ("large", "small", "kind", "why", "step"),
    [
        # If the errors of two means are as large as the means, the interval of their ratio would exceed a hundred times
        # the ratio.
        ((10, 30), (1, 30), "ratio", "a value of the ratio is too uncertain", "repeat the runs more often"),
        ((20, 20), (10, 12), "difference", "the runs have equal values", "make the steady stage longer"),
    ],
)
def test_repeated_runs_without_an_interval_have_a_reason_and_a_step_that_helps(
    large: tuple[float, ...], small: tuple[float, ...], kind: str, why: str, step: str
) -> None:
    runs = pair(large, small)
    for each in runs:
        each["response_time_s"] = {"mean": estimate(each["throughput_per_s"]["value"])}
    measure = {"of": "mean", "at": {"cache": "large"}, "to": {"cache": "small"}}
    found = judged({"measure": {kind: measure}, "holds": "> 1.5" if kind == "ratio" else "> 1.5 s"}, [CACHE], runs)
    assert (found["verdict"], found["why"]) == ("undecided", f"no interval exists, because {why}")
    assert found["do"].startswith(step)


def test_an_undecided_claim_states_how_many_runs_would_decide_it() -> None:
    found = judged(ratio("> 1.9"), [CACHE], pair((19, 20, 21), (9.5, 10, 10.5)))
    needed = found["needs_runs"]
    assert needed > 3
    assert found["do"] == (
        f"repeat the runs: {needed} of each combination would probably decide (--repetitions {needed})"
    )
    beyond = judged(ratio("> 1.9999"), [CACHE], pair((19, 20, 21), (9.5, 10, 10.5)))
    assert (beyond["needs_runs"], beyond["verdict"]) == (None, "undecided")
    assert beyond["do"].startswith("claim another bound: 1,000 runs")


@pytest.mark.parametrize(
    ("value", "run_to_run", "holds", "verdict"),
    [
        # Single runs, each with an error of 0.4 % within the run, differ by 5 %. The usual variation between runs may
        # cause such a difference.
        (10.5, None, "> 1", "undecided"),
        (10.5, 0.01, "> 1", "confirmed"),
        # A variation of 10 % between runs gives the ratio of two runs a standard error of about 14 %. So a ratio of 3
        # is certainly above 1.5.
        (30.0, None, "> 1.5", "confirmed"),
        (16.0, None, "> 1.5", "undecided"),
        (30.0, None, "< 1.5", "refuted"),
    ],
)
def test_one_run_against_one_is_decided_with_a_share_from_run_to_run(
    value: float, run_to_run: float | None, holds: str, verdict: str
) -> None:
    runs = [run("a", {"cache": "large"}, value, 0.008 * value), run("b", {"cache": "small"}, 10, 0.08)]
    found = judged(ratio(holds), [CACHE], runs, run_to_run)
    assert (found["verdict"], found["assumed_run_to_run"]) == (verdict, 0.1 if run_to_run is None else run_to_run)
    assert found["do"] == ("repeat the runs (--repetitions)" if verdict == "undecided" else "")
    assert found["doubts"] == [
        "values of single runs, with an assumed standard deviation of "
        f"{100 * found['assumed_run_to_run']:g} % between runs"
    ]


def test_a_verdict_that_suspect_runs_decide_says_what_it_is_without_them() -> None:
    """The runs with three users are suspect, and they decide the verdict.

    The ratio is 2.0 with one and with two users, which satisfies the claim, but 1.0 with three users.
    """
    users = factor("users", "1", "2", "3")
    runs = [
        run(f"{cache}{level}", {"users": level, "cache": cache}, value, 0.01 * value, verdict=verdict)
        for level, large, verdict in (("1", 20.0, "valid"), ("2", 20.0, "valid"), ("3", 10.0, "suspect"))
        for cache, value in (("large", large), ("small", 10.0))
    ]
    claim = ratio("> 1.5", at={"cache": "large", "users": "all"})
    found = judged(claim, [users, CACHE], runs)
    assert found["verdict"] == "refuted"
    assert found["why"].startswith("at cache large, users 3 the quantity is 1.00")
    assert found["doubts"][0] == ("it depends on the suspect runs large3, small3; without them the claim is confirmed")
    two = judged(claim, [users, CACHE], runs[:4])
    assert (two["verdict"], two["doubts"]) == ("confirmed", ["left out, no run at cache large, users 3"])
    one_side = judged(ratio("> 1.5"), [CACHE], pair((19, 20, 21), (9, 10, 11), verdict="suspect"))
    assert one_side["verdict"] == "confirmed"
    assert one_side["doubts"] == ["it depends on the suspect runs r0, r1, r2; without them the claim cannot be tested"]
    every = [
        {**measured, "verdict": {"level": "suspect", "reasons": []}} for measured in pair((19, 20, 21), (9, 10, 11))
    ]
    assert judged(ratio("> 1.5"), [CACHE], every)["doubts"] == ["it depends on 6 suspect runs"]


def test_one_certain_counter_example_refutes_a_claim_about_all_levels() -> None:
    # One of eight ratios, 1.3, violates the claim `> 1.5`, although the mean ratio, 1.90 [1.67, 2.15], would confirm
    # it.
    users = factor("users", *(str(number) for number in range(1, 9)))
    ratios = [2.0] * 7 + [1.3]
    runs = [
        run(f"{cache}{level}", {"users": level, "cache": cache}, value, 0.01 * value)
        for level, ratio_there in zip(users["levels"], ratios, strict=True)
        for cache, value in (("large", 10 * ratio_there), ("small", 10.0))
    ]
    claim = ratio("> 1.5", at={"cache": "large", "users": "all"})
    found = judged(claim, [users, CACHE], runs)
    assert (found["verdict"], found["why"][:20]) == ("refuted", "at cache large, user")
    assert (found["measured"]["low"], found["measured"]["high"]) == (
        pytest.approx(1.67, abs=0.01), pytest.approx(2.15, abs=0.01),
    )  # fmt: skip
    # Each of the ratios 1.2, 2 and 6 is certainly above 1.1. They differ so much that the interval of their mean begins
    # below 1.1. The claim is about each level, so it is confirmed.
    rising = [run_ for run_ in runs if run_["factors"]["users"] in ("1", "2", "3")]
    for run_, value in zip(rising[::2], (12.0, 20.0, 60.0), strict=True):
        run_["throughput_per_s"] = estimate(value, 0.01 * value)
    claim = ratio("> 1.1", at={"cache": "large", "users": "all"})
    found = judged(claim, [factor("users", "1", "2", "3"), CACHE], rising)
    assert found["verdict"] == "confirmed"
    assert found["measured"]["low"] < 1.1


def test_levels_that_are_nearly_equal_where_little_happens_do_not_keep_a_trend_from_rising() -> None:
    # The values rise from 5 to 148 over four levels of `files` with one run each. The first two do not differ
    # significantly.
    runs = [
        run(f"r{n}", {"files": level}, value, 0.04 * value)
        for n, (level, value) in enumerate(zip(SIZES["levels"], (5.0, 4.9, 9.0, 148.0), strict=True))
    ]
    assert judged(over("trend", "rises"), [SIZES], runs, None)["verdict"] == "confirmed"
    assert judged(over("trend", "falls"), [SIZES], runs, None)["verdict"] == "refuted"


def test_no_failure_in_three_short_runs_is_no_certainty() -> None:
    # Three runs of 10 transactions each have no failure. The exact upper bound of the failed fraction is 1 -
    # 0.025^(1/30) = 11.6 %.
    transactions = {"add": {"count": 10, "errors": 0}}
    runs = [run(f"r{n}", {}, 1.0, transactions=transactions, errors={"share": 0.0}) for n in range(3)]
    claim = {"measure": {"value": {"of": "errors of add"}}, "holds": "< 1 %"}
    found = judged(claim, [], runs)
    assert (found["verdict"], found["measured"]["low"]) == ("undecided", 0.0)
    assert found["measured"]["high"] == pytest.approx(1 - 0.025 ** (1 / 30))


def test_invalid_runs_never_count_and_suspect_ones_are_named() -> None:
    bad = pair((19, 20, 21), (9, 10, 11), verdict="invalid")
    found = judged(ratio("> 1.1"), [CACHE], bad)
    assert (found["verdict"], found["measured"]) == ("not_testable", None)
    assert found["why"] == "every run at cache large is invalid (r0, r1, r2)"
    mixed = pair((19, 20, 21), (9, 10, 11), verdict="suspect")
    mixed.append(run("wild", {"cache": "large"}, 500, verdict="invalid"))
    found = judged(ratio("> 1.1"), [CACHE], mixed)
    assert (found["verdict"], found["suspect_runs"]) == ("confirmed", ["r0", "r1", "r2"])
    assert "wild" not in found["runs"]


def test_an_answer_of_the_valid_runs_alone_depends_on_no_suspect_run() -> None:
    runs = pair((19, 20, 21), (9, 10, 11))
    wild = run("wild", {"cache": "large"}, 23, verdict="suspect")
    found = judged(ratio("> 1.1"), [CACHE], [*runs, wild])
    assert found == judged(ratio("> 1.1"), [CACHE], runs)
    # Without the suspect run, the interval of the ratio contains the bound.
    late = [*pair((19, 20, 21), (9, 10)), run("s2", {"cache": "small"}, 11, verdict="suspect")]
    found = judged(ratio("> 1.6"), [CACHE], late)
    assert (found["verdict"], found["suspect_runs"]) == ("confirmed", ["s2"])
    assert found["doubts"] == ["it depends on the suspect run s2; without it the claim is undecided"]


def test_a_suspect_run_without_the_quantity_is_not_used() -> None:
    empty = {**run("r9", {"cache": "large"}, 20, verdict="suspect"), "throughput_per_s": None}
    found = judged(ratio("> 1.9"), [CACHE], [*pair((19, 20, 21), (9, 10, 11)), empty])
    assert (found["verdict"], found["suspect_runs"], found["doubts"]) == ("undecided", [], [])
    assert "r9" not in found["runs"]


def test_what_is_missing_says_why_it_cannot_be_tested() -> None:
    runs = pair((19, 20, 21), (9, 10, 11))
    assert judged(ratio("> 1"), [CACHE], runs[:3])["why"] == "no run at cache small"
    assert "cache huge is not in this preset" in judged(ratio("> 1", at={"cache": "huge"}), [CACHE], runs)["why"]
    assert "this preset has no factor nodes" in judged(ratio("> 1", at={"nodes": "4"}), [CACHE], runs)["why"]
    found = judged(ratio("> 1", of="machine.steal"), [CACHE], runs)
    assert (found["verdict"], found["why"]) == ("not_testable", "machine.steal was not measured at cache large")
    given = judged({"not_testable": "There is no JVM."}, [CACHE], runs)
    assert (given["verdict"], given["why"], given["holds"]) == ("not_testable", "There is no JVM.", "")


def test_a_ratio_over_several_levels_is_the_geometric_mean_of_those_at_each() -> None:
    # The logarithms of the ratios 2 and 8 have the mean ln 4 and the standard deviation ln(2) sqrt(2). So the geometric
    # mean is 4, and its interval ends at exp(ln 4 + t(1) ln(2) sqrt(2) / sqrt(2)) = 4 * 2^t(1).
    users = factor("users", "10", "20")
    runs = [
        run(f"{cache}{number}", {"users": number, "cache": cache}, value)
        for (number, cache), value in {
            ("10", "large"): 2,
            ("10", "small"): 1,
            ("20", "large"): 8,
            ("20", "small"): 1,
        }.items()
    ]
    claim = ratio("> 1", at={"cache": "large", "users": "all"})
    found = judged(claim, [users, CACHE], runs)["measured"]
    assert found["value"] == pytest.approx(4.0)
    assert found["high"] == pytest.approx(4 * 2**T1, rel=1e-3)
    assert (found["method"], found["n"]) == ("levels", 2)
    assert judged(claim, [users, CACHE], runs[:2])["why"].startswith("no run at cache large, users 20")
    three = [*runs, run("more", {"users": "30", "cache": "large"}, 4)]
    left = judged(claim, [factor("users", "10", "20", "30"), CACHE], three)
    assert left["left_out"] == ["no run at cache small, users 30"]


def test_a_quantity_per_load_and_per_another_quantity() -> None:
    users = factor("users", "10", "40")
    runs = [run("a", {"users": "10"}, 5, 0.1), run("b", {"users": "40"}, 20, 0.4)]
    measure = {"of": "throughput", "per": "load", "at": {"users": "highest"}, "to": {"users": "lowest"}}
    found = judged({"measure": {"ratio": measure}, "holds": "between 0.9 and 1.1"}, [users], runs)
    assert (found["verdict"], found["measured"]["value"]) == ("confirmed", 1.0)
    for summary in runs:
        summary["host"] = {"disks": {"a": {"read_bytes_per_s": 600.0}, "b": {"read_bytes_per_s": 400.0}}}
    value = {"of": "host.disks.*.read_bytes_per_s", "per": "throughput", "at": {"users": "lowest"}}
    assert judged({"measure": {"value": value}, "holds": "> 1"}, [users], runs)["measured"]["value"] == 200.0


def test_bounds_of_a_sum_add_up() -> None:
    tiers = {name: {"cpus_used": estimate(value, half)} for name, value, half in (("a", 1.0, 0.1), ("b", 2.0, 0.2))}
    claim = {"measure": {"value": {"of": "tiers.*.cpus_used"}}, "holds": "between 2.5 and 3.5"}
    found = judged(claim, [], [run("a", {}, 1.0, tiers=tiers)])
    assert (found["verdict"], found["measured"]["low"], found["measured"]["high"]) == (
        "confirmed",
        pytest.approx(2.7),
        pytest.approx(3.3),
    )


def test_a_share_of_failures_of_one_run_has_the_exact_binomial_interval() -> None:
    # 100 transactions have no failure: the upper bound of Clopper and Pearson is 1 - 0.025^(1/100) = 3.62 %.
    transactions = {"add": {"count": 100, "errors": 0}, "read": {"count": 300, "errors": 100}}
    runs = [run("a", {}, 1.0, transactions=transactions, errors={"count": 100, "share": 0.2})]
    none = judged({"measure": {"value": {"of": "errors of add"}}, "holds": "< 4 %"}, [], runs)
    assert (none["verdict"], none["measured"]["method"]) == ("confirmed", "binomial")
    assert none["measured"]["high"] == pytest.approx(1 - 0.025**0.01)
    every = judged({"measure": {"value": {"of": "errors"}}, "holds": "> 30 %"}, [], runs)
    assert (every["verdict"], every["measured"]["value"]) == ("refuted", 0.2)


def course(*values: float, half: float = 0.1) -> list[dict[str, Any]]:
    return [
        run(f"r{n}", {"files": level}, value, half)
        for n, (level, value) in enumerate(zip(SIZES["levels"], values, strict=True))
    ]


def over(kind: str, holds: str, **more: Any) -> dict[str, Any]:
    return {"measure": {kind: {"of": "throughput", "over": "files", **more}}, "holds": holds}


@pytest.mark.parametrize(
    ("values", "holds", "verdict"),
    [
        ((9, 5, 7, 8), "at 20", "confirmed"),
        ((9, 5, 7, 8), "at 20 or 40", "confirmed"),
        ((9, 5, 5.02, 8), "at 20 or 40", "confirmed"),
        ((9, 5, 5.02, 8), "at 20", "undecided"),
        ((9, 5, 5.02, 8), "at first", "refuted"),
        ((9, 5, 5.02, 8), "inside", "confirmed"),
        ((9, 5, 7, 4), "inside", "refuted"),
        ((9, 5, 7, 5), "inside", "undecided"),
    ],
)
def test_the_lowest_level_and_those_that_may_be_it(values: tuple[float, ...], holds: str, verdict: str) -> None:
    assert judged(over("lowest", holds), [SIZES], course(*values))["verdict"] == verdict
    upside_down = course(*(10 - value for value in values))
    assert judged(over("highest", holds), [SIZES], upside_down)["verdict"] == verdict


def test_the_levels_that_may_be_lowest_are_named() -> None:
    found = judged(over("lowest", "at 20"), [SIZES], course(9, 5, 5.02, 8))
    assert (found["found"], found["may_be"]) == ("20", ["20", "40"])
    assert found["why"] == "the lowest value may also be at files 40"
    assert [level["level"] for level in found["levels"]] == SIZES["levels"]
    assert judged(over("lowest", "at 20"), [SIZES], course(9, 5, 5.02, 8)[:3])["why"] == "no run at files 100"


@pytest.mark.parametrize(
    ("values", "holds", "verdict"),
    [
        ((1, 2, 3, 4), "rises", "confirmed"),
        ((1, 2, 3, 4), "falls", "refuted"),
        ((4, 3, 2, 1), "falls", "confirmed"),
        ((10, 20, 19.5, 30), "rises", "confirmed"),
        ((10, 20, 15, 30), "rises", "refuted"),
        ((10, 10.01, 10.02, 10.03), "rises", "undecided"),
        ((10, 10.01, 10.02, 10.03), "stays", "confirmed"),
        ((10, 10.01, 10.02, 12), "stays", "refuted"),
        ((10, 10.01, 10.02, 10.5), "stays", "undecided"),
        ((10, 12, 10.02, 10.03), "stays", "refuted"),
    ],
)
def test_trends(values: tuple[float, ...], holds: str, verdict: str) -> None:
    assert judged(over("trend", holds), [SIZES], course(*values))["verdict"] == verdict


@pytest.mark.parametrize(
    ("values", "holds", "why"),
    [
        # Each level is a mean of 20 values with a half width of 0.1. A difference of two levels has a standard error of
        # 0.1 / t(19) sqrt(2) = 0.0676 with 38 degrees of freedom.
        #
        # Half width of each of three differences, tested at 5 % together: 2.50 * 0.0676 = 0.169. Half width of the
        # total change, tested at 5 % alone: 2.02 * 0.0676 = 0.137.
        ((10, 20, 15, 30), "rises", "from files 20 to 40 the quantity falls by 5.00 (4.83 to 5.17) /s, 2 /s allowed"),
        ((10, 20, 18, 30), "rises", "from files 20 to 40 the quantity may fall by up to 2.17 /s, 2 /s allowed"),
        ((30, 18, 20, 10), "falls", "from files 20 to 40 the quantity may rise by up to 2.17 /s, 2 /s allowed"),
        ((10, 10.01, 10.02, 10.03), "rises", "from files 4 to 100 the quantity may fall by up to 0.107 /s"),
        ((1, 2, 3, 4), "falls", "from files 4 to 20 the quantity rises by 1.00 (0.83 to 1.17) /s, 0.3 /s allowed"),
        (
            (10, 10.01, 10.02, 10.5),
            "stays",
            "from files 4 to 100 the quantity may rise by up to 0.669 /s, 0.5 /s allowed",
        ),
        (
            (10, 10.01, 10.02, 9.5),
            "stays",
            "from files 4 to 100 the quantity may fall by up to 0.669 /s, 0.5 /s allowed",
        ),
    ],
)
def test_a_trend_that_is_not_confirmed_names_the_step(values: tuple[float, ...], holds: str, why: str) -> None:
    assert judged(over("trend", holds), [SIZES], course(*values))["why"] == why


def test_a_step_back_is_allowed_up_to_the_share_given() -> None:
    runs = course(10, 20, 15, 30)
    assert judged(over("trend", "rises", allow="30 %"), [SIZES], runs)["verdict"] == "confirmed"
    assert judged(over("trend", "rises", allow="25.5 %"), [SIZES], runs)["verdict"] == "undecided"
    assert judged(over("trend", "rises", allow="24 %"), [SIZES], runs)["verdict"] == "refuted"


def test_a_trend_of_a_ratio_and_an_inner_level_left_out() -> None:
    runs = [
        run(f"{cache}{level}", {"files": level, "cache": cache}, value if cache == "large" else 10, 0.1)
        for level, value in zip(SIZES["levels"], (40, 30, 20, 10), strict=True)
        for cache in ("small", "large")
    ]
    claim = over("trend", "falls", at={"cache": "large"}, to={"cache": "small"})
    found = judged(claim, [SIZES, CACHE], runs)
    assert found["verdict"] == "confirmed"
    assert [entry["measured"]["value"] for entry in found["levels"]] == [4.0, 3.0, 2.0, 1.0]
    assert found["measured"]["value"] == 0.25
    without = judged(claim, [SIZES, CACHE], [summary for summary in runs if summary["factors"]["files"] != "20"])
    assert without["left_out"] == ["no run at cache large, files 20"]
    assert judged(claim, [SIZES, CACHE], runs[:-2])["verdict"] == "not_testable"


def test_a_claim_of_another_version_is_not_testable() -> None:
    found = judged({"measure": {"median": {}}, "holds": "> 1"}, [], [])
    assert (found["verdict"], found["says"]) == ("not_testable", "So it is.")


def test_claims_are_written_beside_the_summary_and_counted_in_it(tmp_path: Any) -> None:
    folder = ResultsFolder.create(
        tmp_path / "results",
        {
            "schema": "towtank/study-results/1",
            "study": {
                "name": "s",
                "factors": [],
                "claims": [{"says": "There is a JVM.", "not_testable": "There is none."}],
            },
        },
    )
    assert summarize_study(folder)["claims"] == {"confirmed": 0, "refuted": 0, "undecided": 0, "not_testable": 1}
    written = json.loads((folder.path / "claims.json").read_text("utf-8"))
    assert (written["schema"], written["claims"][0]["why"]) == ("towtank/claims/1", "There is none.")
    write_json(folder.path / "study.json", {"schema": "towtank/study-results/1", "study": {"name": "s"}})
    assert "claims" not in summarize_study(folder)


def test_verdicts_are_wrong_no_more_often_than_their_confidence_allows() -> None:
    # All levels have the same distribution. In 5 % of studies, the first level may be wrongly excluded as the lowest.
    # In 2.5 %, a ratio of 1 may be confirmed as above 1. Five standard deviations of a binomial count are added.
    draws, studies = random.Random(20261122), 400
    ruled_out = confirmed = 0
    for _ in range(studies):
        runs = [
            run(f"r{level}{n}", {"files": level}, draws.gauss(100, 3)) for level in SIZES["levels"] for n in range(3)
        ]
        ruled_out += "4" not in judged(over("lowest", "inside"), [SIZES], runs)["may_be"]
        claim = {"of": "throughput", "at": {"files": "20"}, "to": {"files": "4"}}
        found = judged({"measure": {"ratio": claim}, "holds": "> 1"}, [SIZES], runs)
        confirmed += found["verdict"] == "confirmed"
    assert ruled_out <= 0.05 * studies + 5 * (0.05 * 0.95 * studies) ** 0.5
    assert confirmed <= 0.025 * studies + 5 * (0.025 * 0.975 * studies) ** 0.5


def test_cpu_time_of_a_phase_is_compared_with_its_interval() -> None:
    """CPU uses of 0.6 and 0.15 CPUs have the ratio 4. Its interval follows from the intervals in the summaries
    (`estimates`); without these, the claim is undecided.
    """

    def ramp(database: float) -> dict[str, Any]:
        found = estimate(database, 0.1 * database)
        tier = {"cpus_used": database, "parts": {"database": database}}
        tier["estimates"] = {"cpus_used": found, "parts": {"database": found}}
        phase = {"start_s": 0.0, "end_s": 10.0, "throughput_per_s": 10.0, "response_mean_s": None}
        return {"ramp_up": {**phase, "tiers": {"content": tier}}}

    claim = ratio("> 1.5", of="phases.ramp_up.tiers.content.parts.database")
    runs = [
        run("r001", {"cache": "small"}, 10.0, phases=ramp(0.15)),
        run("r002", {"cache": "large"}, 10.0, phases=ramp(0.6)),
    ]
    found = judged(claim, [CACHE], runs)
    assert found["verdict"] == "confirmed"
    assert found["measured"]["value"] == pytest.approx(4.0)
    for summary in runs:
        del summary["phases"]["ramp_up"]["tiers"]["content"]["estimates"]
    assert judged(claim, [CACHE], runs)["verdict"] == "undecided"


@pytest.mark.parametrize(
    ("holds", "required", "counted"),
    [("< 1.1", True, {"refuted": 1}), ("> 1.1", True, {"confirmed": 1}), ("< 1.1", None, {}), ("< 1.1", False, {})],
)
def test_required_claims_are_counted_apart(holds: str, required: bool | None, counted: dict[str, int]) -> None:
    more = {} if required is None else {"required": required}
    study = {"name": "s", "factors": [CACHE], "run_to_run": 0.0, "claims": [{"says": "So.", **ratio(holds), **more}]}
    found = claims.judge(study, [run("r0", {"cache": "large"}, 20.0, 0.1), run("s0", {"cache": "small"}, 10.0, 0.1)])
    assert {verdict: count for verdict, count in found.required.items() if count} == counted
    assert found.claims[0].required is bool(required)


def test_documents_that_were_not_read_back_leave_an_exact_count_open_until_they_are() -> None:
    found = judged(
        {"measure": {"value": {"of": "stored.lost", "at": {"cache": "large"}}}, "holds": "< 1"},
        [CACHE],
        [run("a", {"cache": "large"}, 20, stored={**NOTHING_STORED, "acknowledged": 2, "unread": 2})],
    )
    assert (found["verdict"], found["measured"]["high"]) == ("undecided", 2.0)
    assert found["do"] == "remove the cause why stored documents could not be read back, and run the study again"


@pytest.mark.parametrize(("holds", "follows"), [("> 1.5", "Take the large cache."), ("< 1.5", "Keep the small cache.")])
def test_a_decided_claim_has_the_consequence_of_its_verdict(holds: str, follows: str) -> None:
    runs = [run("r1", {"cache": "small"}, 10.0, 0.1), run("r2", {"cache": "large"}, 20.0, 0.1)]
    consequences = {"then": "Take the large cache.", "otherwise": "Keep the small cache."}
    assert judged({**ratio(holds), **consequences}, [CACHE], runs)["follows"] == follows
    assert judged(ratio(holds), [CACHE], runs)["follows"] == ""


def test_an_open_claim_has_no_consequence() -> None:
    runs = [run("r1", {"cache": "small"}, 10.0, 1.0), run("r2", {"cache": "large"}, 20.0, 1.0)]
    assert judged({**ratio("> 2"), "then": "Take the large cache."}, [CACHE], runs)["follows"] == ""
