from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import report_synthetic as synthetic

from towtank.analysis import Estimate
from towtank.analysis import claims as analysis
from towtank.claim_words import measured
from towtank.report.content import build_document, claims
from towtank.report.document import Paragraph, Table
from towtank.report.html import render
from towtank.report.source import Results

WRITTEN: list[dict[str, Any]] = [
    {
        "says": "Without the index the system carries less.",
        "source": "table 4",
        "differs": "The table there is larger.",
        "measure": {
            "ratio": {
                "of": "throughput",
                "at": {"search_index": "absent", "users": "highest"},
                "to": {"search_index": "present"},
            }
        },
        "holds": "< 0.9",
    },
    {
        "says": "Throughput is highest with the most users.",
        "measure": {"highest": {"of": "throughput", "over": "users", "at": {"search_index": "present"}}},
        "holds": "at last",
    },
    {
        "says": "Response times fall.",
        "measure": {"trend": {"of": "mean", "over": "users", "at": {"search_index": "present"}}},
        "holds": "falls",
    },
    {
        "says": "The mean is short.",
        "measure": {"value": {"of": "mean", "at": {"search_index": "present", "users": "120"}}},
        "holds": "< 100 ms",
    },
    {"says": "A JVM pauses.", "not_testable": "there is none"},
]


def with_claims(**more: Any) -> Results:
    found = synthetic.results(**more)
    study = {**found.study, "claims": WRITTEN, "run_to_run": 0.05}
    judged = analysis.judge(study, [run.summary for run in found.runs if run.summary])
    return dataclasses.replace(found, claims=judged)


def table(results: Results, number: int = 0) -> Table:
    section = claims.build(results)
    assert section is not None
    return [block for block in section.blocks if isinstance(block, Table)][number]


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_every_claim_has_its_measure_and_verdict() -> None:
    # At 120 users, the synthetic system has a throughput of 100 /s with the index and 62.5 /s without it (asymptotic
    # bounds).
    rows = table(with_claims()).rows
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[0][1:3] == ("Without the index the system carries less.", "table 4")
    assert plain(rows[0][4]).startswith("0.62 [")
    assert rows[0][5:] == (
        "< 0.9",
        "Confirmed. Doubt: values of single runs, with an assumed standard deviation of 5 % between runs.",
    )
    # With the index, the throughputs of the single runs at 120 and at 90 users are 100 and 89 /s. A variation of 5 %
    # between runs could reverse this order.
    assert rows[1][4] == "120 (or 90)"
    assert rows[2][6].startswith("Refuted, because from users 90 to 120 the quantity rises by ")
    # By Little's law, 120 users with a think time of 1 s and 100 /s have a response time of 120 / 100 - 1 = 0.2 s.
    assert plain(rows[3][4]).startswith("200 [")
    assert plain(rows[3][4]).endswith("ms")
    assert rows[4][6] == (
        "Not answered, because there is none. Do: test the claim in a study of a system that meets its conditions."
    )


def test_levels_behind_trends_and_places_have_a_table_of_their_own() -> None:
    rows = table(with_claims(), 1).rows
    assert [row[:2] for row in rows[:4]] == [("2", str(level)) for level in synthetic.LEVELS]
    assert [row[3] for row in rows[:4]][-1] == "yes"
    assert plain(rows[4][2]).endswith("ms")


def test_suspect_runs_are_marked_and_named() -> None:
    found = table(with_claims(verdicts={"r004": "suspect"}))
    assert found.rows[0][6] == (
        "Confirmed †. Doubt: it depends on the suspect run r004; without it the claim cannot be tested; "
        "values of single runs, with an assumed standard deviation of 5 % between runs."
    )
    assert found.footnotes == ("† Depends on suspect runs: r004.",)
    # If only claims without an answer depend on run r003, no answer has a mark, and the table needs no note.
    open_only = with_claims(verdicts={"r003": "suspect"})
    assert any(claim.suspect_runs for claim in open_only.claims.claims)
    marked = any("†" in row[6] for row in table(open_only).rows)
    assert bool(table(open_only).footnotes) == marked
    invalid = table(with_claims(verdicts={"r004": "invalid"})).rows[0]
    assert invalid[6] == (
        "Not answered, because every run at search_index present, users 120 is invalid (r004). "
        "Do: remove the cause that the verdicts of these runs give, and run the study again."
    )


def test_the_section_counts_its_claims() -> None:
    document = build_document(with_claims())
    names = [section.name for section in document.sections if not section.appendix]
    expected, first, differs = [
        block for block in document.sections[names.index("claims")].blocks if isinstance(block, Paragraph)
    ]
    assert expected.content[1].text == "Throughput grows in a nearly straight line until the core is used up."
    assert first.content[0].text.startswith(
        "5 claims, 1 of them with a source: 1 confirmed, 1 refuted, 2 undecided and 1 not testable here."
    )
    assert differs.content[1].text == "The table there is larger."
    page = render(dataclasses.replace(document, sections=(document.sections[names.index("claims")],)))
    assert "Without the index the system carries less." in page
    assert claims.build(synthetic.results()) is None


def test_exports_say_it_in_units() -> None:
    texts = [measured(claim) for claim in with_claims().claims.document()["claims"]]
    assert texts[0].startswith("0.62 (")
    assert texts[1] == "120 (or 90)"
    assert texts[2].startswith("last to first ")
    # 1 / 6 of the users wait for a response, so a speed that varies by 5 % between runs changes the response time by 6
    # x 5 % = 30 %. The 95 % interval is 1.96 x 30 % = 59 % wide on both sides: 200 ms -+ 120 ms.
    assert texts[3] == "200 (80 to 320) ms"
    assert texts[4] == "–"


@pytest.mark.parametrize(
    ("cited", "shown"),
    [(0, "5 claims: "), (2, "5 claims, 2 of them with a source: "), (5, "5 claims with a source: ")],
)
def test_only_claims_with_a_source_are_said_to_have_it(cited: int, shown: str) -> None:
    found = with_claims()
    judged = tuple(
        dataclasses.replace(claim, source=f"table {number}" if number < cited else "")
        for number, claim in enumerate(found.claims.claims)
    )
    section = claims.build(dataclasses.replace(found, claims=dataclasses.replace(found.claims, claims=judged)))
    assert section is not None
    paragraphs = [block.content[0].text for block in section.blocks if isinstance(block, Paragraph)]
    assert any(text.startswith(shown) for text in paragraphs)


def test_the_reason_for_a_difference_from_the_source_stands_below_the_table() -> None:
    section = claims.build(with_claims())
    assert section is not None
    page = render(build_document(with_claims()))
    assert "Difference from the source, No. 1." in page
    assert "The table there is larger." in page
    assert page.count("Difference from the source") == 1
    assert "The interval is of 95 %." in page


def test_the_confidence_of_claims_that_were_judged_repeatedly_is_shown() -> None:
    found = with_claims()
    # An estimate without an interval has the default confidence of 0.95.
    known, bare = Estimate(0.8, 0.7, 0.9, confidence=0.982), Estimate(0.8)
    judged = tuple(
        dataclasses.replace(claim, measured=known if number < 2 else bare)
        for number, claim in enumerate(found.claims.claims)
    )
    found = dataclasses.replace(found, claims=dataclasses.replace(found.claims, claims=judged))
    assert "The interval is of 98.2 %, because claims are judged after each block of runs." in render(
        build_document(found)
    )
