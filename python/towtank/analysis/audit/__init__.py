"""Audit of the load: compares the load that the plan requests (`asked`) with the recorded load by statistical tests
(`check`).
"""

from towtank.analysis.audit.auditing import FAMILY_LEVEL, LEVEL, audit

__all__ = ["FAMILY_LEVEL", "LEVEL", "audit"]
