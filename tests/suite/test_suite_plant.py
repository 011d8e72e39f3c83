"""Mutation tests: faults that are deliberately planted in the code must be detected by the tests.

The list of equivalent mutants has no outdated entry.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
PACKAGE = ROOT / "python" / "towtank"


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


SMALL = '''\
"""Adds."""

LIMIT: "list[3]" = 2


def scaled(value, factor=2.0):
    """Value times 2."""
    if value < 0 and not factor:
        raise ValueError(f"must be above {0 + 1}")
    assert factor != 4
    return max(value * factor, -LIMIT) + len("a" + "b")
'''


def planted(tmp_path: Path) -> list[str]:
    from planting.places import places  # noqa: PLC0415

    path = tmp_path / "small.py"
    path.write_text(SMALL, "utf-8")
    found = places(path, tmp_path)
    for place in found:
        assert place.planted_in(SMALL) != SMALL
        ast.parse(place.planted_in(SMALL))
    return [f"{place.line} {place.scope}: {place.was} -> {place.planted}" for place in found]


def test_faults_are_those_of_numbers_and_conditions(tmp_path: Path) -> None:
    assert planted(tmp_path) == [
        "3 : 2 -> (3)",
        "6 scaled: 2.0 -> (3.0)",
        "8 scaled: value < 0 and (not factor) -> (value < 0 or not factor)",
        "8 scaled: value < 0 -> (value <= 0)",
        "8 scaled: 0 -> (1)",
        "8 scaled: not factor -> (bool(factor))",
        "11 scaled: max(value * factor, -LIMIT) + len('a' + 'b') -> (max(value * factor, -LIMIT) - len('a' + 'b'))",
        "11 scaled: max(value * factor, -LIMIT) -> (min(value * factor, -LIMIT))",
        "11 scaled: value * factor -> (value / factor)",
        "11 scaled: -LIMIT -> (LIMIT)",
    ]


def test_every_fault_of_the_package_can_be_planted() -> None:
    from planting.command import all_places  # noqa: PLC0415

    found = all_places()
    assert len(found) > 5000
    for place in found[::97]:
        ast.parse(place.planted_in((PACKAGE / place.path).read_text("utf-8")))


def test_equivalents_are_there_and_have_reasons() -> None:
    from planting import equivalents  # noqa: PLC0415

    python, rust = equivalents.read()
    assert equivalents.stale(python, PACKAGE) == []
    assert all(len(reason.split()) > 3 for reason in [*(entry.reason for entry in python), *rust.values()])
    wrong = equivalents.Equivalent("model/quota.py", "nowhere", "1", "", "no such place")
    assert equivalents.stale([wrong], PACKAGE) == [wrong]


JUDGED = """\
import sys
from pathlib import Path
from planting.judging import Copy
from planting.places import places

package, folder = Path(sys.argv[1]), Path(sys.argv[2])
copy = Copy(package, folder / "copy")
test = f"{folder}/test_small.py::test_small"
print(copy.pass_all([test], 1.0))
for place in places(package / "small.py", package):
    print(copy.is_noticed(place, [test], 1.0), place.was)
print(copy.pass_all([test], 1.0))
"""


def test_a_fault_is_noticed_where_a_test_fails(tmp_path: Path) -> None:
    """A planted fault counts as detected if a test fails.

    The only test of the example asserts 3 * 2 + 1 = 7. So it detects a changed factor or summand, but no change of the
    result for negative values, or of the condition `value > 0`.
    """
    package = tmp_path / "python" / "smallpackage"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    source = "def scaled(value):\n    return value * 2 + 1 if value > 0 else 0\n"
    (package / "small.py").write_text(source, "utf-8")
    (tmp_path / "test_small.py").write_text(
        "from smallpackage.small import scaled\n\n\ndef test_small():\n    assert scaled(3) == 7\n", "utf-8"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    script = tmp_path / "judged.py"
    script.write_text(JUDGED, "utf-8")
    ended = subprocess.run(
        [sys.executable, str(script), str(package), str(tmp_path)],
        env={"PYTHONPATH": str(SCRIPTS), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.splitlines() == [
        "True", "False value > 0", "False 0",
        "True value * 2 + 1", "True value * 2", "True 2", "True 1", "False 0", "True",
    ]  # fmt: skip


def test_the_outcomes_of_rust_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from planting import rust  # noqa: PLC0415

    (tmp_path / "outcomes.json").write_text(
        '{"outcomes": [{"scenario": "Baseline", "summary": "Success"}, '
        '{"scenario": {"Mutant": {"name": "a.rs:1:2: replace + with - in f"}}, "summary": "MissedMutant"}, '
        '{"scenario": {"Mutant": {"name": "a.rs:1:2: replace + with * in f"}}, "summary": "CaughtMutant"}, '
        '{"scenario": {"Mutant": {"name": "a.rs:2:2: replace f"}}, "summary": "Timeout"}]}',
        "utf-8",
    )
    assert rust.report(tmp_path / "outcomes.json", 0.9) == 1
    assert capsys.readouterr().out.splitlines() == [
        "not noticed: a.rs:1:2: replace + with - in f",
        "2 of 3 noticed (66.7%, 95 % interval 9.4% to 99.2%; goal 95%); 0 cannot be built",
    ]
    assert rust.report(tmp_path / "outcomes.json", 0.6) == 0
    assert rust.without_place("a.rs:1:2: replace + with - in f") == "a.rs: replace + with - in f"


def test_the_share_has_an_exact_interval() -> None:
    """If 0 of n faults are detected, the upper end of the confidence interval is 1 - 0.025^(1/n). If all n are
    detected, the lower end is 0.025^(1/n).
    """
    from planting.share import interval  # noqa: PLC0415

    assert interval(0, 12) == pytest.approx((0.0, 1 - 0.025 ** (1 / 12)), rel=1e-9)
    assert interval(12, 12) == pytest.approx((0.025 ** (1 / 12), 1.0), rel=1e-9)
    # Result of SciPy's `binomtest(90, 100).proportion_ci(method="exact")`.
    assert interval(90, 100) == pytest.approx((0.823777, 0.950995), abs=1e-6)


@pytest.mark.parametrize(
    ("noticed", "count", "short"),
    [(100, 100, False), (90, 100, False), (89, 100, True), (460, 500, True), (470, 500, False), (0, 0, False)],
)
def test_a_share_is_short_below_the_least_or_beyond_chance_below_the_goal(
    noticed: int, count: int, short: bool
) -> None:
    from planting.share import is_short, share_text  # noqa: PLC0415

    assert is_short(noticed, count, 0.9) == short
    assert ("goal 95%" in share_text(noticed, count)) == bool(count)
