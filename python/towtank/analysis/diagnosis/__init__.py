"""Diagnoses which resource limits a system, with the evidence for and against the answer."""

from towtank.analysis.diagnosis.answer import Cause, Diagnosis, Place
from towtank.analysis.diagnosis.of_levels import diagnose_levels
from towtank.analysis.diagnosis.of_run import diagnose_run

__all__ = ["Cause", "Diagnosis", "Place", "diagnose_levels", "diagnose_run"]
