"""Plugin for pytest: provides the fixture `towtank`, and explains failed assertions about measured values.

If a measurement fails or is invalid, pytest counts an error, not a failure, because the test says nothing about the
system under test then.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from towtank.api.measured import Verdict
from towtank.api.quantity import RATIO, Quantity, shown_unit
from towtank.errors import MeasurementError, TowtankError

if TYPE_CHECKING:
    from towtank.api.driving import Drive
    from towtank.api.results import Results

FIXTURE = "towtank"
_PHASE = "measurement"
_NOTE = "note"
_COMPARISONS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least", "==": "equal to", "!=": "other than"}
_ORDERS = ("<", "<=", ">", ">=")


class _Measured(Protocol):
    @property
    def verdict(self) -> Verdict: ...


class Measuring:
    """Fixture that works like the package `towtank`, but raises an error for an invalid measurement."""

    def __getattr__(self, name: str) -> Any:
        """Return a public name of the package `towtank`."""
        import towtank  # noqa: PLC0415 - a fixture has the same name

        return getattr(towtank, name)

    def drive(self, target: str, **options: Any) -> Drive:
        """Load a target with `towtank.drive`.

        Raises
        ------
        MeasurementError
            If the measurement is not valid.
        """
        import towtank  # noqa: PLC0415

        found = towtank.drive(target, **options)
        _require_valid(f"the load on {found.target}", found)
        return found

    def run(self, study: Any, **options: Any) -> Results:
        """Run a study with `towtank.run`.

        Raises
        ------
        MeasurementError
            If the measurement is not valid.
        """
        import towtank  # noqa: PLC0415

        found = towtank.run(study, **options)
        _require_valid(f"the study in {found.folder}", found)
        return found


def _require_valid(what: str, found: _Measured) -> None:
    if found.verdict.valid:
        return
    raise MeasurementError("\n".join([*(_reasons(found.verdict) or ["not valid"]), f"measured: {what}"]))


def _reasons(verdict: Verdict) -> list[str]:
    """Return the doubts that led to a verdict as lines, each followed by its hint; notes change no verdict."""
    doubts = [doubt for doubt in verdict.doubts if doubt.level != _NOTE]
    return [line for doubt in doubts for line in (str(doubt), f"  hint: {doubt.hint}" if doubt.hint else "") if line]


@pytest.fixture(name=FIXTURE, scope="session")
def towtank_fixture() -> Measuring:
    """Return an object with the functions of the package `towtank`, such as `towtank.drive` and `towtank.run`."""
    return Measuring()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Assign a failed measurement to the phase `measurement`, which `pytest_report_teststatus` counts as an error."""
    report = yield
    uses = FIXTURE in getattr(item, "fixturenames", ())
    if uses and call.when == "call" and call.excinfo is not None and call.excinfo.errisinstance(TowtankError):
        report.when = _PHASE  # type: ignore[assignment]
        report.longrepr = f"{call.excinfo.value}\nin: {_place(item, call.excinfo)}"
    return report


def _place(item: pytest.Item, error: pytest.ExceptionInfo[BaseException]) -> str:
    """Return the file and line of the test that an error passed through, the innermost if there are several."""
    lines = [entry.lineno + 1 for entry in error.traceback if entry.path == item.path]
    file = item.nodeid.partition("::")[0]
    return f"{file}:{lines[-1]}" if lines else item.nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """Count a test with a failed measurement as an error, not as a failure."""
    return ("error", "E", "ERROR") if report.when == _PHASE and report.failed else None


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison: show the measured value, its confidence interval, and the verdict on the
    measurement. A failed comparison of a verdict shows the doubts that led to the verdict.
    """
    if isinstance(left, Verdict):
        return [f"{left} {op} {right!r}", *_reasons(left)]
    if not isinstance(left, Quantity) or op not in _COMPARISONS:
        return None
    lines = [f"{left} {op} {right!r}", f"objective: {_COMPARISONS[op]} {_shown(left, right)}", f"measured: {left}"]
    if left.about:
        lines.append(f"of: {left.about}")
    if left.interval is None:
        lines.append("the value has no interval, so its uncertainty is not known")
    elif op in _ORDERS and isinstance(right, int | float | str):
        limit = left.in_unit(right)
        low, high = left.interval
        miss = "not certain" if low <= limit <= high else "certain"
        state = "holds" if low <= limit <= high else "does not hold"
        lines.append(f"its {100 * left.confidence:g} % interval {state} the limit: the miss is {miss}")
    return lines


def _shown(quantity: Quantity, limit: object) -> str:
    """Render a limit in the form of the measured value, without rounding."""
    if isinstance(limit, Quantity | str) or not isinstance(limit, int | float):
        return str(limit)
    factor, unit = (100, "%") if quantity.unit == RATIO else (1, shown_unit(quantity.unit))
    return f"{factor * limit:.12g} {unit}".rstrip()
