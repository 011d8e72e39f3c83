"""Diagnosis: the limit of a system, with its evidence."""

from towtank.analysis import Diagnosis

__all__ = ["Diagnosis"]
