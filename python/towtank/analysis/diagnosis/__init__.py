"""Diagnoses which resource limits a system, and gives the evidence for and against this cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.analysis.diagnosis.answer import Cause, Diagnosis, Place
    from towtank.analysis.diagnosis.of_levels import diagnose_levels
    from towtank.analysis.diagnosis.of_run import diagnose_run

__getattr__, __dir__ = door(__name__)
