"""Diagnosis of what limits a system."""

from towtank.analysis import Diagnosis

__all__ = ["Diagnosis"]
