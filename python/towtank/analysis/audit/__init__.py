"""Audits the load: tests statistically whether the recorded load agrees with the planned load."""

from towtank.analysis.audit.auditing import FAMILY_LEVEL, LEVEL, audit
