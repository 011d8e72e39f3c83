"""Judges results of any tool: steady window, intervals that hold, doubts that the data show.

`judge` reads and judges one file, `judge_all` several files.
"""

from towtank.analysis.judgement.judging import SCHEMA, Judged, Judgement, judge, judge_all

__all__ = ["SCHEMA", "Judged", "Judgement", "judge", "judge_all"]
