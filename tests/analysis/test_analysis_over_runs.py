"""For a number without an interval, a sentence or a table shows the range of its values over several runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_analysis_study_by_hand import made

from towtank.analysis.aggregation import aggregate
from towtank.analysis.doubts import seconds
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.study import describe_study
from towtank.over_runs import alike, ends, merged, shares, words
from towtank.report.content import tables
from towtank.report.source import Results

Json = dict[str, Any]


def study(*runs: Json) -> Json:
    return describe_study({"study": {"name": "s"}}, list(runs))


def point(runs: list[Json]) -> Json:
    return aggregate("users", 20.0, list(map(RunSummary.read, runs))).document()


def repeated(**different: list[float]) -> list[Json]:
    """Return three runs at 10 users and three at 20 users; the given metrics differ between the three runs."""
    runs = []
    for number in range(6):
        users, place = (10, 20)[number // 3], number % 3
        cpus = different.get("cpus", [0.9, 0.9, 0.9])[place] if users == 20 else 0.5
        run = made(f"r{number + 1}", users, 10.0 if users == 10 else 10.5, cpus=cpus)
        share = different.get("errors", [0.0] * 3)[place] if users == 20 else 0.0
        run["errors"] = {"share": share}
        run["transactions"]["read"].update(count=round(1000 * (1 - share)), errors=round(1000 * share))
        for name, each in run["tiers"].items():
            part = different.get("part", [0.2] * 3)[place]
            each["parts"] = {"database": {"cpus_used": {**each["cpus_used"], "value": part * cpus},
                                          "cpu_demand_s": each["cpu_demand_s"], "how": "x"}}  # fmt: skip
            assert name == "content"
        run["laws"]["little"]["n"] = users
        runs.append(run)
    return runs


def texts(summary: Json, kind: str) -> list[str]:
    return [sentence["text"] for sentence in summary["observations"] if sentence["kind"] == kind]


def test_utilization_of_the_limit_is_a_range() -> None:
    summary = study(*repeated(cpus=[0.87, 0.99, 0.95]))
    (text,) = texts(summary, "limit")
    assert "content uses 0.87 to 0.99 CPUs, 87 to 99 % of its CPUs" in text


def test_utilization_of_runs_that_agree_is_one_number() -> None:
    (text,) = texts(study(*repeated(cpus=[0.95, 0.951, 0.949])), "limit")
    assert "content uses 0.95 CPUs, 95 % of its CPUs" in text


def test_shares_of_failed_transactions_are_a_range_in_sentence_and_table() -> None:
    summary = study(*repeated(errors=[0.177, 0.003, 0.229]))
    (text,) = texts(summary, "errors")
    assert "At 20 users 0.3 to 22.9 % of the transactions fail" in text
    table = tables.build(Results("s", {"study": {"name": "s"}}, summary, (), ())).blocks[1]
    place = [column.title for column in table.columns].index("Errors")  # type: ignore[union-attr]
    assert [row[place] for row in table.rows] == ["0 %", "0.300 to 22.9 %"]  # type: ignore[union-attr]


def test_the_share_of_a_part_is_a_range() -> None:
    found = texts(study(*repeated(part=[0.2, 0.31, 0.25])), "cpu")
    assert any("20 to 31 % of it in the database" in text for text in found)


def test_waits_for_a_connection_are_ranges() -> None:
    runs = repeated()
    for run, factor in zip(runs, (1, 2, 3) * 2, strict=True):
        run["connections"] = {
            "open_mean": 2.0,
            "wait_time_s": {"share_waited": 0.1 * factor, "share_of_response_time": 0.2 * factor,
                            "mean": 0.4 * factor, "p99": 0.9},
        }  # fmt: skip
    (text,) = texts(study(*runs), "connection_wait")
    assert "10 to 30 % of the requests waited" in text
    assert "400 ms to 1.2 s on average and 900 ms at p99: 20 to 60 % of response time" in text


def test_a_doubt_that_shows_a_limit_has_the_ranges_of_all_runs() -> None:
    runs = [made("r1", 10, 10.0), *(made(f"r{number}", 20, 5.0, verdict="invalid") for number in (2, 3))]
    for run, share in zip(runs[1:], (0.5, 0.62), strict=True):
        run["verdict"]["reasons"] = [
            {"kind": "errors_above_limit", "level": "invalid", "message": f"{100 * share:.0f} % failed", "seen": share,
             "limit": 0.01}
        ]  # fmt: skip
    evidence = study(*runs)["configurations"][0]["limit"]["evidence"]
    assert "too many transactions fail (50 to 62 % failed)" in evidence


def test_the_headline_gives_the_range_of_the_reason() -> None:
    runs = [made(f"r{number}", 10 * number, 10.0, verdict="invalid") for number in (1, 2, 3)]
    for run, share in zip(runs, (0.63, 0.87, 0.38), strict=True):
        run["verdict"]["reasons"] = [
            {"kind": "interference", "level": "invalid", "message": f"other programs used {100 * share:.0f} %",
             "seen": share, "limit": 0.1, "hint": "stop them"}
        ]  # fmt: skip
    summary = study(*runs)
    assert "because other programs used 38 to 87 % (r1, r2, r3). Do: stop them" in summary["headline"]


def test_a_point_keeps_the_ends_of_its_runs_and_a_single_run_has_none() -> None:
    runs = repeated(errors=[0.1, 0.2, 0.3], part=[0.2, 0.4, 0.3])
    document = point(runs[3:])
    assert document["of_runs"]["errors_share"] == [0.1, 0.3]
    assert document["of_runs"]["parts"] == {"content": {"database": pytest.approx([0.2, 0.4])}}
    assert json.loads(json.dumps(document)) == document
    assert point(runs[3:4])["of_runs"] is None


def test_invalid_runs_are_in_no_range() -> None:
    runs = repeated(errors=[0.1, 0.2, 0.9])[3:]
    runs[2]["verdict"]["level"] = "invalid"
    assert point(runs)["of_runs"]["errors_share"] == [0.1, 0.2]


@pytest.mark.parametrize(
    ("message", "other", "expected"),
    [
        ("nothing was recorded", "x +90 %", False),
        ("store-1 is 40 % busy", "store-2 is 30 % busy", False),
        ("cores (0-1) busy for 95 %", "cores (2-3) busy for 99 %", False),
        ("p99 is 5 ms", "p95 is 5 ms", False),
        ("it took 5 ms", "it took 1.2 s", True),
        ("x changes by −4 %", "x changes by +4 %", True),
    ],
)
def test_messages_are_alike_if_their_numbers_differ_only(message: str, other: str, expected: bool) -> None:
    assert alike(message, other) is expected


def test_ranges_of_one_number_are_that_number() -> None:
    assert merged(["5 % failed", "5 % failed"]) == "5 % failed"
    assert ends([]) is None
    assert (shares(None, 0.5), shares((0.5, 0.5), 0.5), shares((0.1, 0.5), 0.3)) == ("50 %", "50 %", "10 to 50 %")
    assert (words((0.1, 0.5), 0.3, seconds), words((0.1, 1.5), 0.3, seconds)) == ("100 to 500 ms", "100 ms to 1.5 s")
    assert merged(["5 to 10 ms", "7 ms to 2 s"]) == "5 ms to 2 s"


def test_a_pair_of_one_run_is_not_joined_with_that_of_another() -> None:
    gaps = [
        f"{length} s of the window have no sample (from {start:.1f} s to {start + length:.1f} s of the run)"
        for start, length in ((12.0, 3.2), (41.0, 3.1))
    ]
    expected = "3.1 to 3.2 s of the window have no sample (from 12.0 s to 15.2 s of the run)"
    assert merged(gaps) == merged(gaps[::-1]) == expected
    rises = ["transactions in the system rise from 5 to 10", "transactions in the system rise from 90 to 200"]
    assert merged(rises) == rises[1]
