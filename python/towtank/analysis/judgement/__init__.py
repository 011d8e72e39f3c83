"""Analyses result files of any load generator: finds a steady window, computes intervals, and lists doubts about the
data.

`judge_file` analyses one file, and `judge_files` several files.
"""

from towtank.analysis.judgement.judging import Judged, Judgement, judge_file, judge_files
