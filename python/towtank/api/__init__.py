"""Python API: defines the public names of the package `towtank`.

The API calls the same functions as the command line, and converts their JSON documents into typed results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.api.checked import CheckedFile as CheckedFile
    from towtank.api.checked import Validation as Validation
    from towtank.api.checked import validate as validate
    from towtank.api.compared import ComparedMetric as ComparedMetric
    from towtank.api.compared import ComparedResults as ComparedResults
    from towtank.api.compared import Difference as Difference
    from towtank.api.compared import compare as compare
    from towtank.api.diagnosed import Cause as Cause
    from towtank.api.diagnosed import Diagnosis as Diagnosis
    from towtank.api.diagnosed import Place as Place
    from towtank.api.driving import Drive as Drive
    from towtank.api.driving import drive as drive
    from towtank.api.fits import Fit as Fit
    from towtank.api.fits import Prediction as Prediction
    from towtank.api.fits import fit as fit
    from towtank.api.frames import Frame as Frame
    from towtank.api.imported import ImportedWorkload as ImportedWorkload
    from towtank.api.imported import ImportNote as ImportNote
    from towtank.api.imported import import_workload as import_workload
    from towtank.api.judged import Claim as Claim
    from towtank.api.judged import Comparison as Comparison
    from towtank.api.judged import Judged as Judged
    from towtank.api.judged import Objective as Objective
    from towtank.api.judged import judge as judge
    from towtank.api.limits import Limits as Limits
    from towtank.api.measured import Doubt as Doubt
    from towtank.api.measured import Tier as Tier
    from towtank.api.measured import Times as Times
    from towtank.api.measured import Transaction as Transaction
    from towtank.api.measured import Verdict as Verdict
    from towtank.api.models import ClassFigures as ClassFigures
    from towtank.api.models import PoolFigures as PoolFigures
    from towtank.api.models import Solution as Solution
    from towtank.api.models import StationFigures as StationFigures
    from towtank.api.models import simulate as simulate
    from towtank.api.models import solve as solve
    from towtank.api.points import Point as Point
    from towtank.api.points import Run as Run
    from towtank.api.progress import Progress as Progress
    from towtank.api.quantity import Interval as Interval
    from towtank.api.quantity import Quantity as Quantity
    from towtank.api.rated import Rating as Rating
    from towtank.api.rated import rate as rate
    from towtank.api.results import Results as Results
    from towtank.api.results import open_results as open_results
    from towtank.api.sessions import Session as Session
    from towtank.api.sized import Cheaper as Cheaper
    from towtank.api.sized import Due as Due
    from towtank.api.sized import Scenario as Scenario
    from towtank.api.sized import SizedObjective as SizedObjective
    from towtank.api.sized import SizedTier as SizedTier
    from towtank.api.sized import WhatIf as WhatIf
    from towtank.api.sizings import Sizing as Sizing
    from towtank.api.sizings import size as size
    from towtank.api.study import run as run

__getattr__, __dir__ = door(
    __name__,
    {
        "checked": "CheckedFile Validation validate",
        "compared": "ComparedMetric ComparedResults Difference compare",
        "diagnosed": "Cause Diagnosis Place",
        "driving": "Drive drive",
        "fits": "Fit Prediction fit",
        "frames": "Frame",
        "imported": "ImportNote ImportedWorkload import_workload",
        "judged": "Claim Comparison Judged Objective judge",
        "limits": "Limits",
        "measured": "Doubt Tier Times Transaction Verdict",
        "models": "ClassFigures PoolFigures Solution StationFigures simulate solve",
        "points": "Point Run",
        "progress": "Progress",
        "quantity": "Interval Quantity",
        "rated": "Rating rate",
        "results": "Results open_results",
        "sessions": "Session",
        "sized": "Cheaper Due Scenario SizedObjective SizedTier WhatIf",
        "sizings": "Sizing size",
        "study": "run",
    },
)
