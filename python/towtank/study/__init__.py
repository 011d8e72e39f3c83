"""A study asks a question about a system under a workload, and plans the runs that answer it.

`model` defines the schema of study files and `checks` validates their content. `loading` reads a study with the system
and workload files that it names; `design` creates the list of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.claim_bounds import NumberBounds
    from towtank.study.across import is_prediction_source
    from towtank.study.claim_checks import ALL_LEVELS
    from towtank.study.claim_holds import AtLevels, TrendDirection, read_holds
    from towtank.study.claim_metrics import EACH_NAME, PER_LOAD, read_metric, unit_of_metric
    from towtank.study.claims import (
        DIFFERENCE_MEASURE,
        HIGHEST_MEASURE,
        RATIO_MEASURE,
        Claim,
        CourseMeasure,
        Measure,
        PairMeasure,
        ValueMeasure,
    )
    from towtank.study.design import LOAD_FACTORS, RunSpec, run_seed
    from towtank.study.events import Event
    from towtank.study.loading import load_study, study_path
    from towtank.study.model import FindLimit, Limits, PinnedCpus, Stages, StudyFile, Trace
    from towtank.study.named_files import has_paths_beside, refuse_named_outside
    from towtank.study.objectives import (
        LOSS_METRIC,
        PLANNED_METRICS,
        WAIT_METRIC,
        Objective,
        read_objective,
        read_planned_objective,
    )
    from towtank.study.precise import SteadyUntil
    from towtank.study.search import StepUp, load_amount
    from towtank.study.search_stages import (
        DECIDE_STAGE,
        RELIEVE_SHARE,
        RELIEVE_STAGE,
        plateau_stages,
        stages_after_search,
    )
    from towtank.study.settle import SettleUntil
    from towtank.study.shares import Pilot, PilotResult
    from towtank.study.shipping import find_shipped, shipped_studies
    from towtank.study.starter import Starter, StarterOptions, starter_of, write_starter
    from towtank.study.study import Study
    from towtank.study.systems import find_system, needed_packages, refuse_files_outside
    from towtank.study.traces import RateCurve, read_trace
    from towtank.study.until import StageUntil, longest_stage_s

__getattr__, __dir__ = door(__name__)
