"""Fits capacity curves and queueing networks with intervals to measurements, and estimates service demands.

`fit_table` fits a CSV file of any tool, `fit_results` a results folder; `demands_document` estimates the
service demands of a results folder. All of these functions audit their input first.
"""

from towtank.model.fitting.demands import demands_document
from towtank.model.fitting.documents import Answer, FitRequest, fit_results, fit_table, written_model
from towtank.model.fitting.measured import is_results
from towtank.model.fitting.table import Columns

__all__ = [
    "Answer",
    "Columns",
    "FitRequest",
    "demands_document",
    "fit_results",
    "fit_table",
    "is_results",
    "written_model",
]
