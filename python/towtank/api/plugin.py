"""Plugin for pytest: provides the fixture `towtank`, and explains failed assertions about measured values.

If a measurement fails or is invalid, pytest counts an error, not a failure, because the test says nothing about the
system under test then.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from towtank.api.measured import Verdict
from towtank.api.quantity import Quantity
from towtank.errors import MeasurementError, TowtankError

if TYPE_CHECKING:
    from towtank.api.driving import Drive
    from towtank.api.results import Results

FIXTURE = "towtank"
_PHASE = "measurement"
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
    doubts = [f"  {doubt}{f' ({doubt.hint})' if doubt.hint else ''}" for doubt in found.verdict.doubts]
    raise MeasurementError("\n".join([f"{what} is not a valid measurement:", *doubts]))


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
        report.longrepr = str(call.excinfo.value)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """Count a test with a failed measurement as an error, not as a failure."""
    return ("error", "E", "ERROR") if report.when == _PHASE and report.failed else None


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison of a measured value: show its confidence interval and what was measured."""
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
    return limit if isinstance(limit, str) else f"{limit!r} {quantity.unit}"
