"""The audit of the load: what was asked of it (`asked`) held against what came, test by test (`check`)."""

from towtank.analysis.audit.auditing import FAMILY_LEVEL, LEVEL, audit

__all__ = ["FAMILY_LEVEL", "LEVEL", "audit"]
