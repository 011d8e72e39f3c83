"""Judges results of any load generator: finds a steady window, computes intervals, and lists doubts about the data.

`judge` reads and judges one file, `judge_all` several files.
"""

from towtank.analysis.judgement.judging import SCHEMA, Judged, Judgement, judge, judge_all

__all__ = ["SCHEMA", "Judged", "Judgement", "judge", "judge_all"]
