"""A study asks a question about a system under a workload, and plans the runs that answer it.

`model` defines the schema of study files and `checks` validates their content. `loading` reads a study with the system
and workload files that it names; `design` creates the list of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.claim_bounds import NumberBounds as NumberBounds
    from towtank.study.across import is_prediction_source as is_prediction_source
    from towtank.study.claim_checks import ALL_LEVELS as ALL_LEVELS
    from towtank.study.claim_holds import AtLevels as AtLevels
    from towtank.study.claim_holds import TrendDirection as TrendDirection
    from towtank.study.claim_holds import read_holds as read_holds
    from towtank.study.claim_metrics import EACH_NAME as EACH_NAME
    from towtank.study.claim_metrics import PER_LOAD as PER_LOAD
    from towtank.study.claim_metrics import read_metric as read_metric
    from towtank.study.claim_metrics import unit_of_metric as unit_of_metric
    from towtank.study.claims import DIFFERENCE_MEASURE as DIFFERENCE_MEASURE
    from towtank.study.claims import HIGHEST_MEASURE as HIGHEST_MEASURE
    from towtank.study.claims import RATIO_MEASURE as RATIO_MEASURE
    from towtank.study.claims import Claim as Claim
    from towtank.study.claims import CourseMeasure as CourseMeasure
    from towtank.study.claims import Measure as Measure
    from towtank.study.claims import PairMeasure as PairMeasure
    from towtank.study.claims import ValueMeasure as ValueMeasure
    from towtank.study.design import LOAD_FACTORS as LOAD_FACTORS
    from towtank.study.design import RunSpec as RunSpec
    from towtank.study.design import run_seed as run_seed
    from towtank.study.events import Event as Event
    from towtank.study.loading import load_study as load_study
    from towtank.study.loading import study_path as study_path
    from towtank.study.model import FindLimit as FindLimit
    from towtank.study.model import Limits as Limits
    from towtank.study.model import PinnedCpus as PinnedCpus
    from towtank.study.model import Stages as Stages
    from towtank.study.model import StudyFile as StudyFile
    from towtank.study.model import Trace as Trace
    from towtank.study.named_files import has_paths_beside as has_paths_beside
    from towtank.study.named_files import refuse_named_outside as refuse_named_outside
    from towtank.study.objectives import LOSS_METRIC as LOSS_METRIC
    from towtank.study.objectives import PLANNED_METRICS as PLANNED_METRICS
    from towtank.study.objectives import WAIT_METRIC as WAIT_METRIC
    from towtank.study.objectives import Objective as Objective
    from towtank.study.objectives import read_objective as read_objective
    from towtank.study.objectives import read_planned_objective as read_planned_objective
    from towtank.study.precise import SteadyUntil as SteadyUntil
    from towtank.study.search import StepUp as StepUp
    from towtank.study.search import load_amount as load_amount
    from towtank.study.search_stages import DECIDE_STAGE as DECIDE_STAGE
    from towtank.study.search_stages import RELIEVE_SHARE as RELIEVE_SHARE
    from towtank.study.search_stages import RELIEVE_STAGE as RELIEVE_STAGE
    from towtank.study.search_stages import plateau_stages as plateau_stages
    from towtank.study.search_stages import stages_after_search as stages_after_search
    from towtank.study.settle import SettleUntil as SettleUntil
    from towtank.study.shares import Pilot as Pilot
    from towtank.study.shares import PilotResult as PilotResult
    from towtank.study.shipping import find_shipped as find_shipped
    from towtank.study.shipping import shipped_studies as shipped_studies
    from towtank.study.starter import Starter as Starter
    from towtank.study.starter import StarterOptions as StarterOptions
    from towtank.study.starter import starter_of as starter_of
    from towtank.study.starter import write_starter as write_starter
    from towtank.study.study import Study as Study
    from towtank.study.systems import find_system as find_system
    from towtank.study.systems import needed_packages as needed_packages
    from towtank.study.systems import refuse_files_outside as refuse_files_outside
    from towtank.study.traces import RateCurve as RateCurve
    from towtank.study.traces import read_trace as read_trace
    from towtank.study.until import StageUntil as StageUntil
    from towtank.study.until import longest_stage_s as longest_stage_s

__getattr__, __dir__ = door(
    __name__,
    {
        "across": "is_prediction_source",
        "claim_checks": "ALL_LEVELS",
        "claim_holds": "AtLevels NumberBounds TrendDirection read_holds",
        "claim_metrics": "EACH_NAME PER_LOAD read_metric unit_of_metric",
        "claims": (
            "Claim CourseMeasure DIFFERENCE_MEASURE HIGHEST_MEASURE Measure PairMeasure RATIO_MEASURE ValueMeasure"
        ),
        "design": "LOAD_FACTORS RunSpec run_seed",
        "events": "Event",
        "loading": "load_study study_path",
        "model": "FindLimit Limits PinnedCpus Stages StudyFile Trace",
        "named_files": "has_paths_beside refuse_named_outside",
        "objectives": "LOSS_METRIC Objective PLANNED_METRICS WAIT_METRIC read_objective read_planned_objective",
        "precise": "SteadyUntil",
        "search": "StepUp load_amount",
        "search_stages": "DECIDE_STAGE RELIEVE_SHARE RELIEVE_STAGE plateau_stages stages_after_search",
        "settle": "SettleUntil",
        "shares": "Pilot PilotResult",
        "shipping": "find_shipped shipped_studies",
        "starter": "Starter StarterOptions starter_of write_starter",
        "study": "Study",
        "systems": "find_system needed_packages refuse_files_outside",
        "traces": "RateCurve read_trace",
        "until": "StageUntil longest_stage_s",
    },
)
