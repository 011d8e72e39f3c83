"""The stored outputs of the notebook about sizing can be reproduced."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from notebook_runs import code_cells, run_notebook, text_of

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "from-csv-to-size"


DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
ESTIMATE = re.compile(r"([\d.,]+) \[([\d.,]+), ([\d.,]+)\]")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
DAYS = 10
"""Largest allowed difference between two dates. [d]

At a growth of 25 % a year, the precision of the limit, 1 in 1,000, is less than two days. In addition, the limit varies
within the interval of the simulation.
"""
RELATIVE = 0.01
"""Largest allowed relative difference of values without an interval.

Fitted values agree to about nine digits on all CPUs, simulated limits only to two digits.
"""


def number(text: str) -> float:
    return float(text.replace(",", ""))


def compare(now: str, kept: str) -> None:
    """Compare two outputs of the notebook.

    Words must be equal, each estimate must lie in the interval of the other, and days and numbers must agree within
    their tolerances.
    """
    assert NUMBER.sub("#", DAY.sub("#", now)) == NUMBER.sub("#", DAY.sub("#", kept))
    for new, old in zip(ESTIMATE.findall(now), ESTIMATE.findall(kept), strict=True):
        assert number(old[1]) <= number(new[0]) <= number(old[2]), (new, old)
        assert number(new[1]) <= number(old[0]) <= number(new[2]), (new, old)
    for new, old in zip(DAY.findall(now), DAY.findall(kept), strict=True):
        assert abs((date.fromisoformat(new) - date.fromisoformat(old)).days) <= DAYS
    plain = [NUMBER.findall(DAY.sub("", ESTIMATE.sub("", text))) for text in (now, kept)]
    for new, old in zip(*plain, strict=True):
        # The last printed digit of a number may differ by one.
        last = 10.0 ** -len(old.partition(".")[2]) if "e" not in old else 0.0
        assert number(new) == pytest.approx(number(old), rel=RELATIVE, abs=last), (now, kept)


@pytest.mark.timeout(600)
def test_the_notebook_reproduces_its_output() -> None:
    path = EXAMPLE / "from-csv-to-size.ipynb"
    cells = code_cells(json.loads(path.read_text("utf-8")))
    assert "subprocess" not in "".join("".join(cell["source"]) for cell in cells)
    for now, cell in zip(run_notebook(path), cells, strict=True):
        compare(text_of(now), text_of(cell["outputs"]))
        kinds = [sorted(output.get("data", {})) for output in cell["outputs"]]
        assert kinds == [sorted(output.get("data", {})) for output in now], "run scripts/notebooks"


def test_the_notebook_is_compared_within_its_errors() -> None:
    stored = "p95 434 [425, 442] ms on 2028-05-04, 0.600614 ratio"
    compare("p95 430 [421, 438] ms on 2028-05-03, 0.600615 ratio", stored)
    for wrong in ("p95 444 [435, 452] ms on 2028-05-04, 0.600614 ratio",
                  "p95 434 [425, 442] ms on 2028-06-04, 0.600614 ratio",
                  "p95 434 [425, 442] ms on 2028-05-04, 0.620614 ratio",
                  "p95 434 [425, 442] s on 2028-05-04, 0.600614 ratio"):  # fmt: skip
        with pytest.raises(AssertionError):
            compare(wrong, stored)
