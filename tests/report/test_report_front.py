from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
import report_synthetic as synthetic
from test_report_answers import asked, studied
from test_report_earned import OWN, STUDIED, plain

from towtank.analysis import ClaimVerdict, JudgedClaims
from towtank.report.content import ANSWER, APPENDICES, PARTS, brief, build_document, headline
from towtank.report.document import Block, Callout, Column, Document, Figure, Paragraph, Section, Table
from towtank.report.figures.answer import of_first_claim
from towtank.report.html import further_rows, in_parts, render
from towtank.report.source import Results


def front(results: Results) -> Section:
    """Return the section that the report shows on its first screen."""
    (section,) = [section for section in build_document(results).sections if section.part == ANSWER]
    return section


def name(block: Block) -> str:
    """Return a short name that identifies a block of the first screen."""
    if isinstance(block, Paragraph):
        return block.content[0].text.strip(" .")
    if isinstance(block, Callout):
        return block.level
    return block.caption if isinstance(block, Table) else block.kind


def words(block: Block) -> str:
    """Return all words of a block of the first screen. For a figure, these are its description and its note."""
    if isinstance(block, Paragraph):
        return "".join(run.text for run in block.content)
    if isinstance(block, Callout):
        return " ".join((block.title, *("".join(run.text for run in content) for content in block.content)))
    if isinstance(block, Table):
        return " ".join((*(cell for row in block.rows for cell in row), *block.footnotes))
    assert isinstance(block, Figure)
    return f"{block.description} {block.note}"


def answered(results: Results) -> list[str]:
    """Return the sentences in which the first screen answers the question of the study."""
    (callout,) = [block for block in front(results).blocks if name(block) == "headline"]
    assert isinstance(callout, Callout)
    return [plain("".join(run.text for run in content)) for content in callout.content]


def row_of_claim(results: Results) -> tuple[str, ...]:
    (table,) = [block for block in front(results).blocks if name(block) == "Expected and found"]
    assert isinstance(table, Table)
    return tuple(plain(cell) for cell in table.rows[0])


def test_the_first_screen_asks_answers_compares_shows_and_doubts_in_this_order() -> None:
    results = studied(asked("ratio", "confirmed"))
    assert list(map(name, front(results).blocks)) == [
        "Question", "headline", "figure", "Results in brief", "valid", "Expected and found",
    ]  # fmt: skip
    bare = synthetic.results()
    assert list(map(name, front(bare).blocks)) == [
        "Question", "headline", "Expected beforehand", "figure", "Results in brief", "valid",
    ]  # fmt: skip


def test_sections_follow_in_the_order_of_the_questions_of_a_reader() -> None:
    document = build_document(studied(asked("ratio", "confirmed")))
    parts = [part for part, _ in in_parts(document.sections)]
    assert parts == [part for part, _ in PARTS if part in parts]
    assert parts[0] == ANSWER
    assert parts[-1] == APPENDICES
    names = [section.name for section in document.sections]
    expected = ("summary", "results", "claims", "observations", "limits", "verdicts", "workload", "reproducibility")
    assert [each for each in names if each in expected] == list(expected)
    for section in document.sections:
        assert section.appendix == (section.part == APPENDICES), section.name
        assert section.is_detail or not section.appendix, section.name


def test_the_contents_are_folded_and_name_the_parts() -> None:
    page = render(build_document(synthetic.results()))
    contents = page[page.index("<nav") : page.index("</nav>")]
    assert "<details><summary>Contents</summary>" in contents
    for part in ("Limits and their causes", "Measurement", APPENDICES):
        assert f'<p class="part">{part}</p>' in contents
    assert '<p class="part">Results</p>' not in contents, (
        "the part `Results` begins with a section of the same name, so it has no heading"
    )
    assert page.index("</nav>") < page.index("<h1>")


@pytest.mark.parametrize(
    ("outcome", "answer", "found"),
    [("confirmed", "Confirmed", "0.62 ["), ("refuted", "Refuted", "0.62 ["), ("undecided", "Not answered", "0.62 [")],
)
def test_a_claim_has_its_answer_beside_what_was_expected_and_found(outcome: str, answer: str, found: str) -> None:
    # At 120 users, throughput is 62.5 /s without the index and 100 /s with it, so the ratio is 0.625.
    row = row_of_claim(studied(asked("ratio", outcome)))
    assert row[2] == asked("ratio", outcome)["holds"]
    assert row[3].startswith(found)
    assert row[4] == answer
    suspect = row_of_claim(studied(asked("ratio", outcome), verdicts={"r004": "suspect"}))
    assert suspect[4] == (answer if outcome == "undecided" else f"{answer} †")


def test_a_claim_of_invalid_runs_has_no_value() -> None:
    results = studied(asked("ratio", "confirmed"), verdicts={"r004": "invalid"})
    assert row_of_claim(results)[2:] == ("< 0.9", "–", "Not answered")
    said = " ".join(map(words, front(results).blocks))
    assert "because every run at search_index present, users 120 is invalid (r004). Do: remove the cause" in said


def test_a_study_without_claims_has_no_table_of_them() -> None:
    assert "Expected and found" not in set(map(name, front(synthetic.results()).blocks))


@pytest.mark.parametrize("verdict", ["valid", "suspect"])
def test_each_configuration_and_the_effect_have_a_sentence_of_the_answer(verdict: str) -> None:
    said = answered(STUDIED[verdict])
    assert [sentence.split(",")[0] for sentence in said[:2]] == [
        "Found. With search_index = present",
        "With search_index = absent",
    ]
    assert re.search(r"throughput reaches|the system sustains", said[1])
    assert ("suspect run" in said[1]) == (verdict == "suspect")
    end = next(place for place, sentence in enumerate(said) if sentence.startswith("How sure"))
    assert " ".join(said[:end]).removeprefix("Found. ") == plain(str(STUDIED[verdict].summary["headline"]))


def test_the_answer_has_its_certainty_and_next_steps() -> None:
    said = answered(STUDIED["suspect"])
    heads = [sentence.split(".")[0] for sentence in said if sentence.startswith(("Found", "How", "What", "To be"))]
    assert heads[:3] == ["Found", "How sure", "What to do"]
    (sure,) = [sentence for sentence in said if sentence.startswith("How sure.")]
    assert sure.startswith(
        (
            "How sure. Not sure (third of four degrees: the main evidence is weak). ",
            "How sure. Fairly sure (second of four degrees: a part of the evidence is weak). ",
        )
    )
    assert "suspect" in sure


def test_commands_of_the_answer_name_the_results_folder() -> None:
    conclusion = {
        "found": ["It is so."],
        "sure": ["All runs count."],
        "measure": ["`towtank run FOLDER --more 2` helps."],
    }
    found = synthetic.results()
    summary = {**found.summary, "conclusion": conclusion}
    answer = headline.answer(dataclasses.replace(found, summary=summary, name="my results"))
    assert ("towtank run 'my results' --more 2", "code") in [
        (run.text, run.style) for content in answer.content for run in content
    ]


def test_a_note_about_valid_runs_says_that_they_stay_valid() -> None:
    found = synthetic.results(verdicts={"r001": "suspect"})
    note = {"kind": "machine_speed", "level": "note", "runs": ["r001", "r002", "r003"], "message": "slow.", "hint": ""}
    summary = {**found.summary, "verdict": {**found.summary["verdict"], "reasons": [note]}}
    said = words(headline.verdict(dataclasses.replace(found, summary=summary)))
    assert "Machine speed, also noted in 2 valid runs. Slow." in said


def test_a_note_that_only_valid_runs_have_is_noted_in_them() -> None:
    found = synthetic.results()
    note = {"kind": "slow_memory", "level": "note", "runs": ["r001", "r002"], "message": "memory was slow", "hint": ""}
    summary = {**found.summary, "verdict": {**found.summary["verdict"], "reasons": [note]}}
    said = words(headline.verdict(dataclasses.replace(found, summary=summary)))
    assert "Slow memory, noted in 2 runs. Memory was slow." in said


def test_a_check_that_raised_a_doubt_is_not_listed_as_not_made() -> None:
    found = synthetic.results()
    verdict = found.summary["verdict"] | {"not_checked": [{"check": "start_lag", "why": "users do not pause"}]}
    assert headline.unchecked_note(dataclasses.replace(found, summary={**found.summary, "verdict": verdict}))
    verdict |= {"reasons": [{"kind": "start_lag", "level": "invalid", "message": "late", "runs": ["r001"]}]}
    assert not headline.unchecked_note(dataclasses.replace(found, summary={**found.summary, "verdict": verdict}))


def test_a_study_without_a_valid_run_has_a_next_step_instead_of_a_figure() -> None:
    found = synthetic.results(verdicts={f"r{number:03d}": "invalid" for number in range(1, 9)})
    conclusion = {"found": ["None."], "measure": ["Lower the load."]}
    shown = front(dataclasses.replace(found, summary={**found.summary, "conclusion": conclusion})).blocks
    assert "figure" not in set(map(name, shown))
    (said,) = [words(block) for block in shown if name(block) == "No figure"]
    assert said.endswith("“What to do” has the next step.")


def test_the_first_part_without_an_answer_stands_apart_from_the_others() -> None:
    found = synthetic.results()
    conclusion = {"found": ["It is so."], "open": ["A: why.", "B: why.", "C: why."]}
    answer = headline.answer(dataclasses.replace(found, summary={**found.summary, "conclusion": conclusion}))
    assert ["".join(run.text for run in content) for content in answer.content][1:] == [
        "Not answered. A: why.", "Also open. B: why. C: why.",
    ]  # fmt: skip


def test_names_of_the_study_file_are_code_on_the_first_screen() -> None:
    answer = headline.answer(STUDIED["valid"])
    styles = {run.text: run.style for content in answer.content for run in content}
    assert (styles["search_index = present"], styles["search_index = absent"]) == ("code", "code")


@pytest.mark.parametrize(
    ("claim", "below"), [("undecided", "1 claim not answered: see below."), (None, "Not answered: see below.")]
)
def test_phones_state_that_parts_without_an_answer_stand_below(claim: str | None, below: str) -> None:
    found = studied(asked("ratio", claim)) if claim else synthetic.results()
    conclusion = {"found": ["It is so."], "open": ["A: why."]}
    answer = headline.answer(dataclasses.replace(found, summary={**found.summary, "conclusion": conclusion}))
    assert answer.below == below
    page = render(Document("t", "s", (Section("one", "One", (answer,)),)))
    assert f'<p class="below">{below}</p>' in page
    closed = headline.answer(dataclasses.replace(found, summary={**found.summary, "conclusion": {"found": ["A."]}}))
    assert closed.below == ""


def test_the_meaning_of_a_doubt_stands_beside_it_once() -> None:
    found = synthetic.results(verdicts={"r001": "suspect"})
    reason = {"kind": "start_lag", "level": "suspect", "runs": ["r001"], "message": "start lag is 6 %."}
    summary = {**found.summary, "verdict": {**found.summary["verdict"], "reasons": [reason]}}
    said = words(headline.verdict(dataclasses.replace(found, summary=summary)))
    assert "Start lag (requests left later than planned), 1 run. Start lag is 6 %." in said
    conclusion = {"found": ["A."], "sure": ["1 suspect (start lag: requests left later than planned)."]}
    again = dataclasses.replace(found, summary={**summary, "conclusion": conclusion})
    assert "Start lag, 1 run. Start lag is 6 %." in words(headline.verdict(again))


def test_results_in_brief_state_which_loads_and_runs_they_have() -> None:
    def notes(results: Results) -> tuple[str, ...]:
        made = brief.table(results)
        assert made is not None
        return made.footnotes

    loads = "Objectives concern the load that they name, all other columns that of the highest throughput."
    runs = "This table has all runs; claims have the runs until their decision, so that their values may differ."
    found = synthetic.results()
    assert not {loads, runs} & set(notes(found))
    objective = {"text": "p95 < 1 s at 30 users", "metric": "p95", "users": 30, "met": True, "configuration": None}
    named = dataclasses.replace(found, summary={**found.summary, "objectives": [objective]})
    assert loads in notes(named)
    peak = dataclasses.replace(found, summary={**found.summary, "objectives": [{**objective, "users": 120}]})
    assert loads not in notes(peak)
    summary = {**found.summary, "configurations": [dict(each) for each in found.summary["configurations"]]}
    for each in summary["configurations"]:
        each["points"] = [{**point, "runs": ["a", "b", "c"], "verdicts": ["valid"] * 3} for point in each["points"]]
    for blocks, is_noted in ((2, True), (3, False), (None, False)):
        many = dataclasses.replace(
            found, summary=summary, claims=JudgedClaims(claims=(ClaimVerdict(decided_after=blocks),))
        )
        assert (runs in notes(many)) == is_noted


def test_an_unrepeated_measurement_is_named_so_and_is_not_green() -> None:
    found = synthetic.results()
    conclusion = {"found": ["It is so."], "sure": ["Each level ran once: intervals are assumed."], "do": []}
    box = headline.verdict(dataclasses.replace(found, summary={**found.summary, "conclusion": conclusion}))
    assert (box.level, box.title) == ("unrepeated", "Valid measurement, not repeated: 8 of 8 runs valid")
    assert headline.verdict(found).level == "valid"


@pytest.mark.parametrize(
    ("suspects", "invalid", "title"),
    [(1, 0, "Largely valid measurement"), (4, 0, "Suspect measurement"), (2, 5, "Largely invalid measurement")],
)
def test_the_verdict_names_the_share_of_runs_that_count(suspects: int, invalid: int, title: str) -> None:
    names = [f"r{number:03d}" for number in range(1, 9)]
    states = dict.fromkeys(names[:suspects], "suspect") | dict.fromkeys(names[suspects : suspects + invalid], "invalid")
    found = synthetic.results(verdicts=states)
    summary = {**found.summary, "verdict": {**found.summary["verdict"], "level": "suspect"}}
    box = headline.verdict(dataclasses.replace(found, summary=summary))
    assert box.title.startswith(f"{title}: {8 - suspects - invalid} of 8 runs valid")
    assert box.level == ("invalid" if invalid else "suspect")


def test_doubts_are_grouped_by_kind_with_the_number_of_runs_and_without_their_names() -> None:
    found = synthetic.results()
    reason = {"kind": "no_steady_state", "level": "suspect", "runs": ["r001", "r002"], "hint": "wait longer"}
    reason["message"] = "throughput changes by 9 % (r002; similar doubts about r001)"
    summary = {**found.summary, "verdict": {**found.summary["verdict"], "reasons": [reason]}}
    said = words(headline.verdict(dataclasses.replace(found, summary=summary)))
    assert "No steady state, 2 runs. Throughput changes by 9 %. Do: Wait longer" in said
    assert "r001" not in said


def test_what_is_not_answered_has_a_sentence_with_reason_and_next_step_and_no_value() -> None:
    results = STUDIED["invalid"]
    said = answered(results)
    (gap,) = [sentence for sentence in said if sentence.startswith("Not answered.")]
    assert gap.startswith(
        "Not answered. There is no result for search_index = absent: no run of it is usable, because start lag is"
    )
    assert "Do: lower the load" in gap
    assert [words(block) for block in front(results).blocks if OWN.search(plain(words(block)))] == []


def test_a_suspect_value_is_marked_where_it_stands() -> None:
    (table,) = [block for block in front(STUDIED["suspect"]).blocks if name(block) == "Results in brief"]
    assert isinstance(table, Table)
    present, absent = table.rows
    assert all(cell.endswith("†") for cell in (absent[1], absent[4]))
    assert not any("†" in cell for cell in present[1:5])


def test_a_study_without_a_run_that_counts_gives_no_value_on_the_first_screen() -> None:
    runs = [f"r{number:03d}" for number in range(1, 9)]
    found = synthetic.results(verdicts=dict.fromkeys(runs, "invalid"))
    (table,) = [block for block in front(found).blocks if name(block) == "Results in brief"]
    assert isinstance(table, Table)
    assert {row[1:5] for row in table.rows} == {("–", "–", "not answered: no valid or suspect run", "–")}


def test_an_objective_of_invalid_runs_is_not_judged_on_the_first_screen() -> None:
    (table,) = [block for block in front(STUDIED["invalid"]).blocks if name(block) == "Results in brief"]
    assert isinstance(table, Table)
    present, absent = table.rows
    assert present[5] == "2 met"
    assert absent[5] == "2 not judged"


def test_a_label_with_full_stops_does_not_cut_a_sentence() -> None:
    found = synthetic.results()
    parts = [f"With pool 1.5 s. With care {place}, throughput reaches 5/s at 3 users." for place in range(2)]
    answer = headline.answer(dataclasses.replace(found, summary={**found.summary, "conclusion": {"found": parts}}))
    assert ["".join(run.text for run in content) for content in answer.content] == [f"Found. {parts[0]}", parts[1]]


def test_a_valid_measurement_with_relaxed_limits_is_named_so() -> None:
    found = synthetic.results()
    assert headline.verdict(found).title.startswith("Valid measurement: 8 of 8 runs valid")
    relaxed = [{"limit": "not_attributed", "value": 1.0, "default": 0.05}]
    summary: dict[str, Any] = {**found.summary, "verdict": {**found.summary["verdict"], "relaxed_limits": relaxed}}
    changed = headline.verdict(dataclasses.replace(found, summary=summary))
    assert changed.title.startswith("Valid measurement with relaxed limits: 8 of 8 runs valid")
    assert "Relaxed limits: not attributed up to 100 % allowed (default 5 %)." in words(changed)


def test_advice_of_the_answer_is_not_repeated_among_the_doubts() -> None:
    found = synthetic.results()
    reason = {"kind": "interference", "level": "invalid", "message": "others ran.", "hint": "stop them."}
    summary: dict[str, Any] = {**found.summary, "verdict": {**found.summary["verdict"], "reasons": [reason]}}
    apart = words(headline.verdict(dataclasses.replace(found, summary=summary)))
    assert "Others ran. Do: Stop them." in apart
    said = {**summary, "headline": "No run can carry an answer, because others ran. Do: stop them."}
    assert "Others ran. Do: see above." in words(headline.verdict(dataclasses.replace(found, summary=said)))


def test_rows_beyond_those_shown_are_folded_below_them() -> None:
    rows = tuple((f"row {number}",) for number in range(5))
    table = Table("Many", (Column("What"),), rows, ("A note.",), shown=2)
    document = Document("t", "s", (Section("one", "One", (table,)),))
    page = render(document)
    main = page[page.index("<main") : page.index("</main>")]
    first, _, folded = main.partition("<summary>3 further rows</summary>")
    assert re.findall(r"row \d", first) == ["row 0", "row 1"]
    assert re.findall(r"row \d", folded) == ["row 2", "row 3", "row 4"]
    assert first.count("A note.") == 1
    assert folded.count("A note.") == 0
    assert further_rows(dataclasses.replace(table, shown=5)) is None
    assert further_rows(dataclasses.replace(table, shown=None)) is None


def test_a_study_without_objectives_has_no_column_for_them() -> None:
    def titles(results: Results) -> list[str]:
        (table,) = [block for block in front(results).blocks if name(block) == "Results in brief"]
        assert isinstance(table, Table)
        assert {len(row) for row in table.rows} == {len(table.columns)}
        return [column.title for column in table.columns]

    found = synthetic.results()
    assert titles(found)[-1] == "Objectives"
    summary = {**found.summary, "objectives": []}
    assert "Objectives" not in titles(dataclasses.replace(found, summary=summary))


def test_compared_values_of_suspect_runs_are_marked_each() -> None:
    document = build_document(synthetic.results(verdicts={"r004": "suspect"}))
    (table,) = [
        block
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Table) and block.caption == "Comparison of configurations at equal load"
    ]
    marks = {tuple(cell.endswith("†") for cell in row[3:]) for row in table.rows}
    # The suspect run has the level present of the factor search_index, from which the comparisons go.
    assert (True, False, True) in marks
    assert marks <= {(True, False, True), (False, False, False)}


def test_the_figure_of_many_configurations_has_those_of_the_first_claim() -> None:
    keys = [{"link": str(link), "pattern": pattern} for link in range(9) for pattern in ("stream", "connect")]
    made = synthetic.results()
    summary = {**made.summary, "configurations": [{"key": key, "label": str(key), "points": []} for key in keys]}
    measure = {"lowest": {"of": "throughput", "over": "link", "at": {"pattern": "stream"}}}
    many = dataclasses.replace(
        made, summary=summary, claims=JudgedClaims(claims=(ClaimVerdict(), ClaimVerdict(measure=measure)))
    )
    chosen, which = of_first_claim(many)
    assert which == ", pattern stream"
    assert {each.key["pattern"] for each in chosen.configurations} == {"stream"}
    few = dataclasses.replace(many, summary={**summary, "configurations": summary["configurations"][:16]})
    assert of_first_claim(few) == (few, "")
