"""Diagnosis: what limits the throughput of a system, with the evidence."""

from towtank.analysis import Diagnosis

__all__ = ["Diagnosis"]
