"""Analyses recorded runs: tests for a steady state, estimates with intervals, operational laws, verdicts.

`summarize_run` analyses one run folder, `summarize_study` all runs of a study together, `drive_document` makes the
output of `towtank drive`, `diagnoses_of` finds what limits the system, `gather` collects the data of an export, `judge`
judges a result of another tool. All of these functions accept incomplete data and report what is missing.
`docs/background/architecture.md` describes the packages in here.
"""

from towtank.analysis.compaction import compact
from towtank.analysis.deciding import OpenQuestion, open_questions
from towtank.analysis.diagnoses import Diagnoses, diagnoses_of
from towtank.analysis.diagnosis import Diagnosis
from towtank.analysis.doubts import Level, not_checked
from towtank.analysis.drive import drive_document
from towtank.analysis.exporting import gather
from towtank.analysis.judgement import Judged, Judgement, judge, judge_all
from towtank.analysis.run import summarize_run
from towtank.analysis.statistics import Estimate
from towtank.analysis.study import summarize_study

__all__ = [
    "Diagnoses",
    "Diagnosis",
    "Estimate",
    "Judged",
    "Judgement",
    "Level",
    "OpenQuestion",
    "compact",
    "diagnoses_of",
    "drive_document",
    "gather",
    "judge",
    "judge_all",
    "not_checked",
    "open_questions",
    "summarize_run",
    "summarize_study",
]
