"""Analyses recorded runs: steady state, statistics, operational laws, verdicts.

`summarize_run` analyses one run folder, `summarize_study` all runs of a study together, `drive_document` makes the
output of `towtank drive`, `diagnoses_of` finds what limits the system, `gather` collects the data of an export, `judge`
judges a result of another tool, `compare` compares two sides that `side_of` reads. All of these functions accept
incomplete data and report what is missing.
`docs/background/architecture.md` describes the packages in here.
"""

from towtank.analysis.compaction import compact
from towtank.analysis.comparing import Compared, Difference, Finding, Side, baseline, compare, keep, side_of
from towtank.analysis.diagnoses import Diagnoses, diagnoses_of
from towtank.analysis.diagnosis import Diagnosis
from towtank.analysis.doubts import Level, not_checked
from towtank.analysis.drive import drive_document
from towtank.analysis.exporting import gather
from towtank.analysis.judgement import Judged, Judgement, judge, judge_all
from towtank.analysis.objective_scopes import is_scoped
from towtank.analysis.objectives import estimate_at
from towtank.analysis.run import summarize_run
from towtank.analysis.statistics import Estimate
from towtank.analysis.study import summarize_study

__all__ = [
    "Compared",
    "Diagnoses",
    "Diagnosis",
    "Difference",
    "Estimate",
    "Finding",
    "Judged",
    "Judgement",
    "Level",
    "Side",
    "baseline",
    "compact",
    "compare",
    "diagnoses_of",
    "drive_document",
    "estimate_at",
    "gather",
    "is_scoped",
    "judge",
    "judge_all",
    "keep",
    "not_checked",
    "side_of",
    "summarize_run",
    "summarize_study",
]
