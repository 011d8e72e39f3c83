"""Towtank drives a system, watches every tier, explains why it behaves as it does, and sizes the hardware.

Each function of this package does the work of the command with the same name, and returns a typed result:

>>> import towtank
>>> results = towtank.open("results/content-users-20261125-101500")  # doctest: +SKIP
>>> results.verdict, results.points[0].response_time_s.p95  # doctest: +SKIP
(valid, 75 [59, 127] ms)

`docs/reference/python.md` describes all functions and results. They raise the errors of `towtank.errors`. Modules are
imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from towtank.version import __version__ as __version__

if TYPE_CHECKING:
    from towtank import errors
    from towtank.api import (
        Cause,
        Cheaper,
        CheckedFile,
        Claim,
        ClassFigures,
        ComparedMetric,
        ComparedResults,
        Comparison,
        Diagnosis,
        Difference,
        Doubt,
        Drive,
        Due,
        Fit,
        Frame,
        ImportedWorkload,
        ImportNote,
        Interval,
        Judged,
        Limits,
        Objective,
        Place,
        Point,
        PoolFigures,
        Prediction,
        Progress,
        Quantity,
        Rating,
        Results,
        Run,
        Scenario,
        Session,
        SizedObjective,
        SizedTier,
        Sizing,
        Solution,
        StationFigures,
        Tier,
        Times,
        Transaction,
        Validation,
        Verdict,
        WhatIf,
        compare,
        drive,
        fit,
        import_workload,
        judge,
        rate,
        run,
        simulate,
        size,
        solve,
        validate,
    )
    from towtank.api import open_results as open


_OTHER_NAMES = {"open": "open_results"}
"""Names in `towtank.api` of the public names that differ there, because they would hide a Python builtin."""

__all__ = [
    "Cause",
    "Cheaper",
    "CheckedFile",
    "Claim",
    "ClassFigures",
    "ComparedMetric",
    "ComparedResults",
    "Comparison",
    "Diagnosis",
    "Difference",
    "Doubt",
    "Drive",
    "Due",
    "Fit",
    "Frame",
    "ImportNote",
    "ImportedWorkload",
    "Interval",
    "Judged",
    "Limits",
    "Objective",
    "Place",
    "Point",
    "PoolFigures",
    "Prediction",
    "Progress",
    "Quantity",
    "Rating",
    "Results",
    "Run",
    "Scenario",
    "Session",
    "SizedObjective",
    "SizedTier",
    "Sizing",
    "Solution",
    "StationFigures",
    "Tier",
    "Times",
    "Transaction",
    "Validation",
    "Verdict",
    "WhatIf",
    "compare",
    "drive",
    "errors",
    "fit",
    "import_workload",
    "judge",
    "open",
    "rate",
    "run",
    "simulate",
    "size",
    "solve",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("towtank.errors")
    if name not in __all__:
        raise AttributeError(f"module 'towtank' has no attribute {name!r}")
    found = getattr(import_module("towtank.api"), _OTHER_NAMES.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
