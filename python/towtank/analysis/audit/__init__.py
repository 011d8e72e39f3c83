"""Audits the load: compares the load that the plan requests with the recorded load, by statistical tests."""

from towtank.analysis.audit.auditing import FAMILY_LEVEL, LEVEL, audit

__all__ = ["FAMILY_LEVEL", "LEVEL", "audit"]
