"""Analyses recorded runs: tests for a steady state, estimates with intervals, operational laws, verdicts.

`summarize_run` analyses one run folder, and `summarize_study` all runs of a study. `drive_document` makes the output of
`towtank drive`. `diagnoses_of` finds what limits the system. `gather` collects the data of an export. `judge_file`
gives a verdict on a result of another tool. `side_of` reads a set of runs, and `compare` compares two sets. All of
these functions accept incomplete data and report missing data.
`docs/background/architecture.md` describes the packages in this folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.analysis.audit.auditing import Audit as Audit
    from towtank.analysis.audit.check import AuditTest as AuditTest
    from towtank.analysis.checks.machine import NOT_ATTRIBUTED_SHARE as NOT_ATTRIBUTED_SHARE
    from towtank.analysis.checks.storage import throttled_disks as throttled_disks
    from towtank.analysis.clear_miss import MISS_METRICS as MISS_METRICS
    from towtank.analysis.clear_miss import miss_tests as miss_tests
    from towtank.analysis.compaction import compact as compact
    from towtank.analysis.comparing import AtLoad as AtLoad
    from towtank.analysis.comparing import Compared as Compared
    from towtank.analysis.comparing import Difference as Difference
    from towtank.analysis.comparing import Finding as Finding
    from towtank.analysis.comparing import Side as Side
    from towtank.analysis.comparing import compare as compare
    from towtank.analysis.comparing import keep_baseline as keep_baseline
    from towtank.analysis.comparing import read_baseline as read_baseline
    from towtank.analysis.comparing import side_of as side_of
    from towtank.analysis.connections import ConnectionTimes as ConnectionTimes
    from towtank.analysis.connections import Waits as Waits
    from towtank.analysis.deciding import OpenQuestion as OpenQuestion
    from towtank.analysis.deciding import open_questions as open_questions
    from towtank.analysis.diagnoses import Diagnoses as Diagnoses
    from towtank.analysis.diagnoses import diagnoses_of as diagnoses_of
    from towtank.analysis.diagnosis import Cause as Cause
    from towtank.analysis.diagnosis import Diagnosis as Diagnosis
    from towtank.analysis.diagnosis import Place as Place
    from towtank.analysis.doubts import DoubtKind as DoubtKind
    from towtank.analysis.doubts import DoubtLevel as DoubtLevel
    from towtank.analysis.doubts import percent_text as percent_text
    from towtank.analysis.drive import drive_document as drive_document
    from towtank.analysis.exporting import MaterialReader as MaterialReader
    from towtank.analysis.exporting import gather as gather
    from towtank.analysis.failed_exchanges import FailedExchange as FailedExchange
    from towtank.analysis.failed_exchanges import read_exchanges as read_exchanges
    from towtank.analysis.history import History as History
    from towtank.analysis.history import Series as Series
    from towtank.analysis.history import history_of as history_of
    from towtank.analysis.ideal import share_of_ideal as share_of_ideal
    from towtank.analysis.judgement import Judged as Judged
    from towtank.analysis.judgement import Judgement as Judgement
    from towtank.analysis.judgement import judge_file as judge_file
    from towtank.analysis.judgement import judge_files as judge_files
    from towtank.analysis.limits.found import conclude_search as conclude_search
    from towtank.analysis.limits.found import search_of_run as search_of_run
    from towtank.analysis.limits.plateaus import Plateau as Plateau
    from towtank.analysis.limits.plateaus import PlateauRules as PlateauRules
    from towtank.analysis.limits.plateaus import judge_plateau as judge_plateau
    from towtank.analysis.limits.search import PLATEAUS_AT_MOST as PLATEAUS_AT_MOST
    from towtank.analysis.limits.search import PlateauFailure as PlateauFailure
    from towtank.analysis.limits.search import PlateauOutcome as PlateauOutcome
    from towtank.analysis.limits.search import SearchDecision as SearchDecision
    from towtank.analysis.limits.search import SearchEnd as SearchEnd
    from towtank.analysis.limits.search import decide_search as decide_search
    from towtank.analysis.limits.search import search_levels as search_levels
    from towtank.analysis.limits.search import search_plan_of as search_plan_of
    from towtank.analysis.load_point import FoundLimit as FoundLimit
    from towtank.analysis.load_point import LoadPoint as LoadPoint
    from towtank.analysis.load_point import TierAtLoad as TierAtLoad
    from towtank.analysis.load_point import TransactionAtLoad as TransactionAtLoad
    from towtank.analysis.measurement import DRAIN_STAGE as DRAIN_STAGE
    from towtank.analysis.measurement import MeasuredColumn as MeasuredColumn
    from towtank.analysis.measurement import Measurement as Measurement
    from towtank.analysis.missing_checks import not_checked as not_checked
    from towtank.analysis.objective import is_scoped as is_scoped
    from towtank.analysis.objective_runs import FAR_FROM_LIMIT as FAR_FROM_LIMIT
    from towtank.analysis.objectives import estimate_at as estimate_at
    from towtank.analysis.objectives import metric_of_objective as metric_of_objective
    from towtank.analysis.recovery import EventResult as EventResult
    from towtank.analysis.recovery import Losses as Losses
    from towtank.analysis.relaxed_limits import relaxed_words as relaxed_words
    from towtank.analysis.run import RunData as RunData
    from towtank.analysis.run import read_run as read_run
    from towtank.analysis.run import summarize_run as summarize_run
    from towtank.analysis.run_summary import RunSummary as RunSummary
    from towtank.analysis.service_logs import LogGroup as LogGroup
    from towtank.analysis.statistics import looks_independent as looks_independent
    from towtank.analysis.statistics import ratio_interval as ratio_interval
    from towtank.analysis.statistics import standard_error_of as standard_error_of
    from towtank.analysis.statistics.batches import lag_one as lag_one
    from towtank.analysis.statistics.change_points import change_points as change_points
    from towtank.analysis.statistics.estimates import CONFIDENCE as CONFIDENCE
    from towtank.analysis.statistics.estimates import NO_ESTIMATE as NO_ESTIMATE
    from towtank.analysis.statistics.estimates import Estimate as Estimate
    from towtank.analysis.statistics.estimates import estimate_from_document as estimate_from_document
    from towtank.analysis.statistics.estimates import estimate_of as estimate_of
    from towtank.analysis.study import SET_ASIDE_SUFFIX as SET_ASIDE_SUFFIX
    from towtank.analysis.study import STUDY_SUMMARY_FILE as STUDY_SUMMARY_FILE
    from towtank.analysis.study import describe_study as describe_study
    from towtank.analysis.study import summaries_of as summaries_of
    from towtank.analysis.study import summarize_study as summarize_study
    from towtank.analysis.study_summary import Comparison as Comparison
    from towtank.analysis.study_summary import Configuration as Configuration
    from towtank.analysis.study_summary import ObjectiveAnswer as ObjectiveAnswer
    from towtank.analysis.study_summary import StudySummary as StudySummary
    from towtank.analysis.study_summary import configurations_of as configurations_of
    from towtank.analysis.system.disks import disks_counted_once as disks_counted_once
    from towtank.analysis.system.entries import NO_METRIC as NO_METRIC
    from towtank.analysis.system.entries import HostUse as HostUse
    from towtank.analysis.system.entries import Metric as Metric
    from towtank.analysis.system.spread import Spread as Spread
    from towtank.analysis.system.storage import Mount as Mount
    from towtank.analysis.windows.precision import Precision as Precision
    from towtank.analysis.windows.settling import Settling as Settling
    from towtank.analysis.windows.settling import SteadySeconds as SteadySeconds
    from towtank.analysis.windows.stretch import STEADY_PHASE as STEADY_PHASE

__getattr__, __dir__ = door(
    __name__,
    {
        "audit.auditing": "Audit",
        "audit.check": "AuditTest",
        "checks.machine": "NOT_ATTRIBUTED_SHARE",
        "checks.storage": "throttled_disks",
        "clear_miss": "MISS_METRICS miss_tests",
        "compaction": "compact",
        "comparing": "AtLoad Compared Difference Finding Side compare keep_baseline read_baseline side_of",
        "connections": "ConnectionTimes Waits",
        "deciding": "OpenQuestion open_questions",
        "diagnoses": "Diagnoses diagnoses_of",
        "diagnosis": "Cause Diagnosis Place",
        "doubts": "DoubtKind DoubtLevel percent_text",
        "drive": "drive_document",
        "exporting": "MaterialReader gather",
        "failed_exchanges": "FailedExchange read_exchanges",
        "ideal": "share_of_ideal",
        "history": "History Series history_of",
        "judgement": "Judged Judgement judge_file judge_files",
        "limits.found": "conclude_search search_of_run",
        "limits.plateaus": "Plateau PlateauRules judge_plateau",
        "limits.search": (
            "PLATEAUS_AT_MOST PlateauFailure PlateauOutcome SearchDecision SearchEnd decide_search search_levels "
            "search_plan_of"
        ),
        "load_point": "FoundLimit LoadPoint TierAtLoad TransactionAtLoad",
        "measurement": "DRAIN_STAGE MeasuredColumn Measurement",
        "missing_checks": "not_checked",
        "objective": "is_scoped",
        "objective_runs": "FAR_FROM_LIMIT",
        "objectives": "estimate_at metric_of_objective",
        "recovery": "EventResult Losses",
        "relaxed_limits": "relaxed_words",
        "run": "RunData read_run summarize_run",
        "run_summary": "RunSummary",
        "service_logs": "LogGroup",
        "statistics": "looks_independent ratio_interval standard_error_of",
        "statistics.batches": "lag_one",
        "statistics.change_points": "change_points",
        "statistics.estimates": "CONFIDENCE Estimate NO_ESTIMATE estimate_from_document estimate_of",
        "study": "SET_ASIDE_SUFFIX STUDY_SUMMARY_FILE describe_study summaries_of summarize_study",
        "study_summary": "Comparison Configuration ObjectiveAnswer StudySummary configurations_of",
        "system.disks": "disks_counted_once",
        "system.entries": "HostUse Metric NO_METRIC",
        "system.storage": "Mount",
        "system.spread": "Spread",
        "windows.precision": "Precision",
        "windows.settling": "Settling SteadySeconds",
        "windows.stretch": "STEADY_PHASE",
    },
)
