"""Queueing-network models of a system. They are read from files and solved by the engine. The package `fitting` fits
models to measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.model.caching import CachedIndex as CachedIndex
    from towtank.model.caching import CacheDisk as CacheDisk
    from towtank.model.caching import CacheRequest as CacheRequest
    from towtank.model.caching import index_document as index_document
    from towtank.model.caching import trace_document as trace_document
    from towtank.model.caching import zipf_document as zipf_document
    from towtank.model.caching.answer import BytesPoint as BytesPoint
    from towtank.model.caching.answer import CacheAnswer as CacheAnswer
    from towtank.model.caching.answer import CachedIndexAnswer as CachedIndexAnswer
    from towtank.model.caching.answer import CacheLimit as CacheLimit
    from towtank.model.caching.answer import CachePoint as CachePoint
    from towtank.model.caching.answer import DiskLoad as DiskLoad
    from towtank.model.caching.answer import EntriesPoint as EntriesPoint
    from towtank.model.caching.answer import Sampling as Sampling
    from towtank.model.caching.answer import SkewRow as SkewRow
    from towtank.model.caching.answer import TraceAnswer as TraceAnswer
    from towtank.model.engine_model import EngineModel as EngineModel
    from towtank.model.engine_model import JobClass as JobClass
    from towtank.model.engine_model import Pool as Pool
    from towtank.model.engine_model import Service as Service
    from towtank.model.engine_model import Station as Station
    from towtank.model.file import FittedFile as FittedFile
    from towtank.model.file import ModelCount as ModelCount
    from towtank.model.file import ModelFile as ModelFile
    from towtank.model.fitting import CurveAnswer as CurveAnswer
    from towtank.model.fitting import FitRequest as FitRequest
    from towtank.model.fitting import PointColumns as PointColumns
    from towtank.model.fitting import demands_document as demands_document
    from towtank.model.fitting import fit_results as fit_results
    from towtank.model.fitting import is_results as is_results
    from towtank.model.fitting import written_model as written_model
    from towtank.model.fitting.across import PREDICTION_FILE as PREDICTION_FILE
    from towtank.model.fitting.across import write_prediction as write_prediction
    from towtank.model.fitting.asking import fit_source as fit_source
    from towtank.model.fitting.asking import misplaced_options as misplaced_options
    from towtank.model.fitting.asking import no_such_configuration as no_such_configuration
    from towtank.model.fitting.asking import only_answer as only_answer
    from towtank.model.fitting.asking import why_no_source as why_no_source
    from towtank.model.fitting.capacity import capacity_document as capacity_document
    from towtank.model.fitting.capacity import curve_grid as curve_grid
    from towtank.model.fitting.documents import shown_candidate as shown_candidate
    from towtank.model.fitting.goodness import FIT_REJECTED as FIT_REJECTED
    from towtank.model.fitting.goodness import MISS_LIMIT as MISS_LIMIT
    from towtank.model.fitting.held_out import held_out_error_interval as held_out_error_interval
    from towtank.model.fitting.held_out import worst_held_out_row as worst_held_out_row
    from towtank.model.fitting.measured_limit import LIMIT_ASSERTED as LIMIT_ASSERTED
    from towtank.model.fitting.measured_limit import LIMIT_NONE as LIMIT_NONE
    from towtank.model.fitting.measured_limit import LIMIT_OTHER as LIMIT_OTHER
    from towtank.model.fitting.networks import NETWORK_SCHEMA as NETWORK_SCHEMA
    from towtank.model.fitting.networks import NetworkAnswer as NetworkAnswer
    from towtank.model.fitting.networks import network_answers as network_answers
    from towtank.model.fitting.networks import network_text as network_text
    from towtank.model.fitting.networks import written_network as written_network
    from towtank.model.fitting.prediction import predict_curve as predict_curve
    from towtank.model.fitting.selection import CurveCandidate as CurveCandidate
    from towtank.model.fitting.shape import BELOW_LINE as BELOW_LINE
    from towtank.model.loading import ModelProblem as ModelProblem
    from towtank.model.loading import check_model as check_model
    from towtank.model.loading import load_model as load_model
    from towtank.model.percentiles import EXACT_PERCENTILES as EXACT_PERCENTILES
    from towtank.model.percentiles import response_percentiles as response_percentiles
    from towtank.model.simulating import SimulationSettings as SimulationSettings
    from towtank.model.simulating import simulate_models as simulate_models
    from towtank.model.solved import ComparedNetworks as ComparedNetworks
    from towtank.model.solved import Ends as Ends
    from towtank.model.solved import Range as Range
    from towtank.model.solved import SolvedClass as SolvedClass
    from towtank.model.solved import SolvedNetwork as SolvedNetwork
    from towtank.model.solved import SolvedOutcome as SolvedOutcome
    from towtank.model.solved import SolvedPart as SolvedPart
    from towtank.model.solved import SolvedPool as SolvedPool
    from towtank.model.solved import SolvedStation as SolvedStation
    from towtank.model.solved import SolvedTransaction as SolvedTransaction
    from towtank.model.solving import SOLVING_METHODS as SOLVING_METHODS
    from towtank.model.solving import solve_models as solve_models
    from towtank.model.stations import NODE_SEPARATOR as NODE_SEPARATOR
    from towtank.model.stations import StationAnswer as StationAnswer
    from towtank.model.stations import rates_with_servers as rates_with_servers
    from towtank.model.stations import servers_of as servers_of
    from towtank.model.stations import stations_of as stations_of
    from towtank.model.variants import ModelPoint as ModelPoint
    from towtank.model.variants import checked_simulation_settings as checked_simulation_settings
    from towtank.model.variants import simulate_variants as simulate_variants
    from towtank.model.variants import solve_points as solve_points
    from towtank.model.waiting import wait_percentiles as wait_percentiles
    from towtank.model.waiting import waits_in_turn as waits_in_turn

__getattr__, __dir__ = door(
    __name__,
    {
        "caching": "CacheDisk CacheRequest CachedIndex index_document trace_document zipf_document",
        "caching.answer": (
            "BytesPoint CacheAnswer CacheLimit CachePoint CachedIndexAnswer DiskLoad EntriesPoint Sampling SkewRow "
            "TraceAnswer"
        ),
        "engine_model": "EngineModel JobClass Pool Service Station",
        "file": "FittedFile ModelCount ModelFile",
        "fitting": "CurveAnswer FitRequest PointColumns demands_document fit_results is_results written_model",
        "fitting.across": "PREDICTION_FILE write_prediction",
        "fitting.asking": "fit_source misplaced_options no_such_configuration only_answer why_no_source",
        "fitting.capacity": "capacity_document curve_grid",
        "fitting.documents": "shown_candidate",
        "fitting.goodness": "FIT_REJECTED MISS_LIMIT",
        "fitting.held_out": "held_out_error_interval worst_held_out_row",
        "fitting.measured_limit": "LIMIT_ASSERTED LIMIT_NONE LIMIT_OTHER",
        "fitting.networks": "NETWORK_SCHEMA NetworkAnswer network_answers network_text written_network",
        "fitting.prediction": "predict_curve",
        "fitting.selection": "CurveCandidate",
        "fitting.shape": "BELOW_LINE",
        "loading": "ModelProblem check_model load_model",
        "percentiles": "EXACT_PERCENTILES response_percentiles",
        "simulating": "SimulationSettings simulate_models",
        "solved": (
            "ComparedNetworks Ends Range SolvedClass SolvedNetwork SolvedOutcome SolvedPart SolvedPool SolvedStation "
            "SolvedTransaction"
        ),
        "solving": "SOLVING_METHODS solve_models",
        "stations": "NODE_SEPARATOR StationAnswer rates_with_servers servers_of stations_of",
        "variants": "ModelPoint checked_simulation_settings simulate_variants solve_points",
        "waiting": "wait_percentiles waits_in_turn",
    },
)
