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

if TYPE_CHECKING:
    from towtank import errors
    from towtank.api.checked import CheckedFile, Validation, validate
    from towtank.api.diagnosed import Diagnosis
    from towtank.api.driving import Drive, drive
    from towtank.api.fits import Fit, Prediction, fit
    from towtank.api.frames import Frame
    from towtank.api.imported import ImportedWorkload, ImportNote, import_workload
    from towtank.api.judged import (
        Claim,
        ComparedMetric,
        ComparedResults,
        Comparison,
        Judged,
        Objective,
        compare,
        judge,
    )
    from towtank.api.measured import Doubt, Tier, Times, Transaction, Verdict
    from towtank.api.models import ClassFigures, PoolFigures, Solution, StationFigures, simulate, solve
    from towtank.api.points import Point, Run
    from towtank.api.progress import Progress
    from towtank.api.quantity import Interval, Quantity
    from towtank.api.rated import Rating, rate
    from towtank.api.results import Results
    from towtank.api.results import open_results as open
    from towtank.api.sized import Cheaper, Due, Scenario, SizedObjective, SizedTier, WhatIf
    from towtank.api.sizings import Sizing, size_model
    from towtank.api.study import run

__version__ = "0.1.0"

_HOMES = {
    "checked": ("CheckedFile", "Validation", "validate"),
    "diagnosed": ("Diagnosis",),
    "driving": ("Drive", "drive"),
    "fits": ("Fit", "Prediction", "fit"),
    "frames": ("Frame",),
    "imported": ("ImportNote", "ImportedWorkload", "import_workload"),
    "judged": ("Claim", "ComparedMetric", "ComparedResults", "Comparison", "Judged", "Objective", "compare", "judge"),
    "measured": ("Doubt", "Tier", "Times", "Transaction", "Verdict"),
    "models": ("ClassFigures", "PoolFigures", "Solution", "StationFigures", "simulate", "solve"),
    "points": ("Point", "Run"),
    "progress": ("Progress",),
    "quantity": ("Interval", "Quantity"),
    "rated": ("Rating", "rate"),
    "results": ("Results", "open"),
    "sized": ("Cheaper", "Due", "Scenario", "SizedObjective", "SizedTier", "WhatIf"),
    "sizings": ("Sizing", "size_model"),
    "study": ("run",),
}
_NAMES = {name: f"towtank.api.{module}" for module, names in _HOMES.items() for name in names}
_OTHER_NAMES = {"open": "open_results"}
"""Public names that differ from the names in their own modules, where the public name would hide a Python builtin."""

__all__ = [
    "Cheaper",
    "CheckedFile",
    "Claim",
    "ClassFigures",
    "ComparedMetric",
    "ComparedResults",
    "Comparison",
    "Diagnosis",
    "Doubt",
    "Drive",
    "Due",
    "Fit",
    "Frame",
    "ImportNote",
    "ImportedWorkload",
    "Interval",
    "Judged",
    "Objective",
    "Point",
    "PoolFigures",
    "Prediction",
    "Progress",
    "Quantity",
    "Rating",
    "Results",
    "Run",
    "Scenario",
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
    "size_model",
    "solve",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "errors":
        return import_module("towtank.errors")
    if name not in _NAMES:
        raise AttributeError(f"module 'towtank' has no attribute {name!r}")
    found = getattr(import_module(_NAMES[name]), _OTHER_NAMES.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names of the package, whether or not they have been imported."""
    return sorted({*globals(), *__all__})
