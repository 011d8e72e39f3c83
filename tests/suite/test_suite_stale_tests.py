"""Uses of records as dictionaries that `scripts/stale_tests.py` finds in the output of mypy."""

import stale_tests

ERRORS = """\
tests/a.py:1: error: Value of type "RunSummary" is not indexable  [index]
tests/a.py:2: error: Unsupported target for indexed assignment ("RunSummary")  [index]
tests/a.py:3: error: "Factor" has no attribute "get"  [attr-defined]
tests/a.py:4: error: Unsupported right operand type for in ("Factor")  [operator]
tests/a.py:5: error: Value of type "object" is not indexable  [index]
tests/a.py:6: error: "RunSummary" has no attribute "seen"  [attr-defined]
tests/a.py:7: error: Value of type "PdfObject" is not indexable  [index]
"""


def test_only_records_of_towtank_used_as_dictionaries_are_found() -> None:
    found = stale_tests.stale_lines(ERRORS, {"RunSummary", "Factor"})
    assert found == ERRORS.splitlines()[:4]


def test_the_records_are_the_classes_of_the_package() -> None:
    names = stale_tests.classes(stale_tests.ROOT / "python" / "towtank" / "analysis")
    assert {"RunSummary", "Estimate"} <= names
    assert "PdfObject" not in names
