"""Analyses recorded runs: tests for a steady state, estimates with intervals, operational laws, verdicts.

`summarize_run` analyses one run folder, and `summarize_study` all runs of a study. `drive_document` makes the output of
`towtank drive`. `diagnoses_of` finds what limits the system. `gather` collects the data of an export. `judge` gives a
verdict on a result of another tool. `side_of` reads a set of runs, and `compare` compares two sets. All of these
functions accept incomplete data and report missing data.
`docs/background/architecture.md` describes the packages in this folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.analysis.compaction import compact as compact
    from towtank.analysis.comparing import AtLoad as AtLoad
    from towtank.analysis.comparing import Compared as Compared
    from towtank.analysis.comparing import Difference as Difference
    from towtank.analysis.comparing import Finding as Finding
    from towtank.analysis.comparing import Side as Side
    from towtank.analysis.comparing import baseline as baseline
    from towtank.analysis.comparing import compare as compare
    from towtank.analysis.comparing import keep as keep
    from towtank.analysis.comparing import side_of as side_of
    from towtank.analysis.deciding import OpenQuestion as OpenQuestion
    from towtank.analysis.deciding import open_questions as open_questions
    from towtank.analysis.diagnoses import Diagnoses as Diagnoses
    from towtank.analysis.diagnoses import diagnoses_of as diagnoses_of
    from towtank.analysis.diagnosis import Diagnosis as Diagnosis
    from towtank.analysis.doubts import Level as Level
    from towtank.analysis.doubts import not_checked as not_checked
    from towtank.analysis.drive import drive_document as drive_document
    from towtank.analysis.exporting import gather as gather
    from towtank.analysis.judgement import Judged as Judged
    from towtank.analysis.judgement import Judgement as Judgement
    from towtank.analysis.judgement import judge as judge
    from towtank.analysis.judgement import judge_all as judge_all
    from towtank.analysis.objective_scopes import is_scoped as is_scoped
    from towtank.analysis.objectives import estimate_at as estimate_at
    from towtank.analysis.relaxed_limits import relaxed_words as relaxed_words
    from towtank.analysis.run import summarize_run as summarize_run
    from towtank.analysis.statistics import Estimate as Estimate
    from towtank.analysis.study import summarize_study as summarize_study

__getattr__, __dir__ = door(
    __name__,
    {
        "compaction": "compact",
        "diagnoses": "Diagnoses diagnoses_of",
        "diagnosis": "Diagnosis",
        "doubts": "Level not_checked",
        "drive": "drive_document",
        "exporting": "gather",
        "run": "summarize_run",
        "study": "summarize_study",
        "deciding": "OpenQuestion open_questions",
        "judgement": "Judged Judgement judge judge_all",
        "statistics": "Estimate",
        "comparing": "AtLoad Compared Difference Finding Side baseline compare keep side_of",
        "objective_scopes": "is_scoped",
        "objectives": "estimate_at",
        "relaxed_limits": "relaxed_words",
    },
)
