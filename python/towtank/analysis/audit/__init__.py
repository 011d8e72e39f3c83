"""The audit of the load: compares what the plan requests (`asked`) with what was recorded, test by test (`check`)."""

from towtank.analysis.audit.auditing import FAMILY_LEVEL, LEVEL, audit

__all__ = ["FAMILY_LEVEL", "LEVEL", "audit"]
