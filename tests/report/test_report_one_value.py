"""Each quantity has one value throughout a report: sentences, tables and figures agree except for rounding."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest
import report_synthetic as synthetic
from quantities import collect, disagreements
from quantities_of_models import without_reason
from results_1 import copy_of_results_1

from towtank.report.content import build_document
from towtank.report.content.methods import KNEES, VALUES
from towtank.report.document import Bullets, Document, Figure, Run, Table
from towtank.report.source import Results, load_results

# The committed results folder is analysed once for all tests of this file, because the analysis takes seconds.
pytestmark = [pytest.mark.waits, pytest.mark.xdist_group("report_one_value")]
SHAPES: dict[str, Callable[[], Results]] = {
    "full": synthetic.results,
    "marked": lambda: synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}, missing=("r007",)),
    "one level": lambda: synthetic.results(levels=(30,)),
    "none valid": lambda: synthetic.results(verdicts={f"r{number:03d}": "invalid" for number in range(1, 9)}),
    "many": synthetic.many,
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return load_results(copy_of_results_1(tmp_path_factory.mktemp("one_value") / "results").path)


@pytest.fixture(scope="module")
def document(kept: Results) -> Document:
    return build_document(kept)


def test_the_kept_results_have_one_value_for_each_quantity(kept: Results, document: Document) -> None:
    numbers = collect(document, kept)
    assert disagreements(numbers) == []
    assert without_reason(document, numbers) == []
    kinds = {number.place.split()[0] for shown in numbers.values() for number in shown}
    assert kinds == {"sentence", "table", "figure"}
    # The report states each of these quantities in several places, for two configurations at four loads.
    for quantity in ("throughput", "response time", "p95", "p50", "p99"):
        at = [key for key in numbers if key[0] == quantity]
        assert len(at) == 8, quantity
        assert all(len(numbers[key]) >= 3 for key in at), quantity
    # The report also states utilizations and residuals for each configuration and load.
    for quantity, least in (("utilization of content", 2), ("residual of the curve", 3)):
        at = [key for key in numbers if key[0] == quantity]
        assert len(at) == 8, quantity
        assert all(len(numbers[key]) >= least for key in at), quantity
    for quantity, places in (("highest throughput", 2), ("knee by demands", 2), ("CPU demand at content", 2),
                             ("CPUs of content", 2), ("knee by model", 2), ("limit of the curve", 2),
                             ("limit of the network", 2), ("share of the lowest line", 2), ("share of database", 2),
                             ("slope of the demand at content", 3), ("highest utilization of content", 2),
                             ("largest held-out error", 2), ("growth of response time of the levels", 2),
                             ("share of ideal", 3), ("growth of throughput", 3)):  # fmt: skip
        several = [key for key in numbers if key[0] == quantity and len(numbers[key]) >= places]
        assert len(several) >= 2, quantity


@pytest.mark.parametrize("shape", SHAPES)
def test_synthetic_results_have_one_value_for_each_quantity(shape: str) -> None:
    results = SHAPES[shape]()
    assert disagreements(collect(build_document(results), results)) == []


def with_block(document: Document, old: object, new: object) -> Document:
    sections = tuple(
        dataclasses.replace(section, blocks=tuple(new if block is old else block for block in section.blocks))  # type: ignore[misc]
        for section in document.sections
    )
    return dataclasses.replace(document, sections=sections)


def blocks(document: Document) -> list[object]:
    return [block for section in document.sections for block in section.blocks]


def test_another_value_in_a_table_is_found(kept: Results, document: Document) -> None:
    table = next(
        block for block in blocks(document) if isinstance(block, Table) and block.caption.startswith("Results by")
    )
    first = table.rows[0]
    number = re.match(r"[\d.]+", first[2])
    assert number is not None
    wrong = (*first[:2], first[2].replace(number[0], f"{1.1 * float(number[0]):.1f}", 1), *first[3:])
    changed = with_block(document, table, dataclasses.replace(table, rows=(wrong, *table.rows[1:])))
    assert disagreements(collect(changed, kept))


def test_another_value_in_a_figure_is_found(kept: Results, document: Document) -> None:
    figure = next(block for block in blocks(document) if isinstance(block, Figure) and block.name == "throughput")
    assert figure.spec is not None
    upper, lower = figure.spec["vconcat"]
    rows = upper["data"]["values"]
    wrong = {**upper, "data": {"values": [{**rows[0], "value": 1.1 * rows[0]["value"]}, *rows[1:]]}}
    spec = {**figure.spec, "vconcat": [wrong, lower]}
    changed = with_block(document, figure, dataclasses.replace(figure, spec=spec))
    assert disagreements(collect(changed, kept))


def test_another_value_in_a_sentence_is_found(kept: Results, document: Document) -> None:
    def is_meant(text: str) -> bool:
        return "throughput grows from" in text

    bullets = next(
        block
        for block in blocks(document)
        if isinstance(block, Bullets) and any(is_meant(item[0].text) for item in block.items)
    )
    items = tuple(
        (Run(re.sub(r"grows from [\d.]+", "grows from 99.9", item[0].text)), *item[1:])
        if is_meant(item[0].text)
        else item
        for item in bullets.items
    )
    changed = with_block(document, bullets, dataclasses.replace(bullets, items=items))
    assert disagreements(collect(changed, kept))


def with_table(document: Document, caption: str, old: str, new: str) -> Document:
    """Return the document with some cells of a table changed. The table may be the table of a figure."""
    for block in blocks(document):
        table = block.table if isinstance(block, Figure) else block
        if isinstance(table, Table) and table.caption == caption:
            rows = tuple(tuple(cell.replace(old, new) for cell in row) for row in table.rows)
            assert rows != table.rows
            wrong = dataclasses.replace(table, rows=rows)
            changed = dataclasses.replace(block, table=wrong) if isinstance(block, Figure) else wrong
            return with_block(document, block, changed)
    raise AssertionError(caption)


@pytest.mark.parametrize(
    ("caption", "old_and_new", "quantity"),
    [
        (KNEES, ("63 [", "69 ["), "knee by demands"),
        (KNEES, ("56.8 [", "58.8 ["), "knee by model"),
        (VALUES, ("55.2 [", "56.2 ["), "limit of the curve"),
        (VALUES, ("78.1", "77.1"), "share of ideal"),
        ("Utilization by load", ("98.6", "97.6"), "utilization of content"),
        ("Throughput relative to the lowest level", ("4.75", "4.85"), "growth of throughput"),
        ("Residuals of the models", ("+5.61", "−5.61"), "residual of the curve"),
        ("CPU demand of one transaction, from the slope of CPU use against throughput", ("18.9", "19.9"),
         "slope of the demand at content"),
    ],
)  # fmt: skip
def test_another_percentage_knee_or_value_of_a_method_is_found(
    kept: Results, document: Document, caption: str, old_and_new: tuple[str, str], quantity: str
) -> None:
    found = disagreements(collect(with_table(document, caption, *old_and_new), kept))
    assert any(quantity in text for text in found)


def test_a_value_of_another_method_needs_its_reason(kept: Results, document: Document) -> None:
    table = next(block for block in blocks(document) if isinstance(block, Table) and block.caption == VALUES)
    bare = dataclasses.replace(table, rows=tuple((*row[:-1], "\N{EN DASH}") for row in table.rows))
    numbers = collect(document, kept)
    faults = without_reason(with_block(document, table, bare), numbers)
    assert "limit of the curve of search_index present has no reason" in faults
    gone = dataclasses.replace(table, rows=tuple(row for row in table.rows if "curve" not in row[3]))
    faults = without_reason(with_block(document, table, gone), numbers)
    assert "limit of the curve of search_index present stands in no table of methods" in faults
