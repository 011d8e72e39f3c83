"""Diagnosis: what limits the throughput of a system, with the evidence."""

from towtank.analysis import Cause, Diagnosis, Place

__all__ = ["Cause", "Diagnosis", "Place"]
