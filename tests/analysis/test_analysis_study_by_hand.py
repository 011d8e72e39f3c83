from __future__ import annotations

import random

import pytest

from towtank.analysis import capacity, comparison, conclusion, demand, objectives
from towtank.analysis.aggregation import aggregate
from towtank.analysis.ideal import ideal_line
from towtank.analysis.limits import of_levels
from towtank.analysis.load_point import LimitKind
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.study import describe_study
from towtank.analysis.study_summary import Comparison, ObjectiveAnswer
from towtank.report.objectives import outcome


def headline(summary):
    """Return the headline of a study without claims."""
    return conclusion.conclude(summary).headline


def estimate(value, width=0.0, n=10):
    """Return an estimate in the form in which a run summary contains it."""
    interval = {"low": value - width, "high": value + width, "confidence": 0.95}
    return {"value": value, **interval, "method": "batch means", "n": n}


def made(name, users, throughput, cpus=0.5, allotted=1, *, verdict="valid"):
    """Return a run summary with only the values that the tests need."""
    times = {key: estimate(0.1, 0.01) for key in ("mean", "p50", "p90", "p95", "p99")}
    times |= {"min": 0.02, "max": 0.5}
    rate = estimate(throughput, 0.1)
    read = {"count": 100, "errors": 0, "throughput_per_s": rate, "phases": {}, "response_time_s": times}
    content = {
        "kind": "x",
        "cpus_used": estimate(cpus, 0.01),
        "cpus_allotted": allotted,
        "utilization": cpus / allotted,
        "cpu_demand_s": estimate(cpus / throughput, 0.001),
        "parts": {},
    }
    return {
        "run": name,
        "factors": {"users": str(users)},
        "status": "complete",
        "verdict": {"level": verdict, "reasons": []},
        "users": {"asked": users, "mean": users},
        "rate": None,
        "throughput_per_s": rate,
        "response_time_s": times,
        "errors": {"share": 0.0},
        "transactions": {"read": read},
        "tiers": {"content": content},
        "laws": {"little": {"n": users, "z_s": 1.0, "x_per_s": throughput, "r_s": 0.1}},
        "host": {"disks": {}},
    }


def read(*values, **more):
    return RunSummary.read(made(*values, **more))


def test_repetitions_give_a_t_interval_over_runs():
    runs = [made(f"r{number}", 10, value) for number, value in enumerate([9.0, 10.0, 11.0])]
    found = describe_study({"study": {"name": "s"}}, runs)["configurations"][0]["points"][0]["throughput_per_s"]
    # The mean of three values with s = 1 has the half width t(0.975, 2) / sqrt(3) = 4.3027 / sqrt(3) = 2.4841.
    assert found["value"] == pytest.approx(10.0)
    assert found["high"] == pytest.approx(12.4841, abs=1e-4)
    assert (found["method"], found["n"]) == ("runs", 3)


def test_one_run_keeps_its_own_interval():
    found = describe_study({"study": {"name": "s"}}, [made("r1", 10, 9.0)])
    assert found["configurations"][0]["points"][0]["throughput_per_s"]["method"] == "batch means"


def test_invalid_repetitions_do_not_count_where_there_are_others():
    point = aggregate("users", 10, [read("r1", 10, 9.0), read("r2", 10, 90.0, verdict="invalid")])
    assert point.throughput.value == 9.0
    assert point.verdicts == ["valid", "invalid"]


def test_few_wild_values_do_not_pass_for_the_largest_change():
    def line(value, low, high):
        ratio = {"value": value, "low": low, "high": high}
        found = {"factor": "f", "from": "a", "to": "b", "metric": "x", "ratio": ratio, "differs": not low <= 1 <= high}
        return Comparison.model_validate(found)

    wild, sure, chance = line(0.1, 0.01, 0.6), line(3.0, 2.5, 3.5), line(9.0, 0.5, 40.0)
    assert sorted([chance, wild, sure], key=comparison.strength, reverse=True) == [sure, wild, chance]


def points(*rows):
    return [aggregate("users", row[0], [read(f"r{row[0]}", *row)]) for row in rows]


def test_without_a_shortfall_the_limit_is_not_found():
    rows = points((10, 10.0, 0.1), (20, 19.8, 0.2))
    limit = of_levels.limit(rows, ideal_line(rows)).model_dump(mode="json")
    assert not limit["reached"]
    assert "not found: think time limits the load" in limit["evidence"]
    assert limit["leaves_ideal_at"] is None


def conclude(*runs, kind="users"):
    """Return the limit of a configuration with the given runs, one for each load."""
    rows = [aggregate(kind, run["users"]["asked"], [RunSummary.read(run)]) for run in runs]
    return of_levels.limit(rows, ideal_line(rows)).model_dump(mode="json")


def test_a_shortfall_without_a_saturated_tier_leaves_the_resource_open():
    limit = conclude(made("r1", 10, 10.0, 0.1), made("r2", 20, 12.0, 0.3))
    assert (limit["kind"], limit["reached"], limit["resource"]) == ("unknown", True, None)
    assert "no observed tier is saturated (content at 30 % of its CPUs)" in limit["evidence"]
    assert "CPU time" not in limit["evidence"]
    assert limit["leaves_ideal_at"] == {"after": 10, "at": 20}


def test_a_shortfall_at_the_limit_of_a_disk_names_the_disk():
    disk = {"utilization": 0.995, "utilization_of": "write_operations", "utilization_limit": 100.0}
    hosts = {"hosts": {"store": {"disks": {"data": disk}}}}
    limit = conclude(made("r1", 10, 10.0, 0.1) | hosts, made("r2", 20, 12.0, 0.3) | hosts)
    assert limit["evidence"].endswith("; disk data of host store uses 100 % of its limit of 100 writes/s")


def without_tiers(run, cpus_used=None):
    host = {"disks": {}} if cpus_used is None else {"disks": {}, "cpus": 2, "cpus_used": estimate(cpus_used)}
    return {**run, "tiers": {}, "host": host}


def test_a_tier_that_was_not_observed_is_no_evidence_against_the_cpu():
    # The server is not part of the study, so no tier is observed, and the utilization of its CPUs is unknown.
    limit = conclude(*(without_tiers(made(f"r{n}", n, x)) for n, x in ((10, 10.0), (20, 12.0))))
    assert (limit["kind"], limit["resource"]) == ("unknown", None)
    assert "the limiting resource was not observed (no tier was observed)" in limit["evidence"]
    limit = conclude(*(without_tiers(made(f"r{n}", n, x), 1.09) for n, x in ((10, 10.0), (20, 12.0))))
    assert "this machine used 1.09 of 2 CPUs" in limit["evidence"]


def test_noise_of_the_lowest_level_is_no_limit():
    # The true throughput at 20 users is 19.75 /s. By chance 22.0 [19.5, 24.5] /s are measured, so 80 users seem to be
    # 13 % below the ideal line.
    lowest, high = made("r1", 20, 22.0), made("r2", 80, 76.9)
    lowest["throughput_per_s"], high["throughput_per_s"] = estimate(22.0, 2.5), estimate(76.9, 4.75)
    limit = conclude(lowest, high)
    assert (limit["kind"], limit["reached"], limit["leaves_ideal_at"]) == ("undecided", None, None)
    assert "which may be chance" in limit["evidence"]


def test_a_shortfall_without_an_interval_is_not_decided():
    lowest, high = made("r1", 10, 10.0), made("r2", 20, 12.0)
    for run in (lowest, high):
        run["throughput_per_s"] = {**run["throughput_per_s"], "low": None, "high": None, "method": "none"}
    assert conclude(lowest, high)["kind"] == "undecided"


def test_levels_at_which_transactions_fail_are_the_limit():
    reasons = [{"kind": "errors_above_limit", "level": "invalid", "message": "9 % failed", "seen": 0.09, "limit": 0.01}]
    failing = made("r3", 130, 130.0, verdict="invalid")
    failing["verdict"]["reasons"], failing["errors"] = reasons, {"share": 0.09}
    failing["transactions"]["read"].update(count=91, errors=9)
    limit = conclude(made("r1", 50, 50.0), made("r2", 80, 80.0), failing)
    assert (limit["kind"], limit["reached"], limit["resource"]) == ("errors", True, None)
    assert (
        "at 130 users too many transactions fail (9 % failed); 80 users is the highest valid level" in limit["evidence"]
    )


@pytest.mark.parametrize("kind", ["generator_saturated", "interference", "service_died"])
def test_failures_that_the_generator_or_others_may_cause_are_no_limit_of_the_system(kind):
    reasons = [{"kind": name, "level": "invalid", "message": name} for name in ("errors_above_limit", kind)]
    failing = made("r3", 800, 130.0, verdict="invalid")
    failing["verdict"]["reasons"] = [{**reason, "seen": 0.2, "limit": 0.01} for reason in reasons]
    limit = conclude(made("r1", 50, 50.0), made("r2", 80, 80.0), failing)
    assert (limit["kind"], limit["reached"]) == ("undecided", None)


def test_an_open_load_that_grows_is_an_overload_however_small_the_shortfall():
    # A throughput of 99.7 /s is only 8 % below the arrival rate of 108 /s. But the number of transactions in the system
    # grew from 70 to 282, so the system is overloaded.
    top = made("r3", 108, 99.7, verdict="suspect")
    top["window"] = {"start_s": 0.0, "end_s": 60.0, "growth": {"is_significant": True}}
    doubt = {"kind": "no_steady_state", "level": "suspect", "message": "571 of 6,539 arrivals were left unfinished"}
    top["verdict"]["reasons"] = [{**doubt, "seen": 0.09, "limit": 0.05}]
    runs = [made("r1", 50, 50.0), made("r2", 85, 85.0), top]
    limit = conclude(*runs, kind="rate")
    assert (limit["kind"], limit["reached"]) == ("overload", True)
    assert "571 of 6,539 arrivals were left unfinished" in limit["evidence"]
    del top["window"]
    assert conclude(*runs, kind="rate")["kind"] == "undecided", (
        "a level without a steady state does not decide the limit"
    )


def test_a_level_above_that_is_invalid_leaves_the_limit_open():
    limit = conclude(made("r1", 50, 50.0), made("r2", 80, 80.0), made("r3", 130, 130.0, verdict="invalid"))
    assert (limit["kind"], limit["reached"]) == ("undecided", None)
    assert "no run above 80 users is valid" in limit["evidence"]


def sharing_cpus(name, users, throughput, content, area, *, group="/site/node-1"):
    """Return a run in which the content server and the client of its file system share 0.1 CPUs."""
    run = made(name, users, throughput, content, 0.1)
    other = made(name, users, throughput, area, 0.1)["tiers"]["content"]
    run["tiers"] = {"area": other, "content": run["tiers"]["content"]}
    for tier in run["tiers"].values():
        tier["cpu_control_group"] = group
    return run


def test_tiers_that_share_cpus_are_full_together():
    # A content server uses 86 % of 0.1 CPUs, and the client of its file system the other 14 %.
    limit = conclude(sharing_cpus("r1", 20, 19.0, 0.02, 0.003), sharing_cpus("r2", 160, 55.0, 0.0858, 0.0142))
    assert (limit["kind"], limit["resource"]) == ("cpu", "content")
    assert "area and content together use 0.10 CPUs, 100 % of their common CPUs" in limit["evidence"]
    apart = conclude(
        sharing_cpus("r1", 20, 19.0, 0.02, 0.003, group=None), sharing_cpus("r2", 160, 55.0, 0.0858, 0.0142, group=None)
    )
    assert (apart["kind"], apart["resource"]) == ("unknown", None)


def test_an_open_load_that_is_not_carried_is_an_overload():
    limit = conclude(made("r1", 50, 50.0, 0.3), made("r2", 115, 98.6, 0.6), kind="rate")
    assert (limit["kind"], limit["reached"]) == ("overload", True)


def test_a_full_tier_on_the_ideal_line_is_nearly_the_limit():
    limit = conclude(made("r1", 10, 10.0, 0.1), made("r2", 95, 95.0, 0.95))
    assert (limit["kind"], limit["reached"]) == ("undecided", None)
    assert (
        "nearly reached: content at 95 % of its CPUs at 95 users; the remaining CPU time is enough for 5 % more"
        in limit["evidence"]
    )


@pytest.mark.parametrize("kind", list(LimitKind))
def test_every_kind_of_limit_has_its_words_in_the_headline(kind):
    summary = describe_study({"study": {"name": "s"}}, [made("r1", 10, 10.0)])
    summary["configurations"][0]["limit"] |= {"kind": str(kind), "resource": "content"}
    text = headline(summary)
    assert ("limited by the CPU of content" in text) == (kind == "cpu")
    assert ("its limit not reached" in text) == (kind == "none")


def test_a_doubt_of_several_runs_has_the_range_of_its_number():
    runs = [made(f"r{number}", 10 * number, 10.0 * number, verdict="invalid") for number in (1, 2, 3)]
    for run, share in zip(runs, (0.63, 0.87, 0.38), strict=True):
        message = f"other programs used {100 * share:.0f} % of the system's CPUs"
        run["verdict"]["reasons"] = [
            {"kind": "interference", "level": "invalid", "message": message, "seen": share, "limit": 0.1}
        ]
    (reason,) = describe_study({"study": {"name": "s"}}, runs)["verdict"]["reasons"]
    assert reason["message"] == "other programs used 38 to 87 % of the system's CPUs (r1, r2, r3)"
    assert reason["runs"] == ["r1", "r2", "r3"]


@pytest.mark.parametrize(
    ("doubts", "message"),
    [
        ([("none", None), ("none", None)], "none (r1, r2)"),
        ([("errors 5 %", 0.05), ("errors 5 %", 0.05)], "errors 5 % (r1, r2)"),
        ([("it lasts 900 ms", 0.9), ("it lasts 1.2 s", 1.2)], "it lasts 900 ms to 1.2 s (r1, r2)"),
        ([("x changes by +40 %", 0.4), ("x changes by −30 %", 0.3)], "x changes by −30 to +40 % (r1, r2)"),
        ([("it took 5 ms to 9 ms", 0.4), ("it took 7 ms to 1.1 s", 0.3)], "it took 5 ms to 1.1 s (r1, r2)"),
        ([("mix is off: p = 1e-05, n = 1,200", 9.0), ("mix is off: p = 3e-09, n = 800", 8.0)],
         "mix is off: p = 3e-09 to 1e-05, n = 800 to 1,200 (r1, r2)"),
        ([("cores (0-1) busy for 95 %", 0.95), ("cores (0-3) busy for 99 %", 0.99)],
         "cores (0-3) busy for 99 % (r2; similar doubts about r1)"),
        ([("nothing was recorded", None), ("x +90 %", 0.9)], "nothing was recorded (r1; similar doubts about r2)"),
        ([("x changes by +40 %", 0.4), ("y +30 %", 0.3)], "x changes by +40 % (r1; similar doubts about r2)"),
        ([("store-1 is 40 % busy", 0.4), ("store-2 is 30 % busy", 0.3)],
         "store-1 is 40 % busy (r1; similar doubts about r2)"),
    ],
)  # fmt: skip
def test_a_doubt_names_no_run_that_has_another(doubts, message):
    runs = [made(f"r{number}", 10 * number, 10.0 * number, verdict="invalid") for number in (1, 2)]
    for run, (text, seen) in zip(runs, doubts, strict=True):
        run["verdict"]["reasons"] = [
            {"kind": "no_steady_state", "level": "invalid", "message": text, "seen": seen, "limit": 0.1}
        ]
    (reason,) = describe_study({"study": {"name": "s"}}, runs)["verdict"]["reasons"]
    assert reason["message"] == message
    assert reason["runs"] == ["r1", "r2"]


def configurations(*levels, verdict="valid"):
    """Return the headline of a study with one run at each level of a factor; `verdict` is that of the last run."""
    runs = []
    for number, level in enumerate(levels, start=1):
        run = made(f"r{number}", 10, 10.0 * number, verdict=verdict if number == len(levels) else "valid")
        run["factors"] = {"users": "10", "cache": level}
        runs.append(run)
    factors = [{"name": "cache", "levels": list(levels)}]
    return headline(describe_study({"study": {"name": "s", "factors": factors}}, runs))


def test_the_headline_answers_for_every_configuration():
    text = configurations("off", "on")
    assert text.index("With cache = off, throughput reaches 10.00") < text.index(
        "With cache = on, throughput reaches 20.0"
    )


def test_the_headline_of_many_configurations_names_the_best_and_the_worst():
    text = configurations("a", "b", "c", "d", "e")
    assert text.startswith(
        "Of 5 configurations these have the highest and the lowest throughput. With cache = e, throughput reaches 50.0"
    )
    assert "With cache = a, throughput reaches 10.00" in text
    assert "cache = c," not in text


def test_many_configurations_that_carry_alike_are_not_ranked():
    summary = describe_study(
        {"study": {"name": "s", "factors": [{"name": "cache", "levels": list("abcde")}]}},
        [{**made(f"r{n}", 10, 10.0 + 0.01 * n), "factors": {"users": "10", "cache": level}}
         for n, level in enumerate("abcde")],
    )  # fmt: skip
    assert headline(summary).startswith(
        "Of 5 configurations these have the highest and the lowest throughput, without a clear difference. "
    )


def test_the_headline_of_a_search_describes_a_level_that_passed():
    summary = describe_study({"study": {"name": "s"}}, [made("r1", 400, 40.0), made("r2", 500, 12.0)])
    summary["configurations"][0]["found_limit"] = {
        "value": 400, "low": 380, "high": 420, "of": "users", "is_lower_bound": False, "method": "tested",
        "confidence": None, "failure": {"kind": "objective_missed"},
    }  # fmt: skip
    assert "40.00 (39.90 to 40.10) transactions/s" in headline(summary)
    assert "at 400 users" in headline(summary)


def test_the_headline_says_what_is_not_answered():
    assert "There is no result for cache = on: no run of it is usable." in configurations(
        "off", "on", verdict="invalid"
    )


def test_the_headline_marks_what_a_suspect_run_says():
    text = configurations("off", "on", verdict="suspect")
    assert text.count("from a suspect run") == 1
    assert text.index("With cache = on") < text.index("from a suspect run")


@pytest.mark.parametrize(("high", "is_told"), [(9.0, True), (11.0, False)])
def test_an_effect_that_may_be_anything_is_not_in_the_headline(high, is_told):
    summary = describe_study({"study": {"name": "s"}}, [made("r1", 10, 10.0)])
    ratio = {"value": 3.0, "low": 1.0, "high": high, "method": "t", "n": 3}
    summary["comparisons"] = [
        {"factor": "cache", "from": "on", "to": "off", "transaction": "view", "ratio": ratio, "differs": True,
         "assumed": None, "load": 10, "users": 10, "metric": "response_time_s.mean of view"},
    ]  # fmt: skip
    assert ("the mean response time of view is 3" in headline(summary)) == is_told


@pytest.mark.parametrize(("verdict", "leans"), [("suspect", True), ("valid", False)])
def test_an_effect_that_leans_on_a_suspect_run_says_so(verdict, leans):
    runs = [made("r1", 10, 10.0), made("r2", 10, 10.0, verdict=verdict), made("r3", 10, 10.0, verdict="suspect")]
    for run, level in zip(runs, ("off", "on", "half"), strict=True):
        run["factors"] = {"users": "10", "cache": level}
    factors = [{"name": "cache", "levels": ["off", "on", "half"]}]
    summary = describe_study({"study": {"name": "s", "factors": factors}}, runs)
    ratio = {"value": 0.5, "low": 0.4, "high": 0.6, "method": "t", "n": 3}
    summary["comparisons"] = [
        {"factor": "cache", "from": "off", "to": "on", "others": {}, "transaction": "view", "ratio": ratio,
         "differs": True, "assumed": None, "load": 10, "users": 10, "metric": "response_time_s.mean of view"},
    ]  # fmt: skip
    assert headline(summary).endswith("at 10 users, from a suspect run.") == leans


def test_response_times_that_were_not_recorded_are_not_zero():
    run = made("r1", 10, 10.0)
    run["response_time_s"] = {key: {**estimate(0.1), "value": None} for key in run["response_time_s"]}
    run["response_time_s"] |= {"min": None, "max": None}
    run["transactions"] = {}
    text = headline(describe_study({"study": {"name": "s"}}, [run]))
    assert "10.00 (9.90 to 10.10) transactions/s at 10 users (response times unknown)" in text
    assert "0 µs" not in text


def test_an_objective_rests_on_valid_runs_only():
    # All transactions of one configuration failed after 0.9 ms. An objective about the response time must not be met by
    # times of failed transactions.
    reasons = [{"kind": "errors_above_limit", "level": "invalid", "message": "all failed", "seen": 1.0, "limit": 0.01}]
    failed = made("r2", 20, 20.0, verdict="invalid")
    failed["verdict"]["reasons"], failed["errors"] = reasons, {"share": 1.0}
    failed["transactions"]["read"].update(count=0, errors=100)
    manifest = {
        "study": {
            "name": "s",
            "objectives": [
                {"text": "p95 < 1 s", "metric": "p95", "comparison": "<", "value": 1.0},
                {"text": "errors < 1 %", "metric": "errors", "comparison": "<", "value": 0.01},
            ],
        }
    }
    times, errors = describe_study(manifest, [made("r1", 10, 10.0), failed])["objectives"]
    assert (times["met"], times["seen"], times["holds_up_to"]) == (None, 0.1, 10)
    assert times["not_judged"] == [
        {"load": 20.0, "runs": ["r2"], "kind": "invalid", "why": "r2 is invalid (all failed)"}
    ]
    # A run that is invalid because of its errors can still be used for an objective about the share of errors.
    assert (errors["met"], errors["seen"], errors["not_judged"]) == (False, 1.0, [])


def test_a_disturbed_run_decides_objectives_about_lost_data():
    disturbed = made("r1", 10, 10.0, verdict="invalid")
    disturbed["verdict"]["reasons"] = [
        {"kind": "interference", "level": "invalid", "message": "others", "seen": 0.8, "limit": 0.1}
    ]
    disturbed["stored"] = {"lost": 3}
    objective = {"text": "stored.lost <= 0", "metric": "stored.lost", "comparison": "<=", "value": 0.0}
    found = describe_study({"study": {"name": "s", "objectives": [objective]}}, [disturbed])["objectives"][0]
    assert (found["met"], found["seen"], found["not_judged"]) == (False, 3.0, [])


def test_an_objective_is_not_judged_where_its_transaction_never_completed():
    without = made("r2", 20, 20.0)
    without["transactions"] = {}
    objective = {"text": "p95 of read < 1 s", "metric": "p95", "transaction": "read", "comparison": "<", "value": 1.0}
    manifest = {"study": {"name": "s", "objectives": [objective]}}
    found = describe_study(manifest, [made("r1", 10, 10.0), without])["objectives"][0]
    assert (found["met"], found["seen"], found["holds_up_to"]) == (None, 0.1, 10)
    assert found["not_judged"] == [
        {"load": 20.0, "runs": ["r2"], "kind": "not_measured", "why": "read was not measured"}
    ]


@pytest.mark.parametrize(
    ("share", "why"),
    [
        (None, "no run has this load, the runs have 10 and 40 users"),
        (0.2, "20 % of the limit: no run has this load, the runs have 10 and 40 users"),
    ],
)
def test_an_objective_at_a_load_of_no_run_names_the_loads_of_the_runs(share, why):
    objective = {"text": "p95 < 1 s at 20 % of the limit", "metric": "p95", "comparison": "<", "value": 1.0}
    objective |= {"users": 20, "of_limit": share}
    manifest = {"study": {"name": "s", "objectives": [objective]}}
    found = describe_study(manifest, [made("r1", 10, 10.0), made("r2", 40, 20.0)])["objectives"][0]
    assert found["not_judged"] == [{"load": 20.0, "runs": [], "kind": "not_measured", "why": why}]
    assert outcome(ObjectiveAnswer.model_validate(found)) == f"not judged: at 20 users, {why}"


def test_an_objective_about_a_missing_run_is_not_judged():
    design = [{"run": name, "factors": {"users": users}} for name, users in (("r1", "10"), ("r2", "20"))]
    factors = [{"name": "users", "levels": ["10", "20"], "numeric": [10, 20]}]
    objective = {"text": "p95 < 1 s", "metric": "p95", "comparison": "<", "value": 1.0}
    manifest = {"study": {"name": "s", "factors": factors, "objectives": [objective]}, "design": design}
    found = describe_study(manifest, [made("r1", 10, 10.0)])["objectives"][0]
    assert (found["met"], found["not_judged"]) == (
        None,
        [{"load": 20.0, "runs": ["r2"], "kind": "missing", "why": "r2 is missing"}],
    )


def test_a_search_in_an_invalid_run_found_no_limit():
    limit = {
        "of": "users",
        "value": 119.0,
        "low": 100.0,
        "high": 176.0,
        "method": "tested bracket",
        "confidence": 0.95,
        "n": 6,
        "is_lower_bound": False,
        "ended": "refined",
        "failure": None,
        "binding": None,
    }
    for verdict, expected in (("valid", 119.0), ("invalid", None)):
        run = {**made("r1", 119, 100.0, verdict=verdict), "limit": limit}
        summary = describe_study({"study": {"name": "s"}}, [run])
        assert (summary["configurations"][0]["found_limit"] or {}).get("value") == expected
        assert any("119 users" in sentence["text"] for sentence in summary["observations"]) == (expected is not None)


def test_a_tier_with_more_cpus_saturates_later():
    rows = points((10, 10.0, 0.5, 4), (40, 20.0, 3.9, 4))
    limit = of_levels.limit(rows, ideal_line(rows)).model_dump(mode="json")
    assert (limit["reached"], limit["resource"]) == (True, "content")


def test_knee_of_a_textbook_system():
    # Case V02 (Jain, examples 33.7 and 33.8): demands of 5, 4 and 3 s and a think time of 18 s. The knee is
    # (5 + 4 + 3 + 18) / 5 = 6.
    assert capacity.knee(points((1, 1 / 30, 5 / 30))).value == pytest.approx(6.0)


def test_a_lowest_level_beyond_the_knee_gives_no_knee():
    # With D = 10 ms and Z = 1 s, the knee is (D + Z) / D = 101 users. It is computed from the lowest level as N / X /
    # D. 20 users give 20 / 19.8 / 0.01 = 101. 200 users, which are beyond the knee, would give 200 / 100 / 0.01 = 200.
    def lowest(users, rate):
        return aggregate("users", users, [read("r1", users, rate, cpus=0.01 * rate)])

    assert capacity.knee([lowest(200, 100.0)]).value is None
    assert capacity.knee([lowest(20, 19.8)]).value == pytest.approx(101, rel=0.01)


def test_demands_of_different_configurations_have_no_common_line():
    # The demands of the configurations are 17.8 and 29.5 ms. A common line would have a slope of 16.8 ms and a false
    # background use of 0.28 CPUs.
    factors = [{"name": "cache", "levels": ["a", "b"]}, {"name": "users", "levels": ["20", "40", "60", "100"]}]
    runs = [
        made(f"{cache}{rate}", rate, float(rate), cpus=demand_s * rate)
        | {"factors": {"cache": cache, "users": str(rate)}}
        for cache, demand_s, rates in (("a", 0.0178, (20, 60, 100)), ("b", 0.0295, (20, 40, 60)))
        for rate in rates
    ]  # fmt: skip
    found = describe_study({"study": {"name": "s", "factors": factors}}, runs)
    assert found["demand"] == {}
    result = [each["demand"]["content"] for each in found["configurations"]]
    assert [fitted["d_s"]["value"] for fitted in result] == pytest.approx([0.0178, 0.0295])
    assert [fitted["intercept_cpus"] for fitted in result] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_demand_that_may_be_nothing_gives_the_knee_no_interval():
    # The interval of the mean of 1 s and 9 s extends below zero, so the inverse of this demand has no interval.
    runs = [read("r1", 1, 1 / 30, 1 / 30), read("r2", 1, 1 / 30, 9 / 30)]
    found = capacity.knee([aggregate("users", 1, runs)])
    assert found.value == pytest.approx(6.0)
    assert (found.low, found.high) == (None, None)


def test_regression_of_exact_points_by_hand():
    intercept, slope = demand.regression([10.0, 20.0, 40.0], [0.30, 0.50, 0.90])
    assert (intercept, slope.value) == (pytest.approx(0.1), pytest.approx(0.02))
    assert slope.high == pytest.approx(slope.low, abs=1e-9)


def test_regression_covers_the_demand():
    # The interval must contain the true demand in about 95 % of 300 random studies. The standard error of this share is
    # sqrt(0.95 * 0.05 / 300) = 1.3 %.
    stream = random.Random(4)
    covered = 0
    for _ in range(300):
        rates = [5.0 * number for number in range(1, 9)]
        used = [0.05 + 0.02 * rate + stream.gauss(0, 0.02) for rate in rates]
        slope = demand.regression(rates, used)[1]
        covered += slope.low <= 0.02 <= slope.high
    assert 0.90 <= covered / 300 <= 0.99


def test_equal_throughputs_have_no_line():
    assert demand.regression([10.0, 10.0], [0.1, 0.2])[1].value is None
    assert demand.regression([10.0, 20.0], [0.1, 0.2])[1].document()["method"] == "none"


@pytest.mark.parametrize(
    ("objective", "met", "holds"),
    [
        ({"metric": "p95", "comparison": "<", "value": 0.2}, True, 20),
        ({"metric": "response_time.p95", "comparison": "<", "value": 0.05}, False, None),
        ({"metric": "throughput", "comparison": ">=", "value": 15.0}, False, None),
        ({"metric": "p95", "transaction": "read", "comparison": "<=", "value": 0.1}, True, 20),
        ({"metric": "throughput", "comparison": ">=", "value": 15.0, "users": 20}, True, 20),
        ({"metric": "throughput", "comparison": ">=", "value": 15.0, "users": 99}, None, None),
        ({"metric": "max", "comparison": "<", "value": 0.6}, True, 20),
        ({"metric": "min", "transaction": "read", "comparison": ">", "value": 0.1}, False, None),
        ({"metric": "errors", "comparison": "<", "value": 0.01}, True, 20),
        ({"metric": "p95", "transaction": "missing", "comparison": "<", "value": 1}, None, None),
    ],
)
def test_objectives(objective, met, holds):
    rows = [point.document() for point in points((10, 10.0), (20, 20.0))]
    found = objectives.check([{"text": "x", **objective}], [{"key": {}, "label": "all runs", "points": rows}])[0]
    assert (found["met"], found["holds_up_to"]) == (met, holds)
