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
    from towtank.analysis.audit.auditing import Audit
    from towtank.analysis.audit.check import AuditTest
    from towtank.analysis.checks.machine import NOT_ATTRIBUTED_SHARE
    from towtank.analysis.checks.storage import throttled_disks
    from towtank.analysis.claims.verdicts import ClaimVerdict, JudgedClaims
    from towtank.analysis.clear_miss import MISS_METRICS, miss_tests
    from towtank.analysis.compaction import compact
    from towtank.analysis.comparing import (
        AtLoad,
        Compared,
        Finding,
        Side,
        compare,
        keep_baseline,
        read_baseline,
        side_of,
    )
    from towtank.analysis.connections import Connections, ConnectionTimes, Waits
    from towtank.analysis.deciding import OpenQuestion, open_questions
    from towtank.analysis.diagnoses import Diagnoses, diagnoses_of
    from towtank.analysis.diagnosis import Cause, Diagnosis, Place
    from towtank.analysis.doubts import DoubtKind, DoubtLevel, percent_text
    from towtank.analysis.drive import drive_document
    from towtank.analysis.exporting import MaterialReader, gather
    from towtank.analysis.factorial import EffectsOnMetric
    from towtank.analysis.failed_exchanges import FailedExchange, read_exchanges
    from towtank.analysis.history import History, Series, history_of
    from towtank.analysis.ideal import share_of_ideal
    from towtank.analysis.judgement import Judged, Judgement, judge_file, judge_files
    from towtank.analysis.laws import Accounting, Little, UtilizationLaw
    from towtank.analysis.limits.found import conclude_search, search_of_run
    from towtank.analysis.limits.plateaus import Plateau, PlateauRules, judge_plateau
    from towtank.analysis.limits.search import (
        PLATEAUS_AT_MOST,
        PlateauFailure,
        PlateauOutcome,
        SearchDecision,
        SearchEnd,
        decide_search,
        search_levels,
        search_plan_of,
    )
    from towtank.analysis.load_point import CpuUse, FoundLimit, LoadPoint, TierAtLoad, TransactionAtLoad
    from towtank.analysis.measurement import DRAIN_STAGE, MeasuredColumn, Measurement
    from towtank.analysis.missing_checks import not_checked
    from towtank.analysis.objective import Objective, is_scoped
    from towtank.analysis.objective_runs import FAR_FROM_LIMIT
    from towtank.analysis.objectives import estimate_at
    from towtank.analysis.recovery import EventResult, Losses
    from towtank.analysis.relaxed_limits import relaxed_words
    from towtank.analysis.run import RunData, read_run, summarize_run
    from towtank.analysis.run_summary import NotChecked, RunSummary
    from towtank.analysis.run_summary_forms import DatabaseWork, IndexAdvice, SqlStatement
    from towtank.analysis.service_logs import LogGroup
    from towtank.analysis.statistics import looks_independent, ratio_interval, standard_error_of
    from towtank.analysis.statistics.batches import lag_one
    from towtank.analysis.statistics.change_points import change_points
    from towtank.analysis.statistics.estimates import (
        CONFIDENCE,
        NO_ESTIMATE,
        Estimate,
        estimate_from_document,
        estimate_of,
    )
    from towtank.analysis.stored_summary import readable_summary
    from towtank.analysis.study import (
        SET_ASIDE_SUFFIX,
        STUDY_SUMMARY_FILE,
        describe_study,
        summaries_of,
        summarize_study,
    )
    from towtank.analysis.study_summary import (
        Comparison,
        Configuration,
        DoubtOfRuns,
        ObjectiveAnswer,
        StudySummary,
        configurations_of,
    )
    from towtank.analysis.system.disks import disks_counted_once
    from towtank.analysis.system.entries import NO_METRIC, DiskUse, HostUse, MachineUse, Metric, TierUse
    from towtank.analysis.system.pace import memory_differs
    from towtank.analysis.system.spread import Spread
    from towtank.analysis.system.storage import Mount
    from towtank.analysis.windows.precision import Precision
    from towtank.analysis.windows.settling import Settling, SteadySeconds
    from towtank.analysis.windows.stretch import STEADY_PHASE

__getattr__, __dir__ = door(__name__)
