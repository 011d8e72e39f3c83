"""Rules of thumb for sizing reproduce all worked examples of their sources."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from towtank.sizing.rules import Rule, example_outcome, inputs_with_defaults, load_rules
from towtank.sizing.rules.file import RuleExample
from towtank.sizing.rules.quantities import in_unit, parse_quantity
from towtank.sizing.rules.rule import answer_rule

DATA = Path(__file__).parent / "data"
# Number that is not part of a name such as R1 or 3590E.
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*[A-Za-z])")
# Rows whose inputs are a sum, or the name of another table.
_INPUTS_OTHERWISE = {"T40", "T45"}
# Rules whose source states only results of examples, without inputs. The inputs in the data were inferred from the
# results.
ONLY_INFERRED = {"panel_cost", "socket_pairs_per_second"}


def rows(name: str) -> list[dict[str, str]]:
    lines = (DATA / name).read_text("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def examples_of(case: str) -> list[tuple[Rule, RuleExample]]:
    rules = load_rules().values()
    return [(rule, example) for rule in rules for example in rule.entry.examples if example.case == case]


def value_of(rule: Rule, example: RuleExample) -> float:
    """Return the result of a rule for an example, in the unit of the rule."""
    given = inputs_with_defaults(rule, {name: rule.read(name, value) for name, value in example.inputs.items()})
    found = answer_rule(rule, given).value
    assert found is not None
    return in_unit(float(found), rule.unit)


def numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


def inputs_of(rule: Rule, example: RuleExample) -> list[float]:
    defaults = [declared.default for declared in rule.entry.inputs.values() if declared.default is not None]
    return [number for value in (*example.inputs.values(), *defaults) for number in numbers(str(value))]


@pytest.mark.parametrize("row", rows("rules_case_studies.csv"), ids=lambda row: row["id"])
def test_case_studies(row):
    found = examples_of(row["id"])
    assert found
    expected, result = numbers(row["expected"]), re.search(r"[\d.]+", row["tolerance"])
    tolerance = float(result[0]) if result and row["tolerance"][0].isdigit() else 0.05
    for rule, example in found:
        value = value_of(rule, example)
        assert min(abs(value - number) for number in expected) <= (
            1e-9 * value if row["tolerance"] == "exact" else tolerance
        )
        assert example_outcome(rule, example).comes_out
    if row["id"] not in _INPUTS_OTHERWISE:
        given = [number for rule, example in found for number in inputs_of(rule, example)]
        assert set(numbers(row["inputs"])) <= set(given)


@pytest.mark.parametrize("case", ["T10", "T11", "T12", "T13"])
def test_whether_the_index_is_cached(case):
    (row,) = (study for study in rows("rules_case_studies.csv") if study["id"] == case)
    ((rule, example),) = examples_of(case)
    found = answer_rule(rule, {name: rule.read(name, value) for name, value in example.inputs.items()})
    assert found.follows == ("not cached" not in row["expected"])


@pytest.mark.parametrize("row", rows("rules_server_reference.csv"), ids=lambda row: row["id"])
def test_server_reference(row):
    ((rule, example),) = examples_of(row["id"])
    value = value_of(rule, example)
    assert example.origin == row["origin"]
    assert value == pytest.approx(float(row["exact_result"]), rel=1e-5)
    if row["printed_result"]:
        assert abs(value - float(row["printed_result"])) <= float(row["tolerance"]) + 1e-9
        assert float(example.result) == float(row["printed_result"])
    assert example_outcome(rule, example).comes_out


@pytest.mark.parametrize("row", rows("rules_save_rates.csv"), ids=lambda row: f"{row['device']} {row['workload']}")
def test_save_rates(row):
    rule = load_rules()["save_rate"]
    given = {
        "speed": rule.read("speed", f"{row['rate_mb_s']} MB/s"),
        "kept": float(row["kept_fraction"]),
        "compaction": float(row["compaction"]),
    }
    per_hour = in_unit(float(answer_rule(rule, given).value), rule.unit) * 1000
    # In one row, the source document multiplies a rate that it has rounded before.
    exact = 2565.0 if "unrounded 2565" in row["note"] else float(row["mb_per_hr"])
    assert per_hour == pytest.approx(exact, rel=1e-9)
    # The source document prints rates without decimals; it truncates some (34.2 as 34) and rounds others (91.7 as 92).
    printed = row["gb_per_hr_printed"]
    assert abs(per_hour / 1000 - float(printed)) < (0.1 if "." in printed else 1)


@pytest.mark.parametrize(
    "row", rows("rules_kept_fractions.csv"), ids=lambda row: f"{row['device_class']} {row['workload_class']}"
)
def test_kept_fractions(row):
    rule = load_rules()["kept_fraction"]
    data = {"Large": "large_file", "User": "user_mix", "Source": "source"}[row["workload_class"].split()[0]]
    device = row["device_class"].replace("-", "_").replace(" ", "_")
    assert answer_rule(rule, {"device": device, "data": data}).value == float(row["kept_fraction"])


def in_a_table(topic: str, section: str, line: str, values: list[str], unit: str) -> bool:
    """Return True if the published tables contain the given values. `section` and `line` are the position in the source
    document.
    """
    tables = [row for rule in load_rules().topics()[topic] for row in rule.entry.table]
    here = [row for row in tables if row.note.endswith(f"; {section}, line {line}") and unit in row.note]
    return all(any(float(row.value) == float(value) for row in here) for value in values if value)


@pytest.mark.parametrize("row", rows("rules_thresholds.csv"), ids=lambda row: row["rule"])
def test_thresholds(row):
    unit = row["unit"] if row["unit"].startswith("pct") else row["unit"].partition(" (")[0]
    assert in_a_table("thresholds", row["section"], row["line"], [row["value"], row["value_high"]], unit)


@pytest.mark.parametrize("row", rows("rules_overheads.csv"), ids=lambda row: row["factor"])
def test_overheads(row):
    assert in_a_table("overheads", row["section"], row["line"], [row["low"], row["high"]], row["unit"])


def test_every_example_comes_out():
    wrong = [
        (rule.name, example.case, example.result, found.got)
        for rule in load_rules().values()
        for example in rule.entry.examples
        if not (found := example_outcome(rule, example)).comes_out
    ]
    assert wrong == []


def test_every_rule_with_a_result_has_an_example_that_proves_something():
    proven = {
        rule.name
        for rule in load_rules().values()
        for example in rule.entry.examples
        if example.origin in ("source", "derived")
    }
    workable = {rule.name for rule in load_rules().values() if rule.is_workable}
    assert workable - proven == ONLY_INFERRED


def test_a_tolerance_does_not_hide_a_wrong_result():
    loose = [
        (rule.name, example.result, example.tolerance)
        for rule in load_rules().values()
        for example in rule.entry.examples
        if not rule.unit.is_truth
        and parse_quantity(example.tolerance, rule.unit) > 0.125 * abs(parse_quantity(example.result, rule.unit))
    ]
    assert loose == []


@pytest.mark.parametrize(("letter", "last"), [("F", 56), ("S", 44), ("A", 95)])
def test_the_whole_catalogue_has_entries(letter, last):
    have = {number for rule in load_rules().values() for number in rule.entry.catalogue}
    assert [number for place in range(1, last + 1) if (number := f"{letter}{place}") not in have] == []


def test_the_catalogue_has_no_other_numbers():
    known = {f"{letter}{place}" for letter, last in (("F", 56), ("S", 44), ("A", 95)) for place in range(1, last + 1)}
    assert {number for rule in load_rules().values() for number in rule.entry.catalogue} <= known
