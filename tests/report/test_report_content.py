from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
import report_synthetic as synthetic
from report_synthetic import rows

from towtank.analysis import ObjectiveAnswer
from towtank.report import format as people
from towtank.report import objectives as outcomes
from towtank.report.content import (
    SECTIONS,
    appendix,
    build_document,
    effects,
    figures,
    generator,
    headline,
    limits,
    observation_cost,
    observations,
    tables,
    verdicts,
    workload,
)
from towtank.report.document import Bullets, Callout, Definitions, Figure, Listing, Paragraph, Section, Table
from towtank.report.source import Results, RunResult


def words(section: Section) -> str:
    """Return the whole text of a report section."""
    parts: list[str] = []
    for block in section.blocks:
        if isinstance(block, Paragraph):
            parts += [run.text for run in block.content]
        elif isinstance(block, Callout):
            parts += [block.title, *(run.text for content in block.content for run in content)]
        elif isinstance(block, Bullets):
            parts += [run.text for item in block.items for run in item]
        elif isinstance(block, Definitions):
            parts += [piece for term, content in block.items for piece in (term, *(run.text for run in content))]
        elif isinstance(block, Table):
            parts += [
                block.caption,
                *(c.title for c in block.columns),
                *(cell for row in block.rows for cell in row),
            ]
            parts += block.footnotes
        elif isinstance(block, Figure):
            parts += [block.title, block.description, block.note]
        elif isinstance(block, Listing):
            parts += [block.caption, *block.lines]
    return " ".join(parts).replace("\N{NO-BREAK SPACE}", " ")


def with_summary(results: Results, **changes: Any) -> Results:
    """Return the results with some parts of the study summary replaced."""
    return dataclasses.replace(results, summary={**results.summary, **changes})


def test_headline_is_that_of_the_analysis() -> None:
    assert "One core carries 100 transactions per second" in words(headline.build(synthetic.results()))


def test_the_summary_asks_answers_and_shows() -> None:
    results = synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"})
    section = headline.build(results)
    kinds = [block.kind for block in section.blocks]
    assert kinds[:2] == ["paragraph", "callout"]
    assert words(section).startswith("Question.  How many users does one core carry")
    assert [block.name for block in section.blocks if isinstance(block, Figure)] == ["throughput"]
    assert len(section.blocks) <= 8


def test_results_in_brief_have_a_row_for_each_configuration() -> None:
    section = headline.build(synthetic.results(verdicts={"r004": "suspect"}))
    (present, absent) = rows(section, "Results in brief")
    assert present[0] == "search_index present"
    assert present[1].endswith("†")
    assert present[2:4] == ("120", "CPU of content")
    assert not absent[1].endswith("†")


def test_results_in_brief_say_why_a_value_has_no_interval() -> None:
    def notes(low: float | None) -> tuple[str, ...]:
        results = copy.deepcopy(synthetic.results())
        results.summary["configurations"][0]["points"][-1]["throughput_per_s"]["low"] = low
        (table,) = [block for block in headline.build(results).blocks
                    if isinstance(block, Table) and block.caption == "Results in brief"]  # fmt: skip
        return table.footnotes

    assert notes(95.0) == ()
    assert notes(None) == ("A value without brackets has no interval, because too few data were recorded.",)


@pytest.mark.parametrize(
    ("scope", "said"),
    [({}, "1 met"), ({"users": 1200}, "1 met at 1,200 users"), ({"rate": 8.0}, "1 met at 8 /s")],
)
def test_objectives_in_brief_name_the_load_that_they_are_judged_at(scope: dict[str, float], said: str) -> None:
    objective = {"text": "p95 < 1 s", "met": True, "seen": 0.4, "configuration": {}, **scope}
    section = headline.build(with_summary(synthetic.results(), objectives=[objective]))
    assert rows(section, "Results in brief")[0][-1] == said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"met": False, "holds_up_to": 48.0}, "missed; holds up to 48 users"),
        ({"met": False, "holds_up_to": 48.0, "suspect_runs": ["r004"]}, "missed †; holds up to 48 users"),
        ({"met": False, "holds_up_to": 8.5, "at": {"rate": 17.0}}, "missed; holds up to 8.5 /s"),
        ({"met": False, "holds_up_to": None}, "missed; holds at no load"),
        ({"met": False, "holds_up_to": None, "users": 72.0}, "missed"),
        ({"met": True, "holds_up_to": 72.0}, "met"),
        ({"met": None, "holds_up_to": None}, "not judged: no value was measured"),
    ],
)
def test_a_missed_objective_has_the_load_up_to_which_it_holds(more: dict[str, Any], said: str) -> None:
    objective = {"text": "p95 < 1 s", "seen": 1.9, "at": {"users": 72.0}, "configuration": {}, **more}
    section = tables.build(with_summary(synthetic.results(), objectives=[objective]))
    (row,) = rows(section, "Objectives of the study")
    assert row[1] == said
    assert ("; holds" in outcomes.line(ObjectiveAnswer.model_validate(objective))) == ("; holds" in said)
    table = next(b for b in section.blocks if isinstance(b, Table) and b.caption == "Objectives of the study")
    assert bool(table.footnotes) == ("†" in said)


@pytest.mark.parametrize(
    ("searched", "said"),
    [
        ({}, "objective missed beyond 430 users [410, 450]"),
        ({"is_lower_bound": True, "high": None, "failure": None}, "not reached: 430 users or more"),
        ({"value": None, "low": None, "high": None}, "no tested load passed"),
    ],
)
def test_what_a_search_found_stands_in_brief(searched: dict[str, Any], said: str) -> None:
    results = synthetic.results()
    found = {"of": "users", "value": 430, "low": 410, "high": 450, "method": "tested bracket", "confidence": 0.95,
             "is_lower_bound": False, "failure": {"kind": "objective_missed"}} | searched  # fmt: skip
    undecided = {"kind": "undecided", "reached": None, "resource": None}
    configuration = {**results.summary["configurations"][0], "found_limit": found, "limit": undecided}
    (row,) = rows(headline.build(with_summary(results, configurations=[configuration])), "Results in brief")
    assert row[3] == said


def test_a_configuration_without_a_run_that_counts_has_no_value_in_brief() -> None:
    verdicts = {f"r00{number}": "invalid" for number in (1, 2, 3, 4)}
    present = rows(headline.build(synthetic.results(verdicts=verdicts)), "Results in brief")[0]
    assert present[1:5] == ("–", "–", "not answered: no valid or suspect run", "–")


def test_of_many_configurations_the_best_and_the_worst_come_first_in_brief() -> None:
    results = synthetic.results()
    configuration = results.summary["configurations"][0]
    many = []
    for number in range(1, 21):
        points = [{**point, "throughput_per_s": synthetic.estimate(float(number))} for point in configuration["points"]]
        many.append({**configuration, "label": f"nodes {number}", "key": {"nodes": str(number)}, "points": points})
    section = headline.build(with_summary(results, configurations=many))
    shown = rows(section, "Results in brief")
    assert [row[0] for row in shown[:6]] == [f"nodes {number}" for number in (20, 19, 18, 3, 2, 1)]
    assert [row[0] for row in shown[6:]] == [f"nodes {number}" for number in range(17, 3, -1)]
    (table,) = [block for block in section.blocks if isinstance(block, Table) and block.caption == "Results in brief"]
    assert table.shown == 6


def test_the_summary_names_three_doubts_and_what_to_do() -> None:
    results = synthetic.results()
    reasons = [
        {"kind": f"k{number}", "level": "suspect", "message": f"doubt {number}", "hint": f"mend {number}"}
        for number in range(5)
    ]
    verdict = {**results.summary["verdict"], "reasons": reasons}
    said = words(headline.build(with_summary(results, verdict=verdict)))
    assert "Doubt 0.   Do:  Mend 0." in said
    assert "Doubt 2.   Do:  Mend 2." in said
    assert "doubt 3" not in said.lower()
    assert "2 further doubts: see the limits of the conclusions." in said


def test_headline_without_one_states_the_facts() -> None:
    results = with_summary(synthetic.results(levels=(30,), indices=("present",)), headline="")
    assert (
        headline.headline(results) == "Of 1 run of this study, 1 could be judged, and none of them allows a conclusion."
    )


def test_counts_of_verdicts_add_up() -> None:
    results = synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}, missing=("r007",))
    assert headline.counts(results) == "5 of 8 runs valid, 1 suspect, 1 invalid, 1 missing"


def test_objective_is_shown_in_its_unit() -> None:
    results = synthetic.results()
    assert rows(tables.build(results), "Objectives")[0] == (
        "p95 of view_properties < 1 s",
        "met",
        "400 ms",
        "users 30",
    )
    share = {"text": "errors < 1 %", "met": False, "seen": 0.02, "at": {"users": 30}}
    results = with_summary(results, objectives=[share])
    manifest = {
        **results.manifest,
        "study": {**results.study, "objectives": [{"text": "errors < 1 %", "metric": "errors"}]},
    }
    shown = tables.build(dataclasses.replace(results, manifest=manifest))
    assert rows(shown, "Objectives")[0][1:3] == ("missed", "2.00 %")


@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        ("p95 < 1 s", (0.2, 0.5), ("met in all 2 configurations", "500 ms", "users 2")),
        ("throughput > 5 /s", (9.0, 7.0), ("met in all 2 configurations", "7.00 /s", "users 2")),
    ],
)
def test_an_objective_that_holds_everywhere_stands_once(
    text: str, seen: tuple[float, float], expected: tuple[str, str, str]
) -> None:
    metric = "throughput" if "throughput" in text else "p95"
    both = [
        {"text": text, "metric": metric, "met": True, "seen": value, "at": {"users": number}}
        for number, value in enumerate(seen, 1)
    ]
    section = tables.build(with_summary(synthetic.results(), objectives=both))
    assert rows(section, "Objectives") == [(text, *expected)]
    missed = [both[0], {**both[1], "met": False}]
    section = tables.build(with_summary(synthetic.results(), objectives=missed))
    assert [row[1] for row in rows(section, "Objectives")] == ["met", "missed"]


def test_runs_with_doubts_are_drawn_over_time_the_gravest_first() -> None:
    states = {"r001": "suspect", "r002": "suspect", "r003": "invalid", "r004": "suspect", "r005": "suspect"}
    section = verdicts.build(synthetic.results(verdicts=states))
    drawn = [block.name for block in section.blocks if isinstance(block, Figure)]
    assert drawn == ["timeline-r003", "timeline-r001", "timeline-r002", "timeline-r004"]
    assert [block for block in verdicts.build(synthetic.results()).blocks if isinstance(block, Figure)] == []


def test_a_law_that_was_not_checked_is_told_apart_from_an_undecided_one() -> None:
    results = synthetic.results()
    laws = results.runs[0].summary["laws"]
    laws["little"] |= {"residual": None, "holds": None}
    laws["utilization"][0] |= {"residual": 0.1, "limit": 0.2, "holds": None}
    row = rows(verdicts.build(results), "Operational laws")[0]
    assert row[1:4] == (people.ABSENT, "5.00 %", "not checked")
    assert row[-1] == "undecided"


def test_percentiles_stand_in_a_table_of_the_points_that_count() -> None:
    results = synthetic.results(verdicts={"r001": "suspect", "r002": "invalid"})
    shown = rows(tables.build(results), "Percentiles")
    assert len(shown) == 7
    point = results.summary["configurations"][0]["points"][0]["response_time_s"]
    assert shown[0][:2] == ("search_index present", "30 †")
    assert shown[0][2:] == (
        *(people.seconds_estimate(point[name]).replace("\N{NO-BREAK SPACE}", " ") for name in ("p50", "p90", "p99")),
        people.seconds(point["max"]).replace("\N{NO-BREAK SPACE}", " "),
    )


def test_results_without_any_interval_say_so() -> None:
    results = synthetic.results()
    for each_configuration in results.summary["configurations"]:
        for point in each_configuration["points"]:
            for value in (point["throughput_per_s"], *point["response_time_s"].values()):
                if isinstance(value, dict):
                    value["low"] = value["high"] = None
    said = words(tables.build(results))
    assert "They have no intervals" in said
    assert "confidence intervals of" not in said


def test_cpus_of_many_tiers_have_a_table_of_their_own() -> None:
    results = synthetic.results(levels=(30,), verdicts={"r002": "invalid"})
    for each_configuration in results.summary["configurations"]:
        for point in each_configuration["points"]:
            ((_, tier),) = point["tiers"].items()
            point["tiers"] = {"gateway": tier, "content": tier, "database": tier}
    section = tables.build(results)
    (row, _) = rows(section, "Results by configuration")
    assert len(row) == 7
    assert rows(section, "CPUs used, by tier") == [("search_index present", "30", *["0.297 [0.282, 0.312]"] * 3)]


def test_what_no_tier_used_has_a_column_beside_the_tiers() -> None:
    results = synthetic.results(levels=(30,), indices=("present",))
    ((point,),) = [each_configuration["points"] for each_configuration in results.summary["configurations"]]
    point["not_attributed"] = {"this_machine": {"cpus_used": {"value": 0.25}}}
    made = next(block for block in tables.build(results).blocks if isinstance(block, Table))
    assert "CPUs not attributed" in [column.title for column in made.columns]
    assert "0.250 CPUs" in "|".join(made.rows[0]).replace("\N{NO-BREAK SPACE}", " ")
    ((_, tier),) = point["tiers"].items()
    point["tiers"] = {"gateway": tier, "content": tier, "database": tier}
    (row,) = rows(tables.build(with_summary(results)), "CPUs used, by tier")
    assert row[-1] == "0.250"


def test_transactions_that_were_over_before_the_steady_stage_have_no_rows() -> None:
    results = synthetic.results(levels=(30,), indices=("present",))
    ((point,),) = [each_configuration["points"] for each_configuration in results.summary["configurations"]]
    point["transactions"]["log_in"] = {"throughput_per_s": synthetic.estimate(0.0), "errors_share": None}
    point["transactions"]["log_out"] = {"throughput_per_s": synthetic.estimate(0.0), "errors_share": 1.0}
    names = {row[0] for row in rows(tables.build(results), "Transactions at 30")}
    assert names == {*synthetic.WEIGHTS, "log_out"}


def test_answers_are_counted_by_transaction_and_status_code() -> None:
    results = synthetic.results(levels=(30,), indices=("present",))
    ((point,),) = [each_configuration["points"] for each_configuration in results.summary["configurations"]]
    captions = [block.caption for block in tables.build(results).blocks if isinstance(block, Table)]
    assert "Responses by status code" not in captions
    point["status_codes"] = {"search": {"200": 1200, "302": 3}, "view": {"302": 7}, "call": {}}
    shown = rows(tables.build(with_summary(results)), "Responses by status code")
    assert [row[2:] for row in shown] == [("search", "1,200", "3"), ("view", "0", "7")]


def test_answers_of_a_point_without_status_codes_are_not_recorded() -> None:
    results = synthetic.results(levels=(30, 60), indices=("present",))
    (points,) = [each_configuration["points"] for each_configuration in results.summary["configurations"]]
    points[0]["status_codes"], points[1]["status_codes"] = {"search": {"200": 4}}, None
    shown = rows(tables.build(results), "Responses by status code")
    assert [row[2:] for row in shown] == [("search", "4"), ("all", "not recorded")]


def test_workload_sets_shares_measured_beside_weights() -> None:
    shown = {row[0]: row for row in rows(workload.build(synthetic.results()), "Mix of transactions")}
    assert shown["view_properties"][3] == "40"
    assert shown["view_properties"][-1].endswith("%")
    text = words(workload.build(synthetic.results()))
    assert "Think time of readers: exponential, mean 1 s." in text


def test_a_transaction_of_two_groups_is_counted_once() -> None:
    results = synthetic.results()
    mix = [*results.study["mix"], {"transaction": "download", "group": "writers", "weight": 5.0}]
    whole = dataclasses.replace(results, manifest={**results.manifest, "study": {**results.study, "mix": mix}})
    shown = rows(workload.build(whole), "Mix of transactions")
    downloads = [row for row in shown if row[0] == "download"]
    assert [row[1] for row in downloads] == ["readers", "writers", "all of these"]
    assert [row[4:] for row in downloads[:2]] == [("–", "–")] * 2
    shares = [float(row[5].removesuffix(" %")) for row in shown if row[5] != "–"]
    assert sum(shares) == pytest.approx(100, abs=0.1)


def test_ramp_with_a_time_per_user_is_told_so() -> None:
    results = synthetic.results()
    study = {**results.study, "stages": [{"name": "ramp_up", "phase": "ramp_up", "each_s": 0.015}]}
    section = workload.build(dataclasses.replace(results, manifest={**results.manifest, "study": study}))
    assert rows(section, "Stages") == [("ramp-up", "ramp-up", "15.0 ms per user")]


def test_a_load_that_follows_a_file_is_told_so() -> None:
    whole = synthetic.results()
    trace = {"length_s": 60.0, "arrivals": 4202.5, "mean_rate_per_s": 70.04, "peak_rate_per_s": 160.0}
    study = {**whole.study, "load": {"kind": "open", "trace": trace}}
    manifest = {**whole.manifest, "study": study}
    said = words(workload.build(dataclasses.replace(whole, manifest=manifest)))
    assert "follows a file: 4,202 arrivals in 60 s, 70.0 /s on average and 160 /s at most" in said
    assert "no steady state" in said
    assert "follows a file" not in words(workload.build(whole))


def test_results_table_by_value() -> None:
    shown = rows(tables.build(synthetic.results()), "Results by configuration")
    assert shown[3] == (
        "search_index present",
        "120",
        "100 [95, 105] /s",
        "200 [190, 210] ms",
        "440 [418, 462] ms",
        "1.00 [0.95, 1.05] CPUs",
        "0 %",
        "r004 valid",
    )


def test_suspect_values_are_marked_and_invalid_ones_left_out() -> None:
    section = tables.build(synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}))
    shown = rows(section, "Results by configuration")
    assert shown[1][1] == "60 †"
    assert set(shown[2][2:7]) == {"–"}
    assert "† Includes a suspect run" in words(section)
    assert "No value: no run at this point is valid or suspect." in words(section)


def test_missing_runs_are_named() -> None:
    results = synthetic.results(missing=("r003", "r007"))
    assert "r003 (not run) and r007 (not run)" in words(tables.build(results))
    assert "Missing runs: r003 and r007." in words(limits.build(results))


def test_run_cut_off_is_told_from_one_that_never_began() -> None:
    cut = RunResult("r009", {"run": "r009", "status": "running", "factors": {"users": "30"}})
    results = synthetic.results()
    results = dataclasses.replace(results, runs=(*results.runs, cut))
    assert "r009 (cut off)" in words(tables.build(results))
    assert rows(verdicts.build(results), "Runs")[-1][3:6] == ("cut off", "not judged", "left out")


def test_every_doubt_has_number_limit_reason_and_hint() -> None:
    text = words(limits.build(synthetic.results(verdicts={"r002": "suspect"})))
    assert "Start lag (suspect: 1 run)" in text
    assert "start lag is 38 ms at p99, limit 1 ms 38.0 ms 1.00 ms" in text
    assert "Requests left later than the study asked." in text
    assert "Lower the load, or give the engine more threads." in text


def test_doubts_of_a_kind_have_one_callout_with_the_runs_of_each_level() -> None:
    results = synthetic.results(verdicts={"r002": "suspect", "r003": "suspect", "r005": "invalid"})
    doubts = [block for block in limits.build(results).blocks if isinstance(block, Callout)]
    assert [(each.level, each.title) for each in doubts] == [("invalid", "Start lag (invalid: 1 run, suspect: 2 runs)")]
    (table,) = [block for block in limits.build(results).blocks if isinstance(block, Table)]
    assert [row[:2] for row in table.rows] == [("r005", "invalid"), ("r002", "suspect"), ("r003", "suspect")]


def test_a_study_whose_only_fault_is_an_invalid_run_names_no_mark() -> None:
    verdict = {"level": "suspect", "reasons": [synthetic.doubt(level="invalid")]}
    results = with_summary(synthetic.results(verdicts={"r003": "invalid"}), verdict=verdict)
    assert "Invalid runs give no values." in words(headline.build(results))
    assert "†" not in words(headline.build(results))


def test_a_doubt_in_the_summary_has_the_first_step_of_its_advice() -> None:
    hint = "lower the load, or give the engine more threads; exchange times do not include the lag"
    verdict = {"level": "suspect", "reasons": [{**synthetic.doubt(), "hint": hint}]}
    said = words(headline.build(with_summary(synthetic.results(), verdict=verdict)))
    assert "Do:  Lower the load, or give the engine more threads." in said
    assert "exchange times" not in said


def test_think_times_of_each_configuration_are_those_recorded() -> None:
    made = synthetic.results(levels=(30, 60))
    for number, run in enumerate(made.runs):
        run.summary["laws"]["little"]["z_s"] = 0.5 if run.factors["search_index"] == "absent" else 0.125 * number
    found = rows(workload.build(made), "Think time per transaction, as recorded")
    assert {row[0]: row[1:] for row in found}["search_index absent"] == ("500 ms", "500 ms")
    assert len(found) == 2


def test_doubt_of_the_study_that_repeats_one_of_a_run_is_told_once() -> None:
    results = synthetic.results(verdicts={"r002": "suspect"})
    verdict = {
        **results.summary["verdict"],
        "reasons": [synthetic.doubt(), synthetic.doubt("no_steady_state", "invalid")],
    }
    verdict["reasons"][1]["message"] = "fewer than half of the runs are steady"
    found = limits.gather(with_summary(results, verdict=verdict))
    assert [(doubt.kind, [run for run, _ in doubt.seen]) for doubt in found] == [
        ("no_steady_state", ["study"]),
        ("start_lag", ["r002"]),
    ]


def test_single_runs_and_one_machine_limit_the_conclusions() -> None:
    text = words(limits.build(synthetic.results()))
    assert "8 of 8 points rest on a single run." in text
    assert "ran on one machine, on separate CPUs" in text


def test_verdict_of_every_run_is_listed() -> None:
    results = synthetic.results(verdicts={"r003": "invalid"}, missing=("r007",))
    shown = rows(verdicts.build(results), "Runs in their planned order")
    assert [row[0] for row in shown] == [f"r{n:03d}" for n in range(1, 9)]
    assert shown[2][4:6] == ("invalid", "left out")
    assert "start lag is 38 ms" in shown[2][-1]
    assert shown[6][3] == "not run"


def test_generator_and_observation_say_what_they_used() -> None:
    results = synthetic.results()
    assert "used at most 0.0300 CPUs in any run" in words(generator.build(results))
    assert "at most 0.400 % of one core in any run, below the limit of 1 %" in words(observation_cost.build(results))


def test_observation_above_its_limit_is_said() -> None:
    results = synthetic.results(levels=(30,), indices=("present",))
    results.runs[0].summary["observation"]["cpus_used"] = 0.02
    assert "at most 2.00 % of one core in any run, above the limit" in words(observation_cost.build(results))


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("response_time_s.mean of search", "mean of the response time of search"),
        ("response_time_s.p95 of search", "95th percentile of the response time of search"),
        ("throughput_per_s", "throughput"),
        ("cpu_demand_s of content", "CPU demand of content"),
    ],
)
def test_quantities_have_names_in_words(metric: str, name: str) -> None:
    assert observations.quantity_name(metric) == name


def test_comparison_shows_units_and_ratio() -> None:
    shown = rows(observations.build(synthetic.results()), "Comparison")
    # At 120 users, the ratio is 8 * 0.92 s / (2 * 0.2 s) = 18.4.
    assert shown[3][1:] == (
        "120",
        "search_index present → absent",
        "400 [380, 420] ms",
        "7.4 [7.0, 7.7] s",
        "18.4 [17.5, 19.3] ×",
    )


def test_appendix_holds_what_is_needed_to_run_it_again() -> None:
    text = words(appendix.build(synthetic.results()))
    for needed in (
        "2026-11-20 18:05:00 UTC",
        "Seed 7",
        "towtank run content-users --preset quick",
        "towtank report content-users-1",
        "Version of engine 0.1.0",
        "ab" * 32,
        "1001",
    ):
        assert needed in text


def test_recorded_request_becomes_the_command() -> None:
    results = synthetic.results()
    request = {
        "study": "my study.yaml",
        "preset": None,
        "repetitions": 3,
        "seed": 0,
        "changes": ["a.b=1", "c=2"],
        "allowed": [],
        "folder": "/somewhere",
    }
    results = dataclasses.replace(results, manifest={**results.manifest, "command": request})
    assert appendix.commands(results)[0] == "towtank run 'my study.yaml' --repetitions 3 --seed 0 --set a.b=1 --set c=2"


def test_sections_need_nothing_but_names() -> None:
    bare = Results("empty", {}, {}, (RunResult("r001"),))
    made, whole = (
        [configuration.name for build in SECTIONS if (configuration := build(of))] for of in (bare, synthetic.results())
    )
    assert made == whole
    assert build_document(bare).title == "empty"


def test_no_section_holds_html() -> None:
    for section in build_document(synthetic.results()).sections:
        assert "</" not in words(section)


def test_effects_of_two_level_factors_have_a_section_with_shares_and_notes():
    base = synthetic.results()
    assert effects.build(base) is None
    analysed = {
        "metric": "response_time_s.mean",
        "at": {"users": "60"},
        "factors": [{"name": "cpus", "levels": ["1", "2"]}, {"name": "search_index", "levels": ["present", "absent"]}],
        "runs": 8,
        "mean": synthetic.estimate(0.4),
        "effects": [
            {
                "factors": ["cpus"],
                "change": {"value": -0.2, "low": -0.25, "high": -0.15},
                "share": 0.5,
                "differs": True,
            },
            {
                "factors": ["search_index"],
                "change": {"value": 0.01, "low": -0.04, "high": 0.06},
                "share": 0.1,
                "differs": False,
            },
            {
                "factors": ["cpus", "search_index"],
                "change": {"value": 0.1, "low": 0.05, "high": 0.15},
                "share": 0.3,
                "differs": True,
            },
        ],
        "error_share": 0.1,
        "spans": 12.0,
    }
    section = effects.build(dataclasses.replace(base, summary={**base.summary, "effects": [analysed]}))
    assert rows(section, "Effects on the mean of the response time at users 60") == [
        ("cpus 1 → 2", "−200 [−250, −150] ms", "50.0 %", "yes"),
        ("search_index present → absent", "10 [−40, 60] ms", "10.0 %", "no"),
        ("cpus × search_index", "100 [50, 150] ms", "30.0 %", "yes"),
        ("repetitions of the same configuration", "–", "10.0 %", "–"),
    ]
    assert "usually multiply instead of adding up" in words(section)


def test_a_study_without_a_run_that_counts_states_no_value() -> None:
    results = synthetic.results(verdicts={f"r{number:03d}": "invalid" for number in range(1, 9)})
    assert "No point has a value, because no run is valid or suspect." in words(tables.build(results))
    assert "rest on a single run" not in " ".join(
        "".join(run.text for run in item) for item in limits.design_limits(results)
    )
    drawn = {block.name: block for block in figures.build(results).blocks if isinstance(block, Figure)}
    assert drawn["disk"].description.endswith(": no valid point.")
    assert drawn["heat-map"].note.endswith("This run is invalid.")


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ([], "because too few data were recorded."),
        ([320], "A steady window of 320 s would probably give this value an interval."),
        ([90, 90], "A steady window of 90 s would probably give these 2 values an interval."),
        (
            [1320, 40, 90],
            "A steady window of 90 s would probably give half of these 3 values an interval, a window of 22 min for "
            "all of them.",
        ),
        ([7000], "No window of a practical length (up to 1 h) would probably give this value an interval."),
        (
            [7000, 40, 90],
            "A steady window of 90 s would probably give half of these 3 values an interval, no window of a practical "
            "length (up to 1 h) all of them.",
        ),
        (
            [7000, 40, 86_000],
            "No window of a practical length (up to 1 h) would probably give half of these 3 values an interval.",
        ),
    ],
)
def test_values_without_an_interval_have_the_length_that_would_give_one(needs: list[int], said: str) -> None:
    results = synthetic.results()
    point = results.summary["configurations"][0]["points"][-1]
    transaction = next(iter(point["transactions"].values()))
    bare = {"low": None, "high": None, "method": "none"}
    for entry, needs_s in zip((point["response_time_s"], transaction, transaction), needs, strict=False):
        name = "p99" if entry is point["response_time_s"] else "mean_s" if needs_s != needs[-1] else "p95_s"
        entry[name] = {**entry.get(name, {"value": 1.0}), **bare, "needs_s": needs_s}
    assert said in words(tables.build(results))
    assert (" would " in words(tables.build(results))) == bool(needs)


def test_values_of_a_long_window_are_compared_with_a_longer_one() -> None:
    results = synthetic.results()
    window = results.runs[0].summary["window"]
    window["start_s"], window["end_s"] = 0.0, 7200.0
    needing = results.summary["configurations"][0]["points"][-1]["response_time_s"]
    needing["mean"] |= {"low": None, "high": None, "method": "none", "needs_s": 10_000}
    assert "A steady window of 170 min would probably give this value an interval." in words(tables.build(results))
    needing["mean"]["needs_s"] = 20_000
    assert "No window of a practical length (up to 4 h) would" in words(tables.build(with_summary(results)))
