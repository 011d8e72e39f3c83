"""Queueing-network models of a system. They are read from files and solved by the engine. The package `fitting` fits
models to measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.model.caching import (
        CachedIndex,
        CacheDisk,
        CacheRequest,
        index_document,
        trace_document,
        zipf_document,
    )
    from towtank.model.caching.answer import (
        BytesPoint,
        CacheAnswer,
        CachedIndexAnswer,
        CacheLimit,
        CachePoint,
        DiskLoad,
        EntriesPoint,
        Sampling,
        SkewRow,
        TraceAnswer,
    )
    from towtank.model.capacity_file import (
        BELOW_LINE,
        CapacityModel,
        CurveChoice,
        FitAssumption,
        FittedConfiguration,
        FittedKnee,
        FittedMix,
        FittedNetwork,
        FitTrust,
        HeldOutLevel,
        HeldOutResult,
        HeldOutUse,
        NetworkStation,
        NetworkTail,
        NetworkUse,
        PointOfFit,
        PredictedPoint,
    )
    from towtank.model.demand_file import (
        ConfigurationDemands,
        DemandsFile,
        ExcludedRun,
        FittedDemand,
        FittedValue,
        LoadDependence,
        TransactionDemand,
        TransactionDemands,
    )
    from towtank.model.engine_model import EngineModel, JobClass, Pool, Service, Station
    from towtank.model.file import FittedFile, ModelCount, ModelFile
    from towtank.model.fitting import (
        CurveAnswer,
        FitRequest,
        PointColumns,
        demands_document,
        fit_results,
        is_results,
        written_model,
    )
    from towtank.model.fitting.across import PREDICTION_FILE, write_prediction
    from towtank.model.fitting.asking import (
        fit_source,
        misplaced_options,
        no_such_configuration,
        only_answer,
        why_no_source,
    )
    from towtank.model.fitting.capacity import capacity_document, curve_grid
    from towtank.model.fitting.documents import shown_candidate
    from towtank.model.fitting.goodness import FIT_REJECTED, MISS_LIMIT
    from towtank.model.fitting.held_out import error_of_band
    from towtank.model.fitting.measured_limit import LIMIT_ASSERTED, LIMIT_NONE, LIMIT_OTHER
    from towtank.model.fitting.networks import (
        NETWORK_SCHEMA,
        NetworkAnswer,
        network_answers,
        network_text,
        written_network,
    )
    from towtank.model.fitting.prediction import predict_curve
    from towtank.model.fitting.selection import CurveCandidate
    from towtank.model.loading import ModelProblem, check_model, load_model
    from towtank.model.percentiles import EXACT_PERCENTILES, response_percentiles
    from towtank.model.prediction_file import PredictedBand, PredictedLoad, PredictionResult
    from towtank.model.simulating import SimulationSettings, simulate_models
    from towtank.model.solved import (
        ComparedNetworks,
        Ends,
        Range,
        SimulatedOutcome,
        SolvedClass,
        SolvedNetwork,
        SolvedOutcome,
        SolvedPart,
        SolvedPool,
        SolvedStation,
        SolvedTransaction,
    )
    from towtank.model.solving import SOLVING_METHODS, solve_models
    from towtank.model.stations import NODE_SEPARATOR, StationAnswer, rates_with_servers, servers_of, stations_of
    from towtank.model.variants import ModelPoint, checked_simulation_settings, simulate_variants, solve_points
    from towtank.model.waiting import wait_percentiles, waits_in_turn

__getattr__, __dir__ = door(__name__)
