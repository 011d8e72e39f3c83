"""Rule files: every fault is reported with its position, and users can add rules to those of Towtank."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.errors import StudyError
from towtank.filecheck import check_file
from towtank.sizing.rules import answer_rule, example_outcome, inputs_with_defaults, load_rules, rules_beside
from towtank.sizing.rules.file import KINDS

GOOD = """\
schema: towtank/rule-file/1
topic: ours
documents: {wiki: Our wiki}
rules:
  pods:
    title: Pods for a rate
    formula: ceil(rate / each)
    inputs:
      rate: {unit: 1/s, above: 0, meaning: Requests., binds: throughput}
      each: {unit: 1/s, above: 0, default: 100, meaning: Requests of a pod.}
      pods: {unit: "{pods}", role: set, meaning: Pods that run.}
    result: {unit: "{pods}", meaning: Least number of pods.}
    follows_when: pods >= result
    range: Web front ends.
    source: {document: wiki}
    examples:
      - {inputs: {rate: 250}, result: 3, origin: derived}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "ours.yaml"
    path.write_text(text, "utf-8")
    return path


def faults(folder: Path, text: str) -> list[str]:
    return [
        f"{fault.line}:{fault.column}: {fault.where}: {fault.message}"
        for fault in check_file(written(folder, text)).faults
    ]


def test_rules_of_the_user_stand_beside_those_that_ship(tmp_path):
    rules = load_rules([written(tmp_path, GOOD)])
    assert {"pods", "save_rate"} <= set(rules)
    rule = rules["pods"]
    found = answer_rule(rule, inputs_with_defaults(rule, {"rate": rule.read("rate", "18000 /min"), "pods": 2.0}))
    assert (found.value, found.text, found.follows) == (3.0, "3 pods", False)
    assert [line.numbers for line in found.lines] == ["ceil(300 1/s / 100 1/s)", "2 pods >= 3 pods"]
    assert check_file(tmp_path / "ours.yaml").faults == []


def test_a_rule_of_the_user_replaces_one_that_ships(tmp_path):
    rules = load_rules([written(tmp_path, GOOD.replace("  pods:\n    title", "  save_rate:\n    title"))])
    assert rules["save_rate"].entry.title == "Pods for a rate"
    assert load_rules()["save_rate"].topic == "backup"


def test_a_folder_of_rules_next_to_a_study(tmp_path):
    (tmp_path / "rules").mkdir()
    assert rules_beside(tmp_path / "study.yaml") == []
    written(tmp_path / "rules", GOOD)
    assert rules_beside(tmp_path / "study.yaml") == [tmp_path / "rules"]
    assert "pods" in load_rules(rules_beside(tmp_path / "study.yaml"))


def test_all_faults_at_once_each_at_its_place(tmp_path):
    text = (
        GOOD.replace("ceil(rate / each)", "ceil(rate / eahc)")
        .replace("above: 0, default: 100", "above: 0 s, default: 100 GB")
        .replace("pods >= result", "pods >= rate")
        .replace("document: wiki", "document: wikki")
    )
    found = faults(tmp_path, text)
    assert [fault.split(": ")[:2] for fault in found] == [
        ["7:26", "rules.pods.formula"],
        ["13:24", "rules.pods.follows_when"],
        ["15:24", "rules.pods.source.document"],
    ]
    assert "did you mean 'each'?" in found[0]
    assert "got a plain number and 1/s, at character 6" in found[1]
    text = GOOD.replace("above: 0, default: 100", "above: 0 s, default: 100 GB")
    assert [fault.split(": ")[1] for fault in faults(tmp_path, text)] == [
        "rules.pods.inputs.each.above",
        "rules.pods.inputs.each.default",
    ]


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("ceil(rate / each)", "rate / each +", "rules.pods.formula", "the end of the formula instead, at character 14"),
        ("ceil(rate / each)", "rate", "rules.pods.formula", "must give a plain number, as {pods}"),
        ("ceil(rate / each)", "rate > each", "rules.pods.formula", "got a formula that gives a yes or no"),
        ("unit: 1/s, above", "unit: 1/parsec, above", "rules.pods.inputs.rate.unit", "known unit"),
        ("      rate:", "      result:", "rules.pods.inputs.result", "which is a word of the formula language"),
        ("{inputs: {rate: 250}", "{inputs: {rate: 250 GB}", "rules.pods.examples[0].inputs.rate", "which is B"),
        ("{inputs: {rate: 250}", "{inputs: {rat: 250}", "rules.pods.examples[0].inputs.rat", "did you mean 'rate'?"),
        ("{inputs: {rate: 250}", "{inputs: {}", "rules.pods.examples[0].inputs", "must give rate"),
        ("result: 3, origin", "result: three, origin", "rules.pods.examples[0].result", "must be a number"),
        ("origin: derived", "origin: guessed", "rules.pods.examples[0].origin", "source, derived or inferred"),
        ("    formula: ceil(rate / each)\n", "    kind: table\n", "rules.pods.kind", "a 'table'"),
        ("    examples:\n      - {inputs: {rate: 250}, result: 3, origin: derived}\n", "", "rules.pods", "one example"),
    ],
)
def test_faults(tmp_path, old, new, where, words):
    assert old in GOOD
    found = faults(tmp_path, GOOD.replace(old, new))
    assert any(f": {where}: " in fault and words in fault for fault in found), found


TABLE = """\
schema: towtank/rule-file/1
topic: ours
rules:
  size:
    title: By kind
    kind: table
    inputs:
      kind: {meaning: Kind., choices: [small, large]}
    table:
      - {when: {kind: small}, value: 1 GiB}
      - {when: {kind: large}, value: 8 GiB}
    result: {unit: GiB, meaning: Memory.}
    source: {document: towtank}
    examples:
      - {inputs: {kind: large}, result: 8, origin: derived}
"""


def test_a_table(tmp_path):
    rule = load_rules([written(tmp_path, TABLE)])["size"]
    assert answer_rule(rule, {"kind": "large"}).value == 8 * 2**30
    assert example_outcome(rule, rule.entry.examples[0]).comes_out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{kind: small}", "{kind: smal}", "must be one of small, large"),
        ("{kind: small}", "{kind: large}", "must not be the key of an earlier row"),
        ("{kind: small}", "{size: small}", "must have the keys size"),
        ("value: 1 GiB", "value: 1 s", "which is s"),
        ("choices: [small, large]", "unit: '1'", "must be an input with 'choices'"),
    ],
)
def test_faults_of_tables(tmp_path, old, new, words):
    assert any(words in fault for fault in faults(tmp_path, TABLE.replace(old, new)))


def test_an_example_that_does_not_come_out_is_reported(tmp_path):
    rule = load_rules([written(tmp_path, GOOD.replace("result: 3, origin", "result: 4, origin"))])["pods"]
    found = example_outcome(rule, rule.entry.examples[0])
    assert (found.comes_out, found.got, found.difference) == (False, "3 pods", 1.0)


@pytest.mark.parametrize(
    ("value", "words"), [("0", "must be above 0 1/s"), ("-1", "must be above"), ("3 s", "which is s")]
)
def test_values_out_of_range_are_refused(tmp_path, value, words):
    rule = load_rules([written(tmp_path, GOOD)])["pods"]
    with pytest.raises(ValueError, match=words):
        rule.read("rate", value)


def test_outside_of_its_range_a_rule_doubts_itself():
    rule = load_rules()["position_above_knee"]
    found = answer_rule(rule, {"interactive": 0.2, "knee": 0.3, "maximum": 0.4})
    assert found.doubts == [
        "outside of the rule's range: interactive >= knee and interactive <= maximum and maximum > knee does not hold"
    ]


def test_every_kind_and_topic_is_there():
    rules = load_rules()
    assert {rule.entry.kind for rule in rules.values()} == set(KINDS)
    assert {"interactive", "network", "postgresql", "operating_system", "advice"} <= set(rules.topics())


def test_every_rule_names_where_it_stands():
    for rule in load_rules().values():
        assert rule.document, rule.name
        assert rule.entry.source.section or rule.entry.source.lines, rule.name


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(StudyError, match="must be a file that exists"):
        load_rules([tmp_path / "none.yaml"])
