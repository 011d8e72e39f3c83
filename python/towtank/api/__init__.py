"""Python API: defines the public names of the package `towtank`.

The API calls the same functions as the command line, and converts their JSON documents into typed results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.api.checked import CheckedFile, Validation, validate
    from towtank.api.compared import ComparedMetric, ComparedResults, Difference, compare
    from towtank.api.diagnosed import Cause, Diagnosis, Place
    from towtank.api.driving import Drive, drive
    from towtank.api.fits import Fit, Prediction, fit
    from towtank.api.frames import Frame
    from towtank.api.imported import ImportedWorkload, ImportNote, import_workload
    from towtank.api.judged import Claim, Comparison, Judged, Objective, judge
    from towtank.api.limits import Limits
    from towtank.api.measured import Doubt, Tier, Times, Transaction, Verdict
    from towtank.api.models import ClassFigures, PoolFigures, Solution, StationFigures, simulate, solve
    from towtank.api.points import Point, Run
    from towtank.api.progress import Progress
    from towtank.api.quantity import Interval, Quantity
    from towtank.api.rated import Rating, rate
    from towtank.api.results import Results, open_results
    from towtank.api.sessions import Session
    from towtank.api.sized import Cheaper, Due, Scenario, SizedObjective, SizedTier, WhatIf
    from towtank.api.sizings import Sizing, size
    from towtank.api.study import run

__getattr__, __dir__ = door(__name__)
