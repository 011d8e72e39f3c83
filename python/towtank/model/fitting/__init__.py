"""Fits capacity curves and queueing networks to measurements, with confidence intervals, and estimates service
demands.

`fit_table` fits a CSV file of any tool, `fit_results` a results folder; `demands_document` estimates the
service demands of a results folder. All of these functions audit their input first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.model.fitting.demands import demands_document
    from towtank.model.fitting.documents import CurveAnswer, FitRequest, fit_results, written_model
    from towtank.model.fitting.measured import is_results
    from towtank.model.fitting.table import PointColumns

__getattr__, __dir__ = door(__name__)
