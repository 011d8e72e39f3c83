"""Stores results in folders on disk: a run of a study writes the folders, and the analysis reads them.

`folder` creates and opens the folders of a study and its runs, `lines` reads and writes the checksummed lines of
every recorded stream, and `segments` reads the records of the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.results.exports import EXPORT_FORMATS as EXPORT_FORMATS
    from towtank.results.exports import find_format as find_format
    from towtank.results.exports.format import ExportFile as ExportFile
    from towtank.results.exports.format import ExportFormat as ExportFormat
    from towtank.results.exports.format import ExportOptions as ExportOptions
    from towtank.results.exports.material import DecodedHistogram as DecodedHistogram
    from towtank.results.exports.material import HistogramReader as HistogramReader
    from towtank.results.exports.material import Material as Material
    from towtank.results.exports.material import RunMaterial as RunMaterial
    from towtank.results.exports.otlp_points import PointSpan as PointSpan
    from towtank.results.exports.otlp_points import otlp_gauge as otlp_gauge
    from towtank.results.exports.otlp_points import otlp_request as otlp_request
    from towtank.results.exports.otlp_seconds import otlp_points_of as otlp_points_of
    from towtank.results.exports.otlp_seconds import otlp_resource_of as otlp_resource_of
    from towtank.results.exports.otlp_sending import otlp_address as otlp_address
    from towtank.results.exports.seconds import RecordedSecond as RecordedSecond
    from towtank.results.exports.seconds import SecondItem as SecondItem
    from towtank.results.exports.seconds import combine_second as combine_second
    from towtank.results.exports.seconds import recorded_names as recorded_names
    from towtank.results.folder import EVENTS_FILE as EVENTS_FILE
    from towtank.results.folder import RUN_MANIFEST as RUN_MANIFEST
    from towtank.results.folder import SECRETS_FILE as SECRETS_FILE
    from towtank.results.folder import SECRETS_SCHEMA as SECRETS_SCHEMA
    from towtank.results.folder import STUDY_MANIFEST as STUDY_MANIFEST
    from towtank.results.folder import ResultsFolder as ResultsFolder
    from towtank.results.folder import RunFolder as RunFolder
    from towtank.results.folder import keep_json as keep_json
    from towtank.results.folder import offer_json as offer_json
    from towtank.results.folder import write_json as write_json
    from towtank.results.following import Follower as Follower
    from towtank.results.lines import Damage as Damage
    from towtank.results.manifests import EngineForm as EngineForm
    from towtank.results.manifests import RunManifest as RunManifest
    from towtank.results.manifests import TotalsForm as TotalsForm
    from towtank.results.manifests import read_object as read_object
    from towtank.results.manifests import usable_part as usable_part
    from towtank.results.observe import GENERATOR_GROUP as GENERATOR_GROUP
    from towtank.results.observe import MEMBER_REQUESTS as MEMBER_REQUESTS
    from towtank.results.observe import NOT_ATTRIBUTED as NOT_ATTRIBUTED
    from towtank.results.observe import PROBE_FILE as PROBE_FILE
    from towtank.results.observe import REMOTE_PROBE_ENDING as REMOTE_PROBE_ENDING
    from towtank.results.observe import THIS_MACHINE as THIS_MACHINE
    from towtank.results.observe import WATCHED_KIND as WATCHED_KIND
    from towtank.results.observe import ConnectionSeries as ConnectionSeries
    from towtank.results.observe import ProbeStream as ProbeStream
    from towtank.results.observe import ServiceStream as ServiceStream
    from towtank.results.segments import RecordedInterval as RecordedInterval
    from towtank.results.segments import RecordedSeries as RecordedSeries
    from towtank.results.segments import Recording as Recording
    from towtank.results.segments import names_of as names_of
    from towtank.results.segments import stages_of as stages_of
    from towtank.results.stored import ITEM_DIFFERENT as ITEM_DIFFERENT
    from towtank.results.stored import ITEM_FATES as ITEM_FATES
    from towtank.results.stored import ITEM_FOUND as ITEM_FOUND
    from towtank.results.stored import ITEM_GONE as ITEM_GONE
    from towtank.results.stored import ITEM_LOST as ITEM_LOST
    from towtank.results.stored import ITEM_UNREAD as ITEM_UNREAD
    from towtank.results.stored import ITEM_UNREADABLE as ITEM_UNREADABLE
    from towtank.results.stored import STORED_NOTES as STORED_NOTES
    from towtank.results.stored import StoredItem as StoredItem
    from towtank.results.stored import StoredLedger as StoredLedger
    from towtank.results.stored import read_ledger as read_ledger
    from towtank.results.tables import INTERVALS_FILE as INTERVALS_FILE
    from towtank.results.tables import METRICS_FILE as METRICS_FILE
    from towtank.results.tables import write_tables as write_tables

__getattr__, __dir__ = door(
    __name__,
    {
        "exports": "EXPORT_FORMATS find_format",
        "exports.format": "ExportFile ExportFormat ExportOptions",
        "exports.material": "DecodedHistogram HistogramReader Material RunMaterial",
        "exports.otlp_points": "PointSpan otlp_gauge otlp_request",
        "exports.otlp_seconds": "otlp_points_of otlp_resource_of",
        "exports.otlp_sending": "otlp_address",
        "exports.seconds": "RecordedSecond SecondItem combine_second recorded_names",
        "folder": (
            "EVENTS_FILE RUN_MANIFEST ResultsFolder RunFolder SECRETS_FILE SECRETS_SCHEMA STUDY_MANIFEST keep_json "
            "offer_json write_json"
        ),
        "following": "Follower",
        "lines": "Damage",
        "manifests": "EngineForm RunManifest TotalsForm read_object usable_part",
        "observe": (
            "ConnectionSeries GENERATOR_GROUP MEMBER_REQUESTS NOT_ATTRIBUTED PROBE_FILE ProbeStream "
            "REMOTE_PROBE_ENDING ServiceStream THIS_MACHINE WATCHED_KIND"
        ),
        "segments": "RecordedInterval RecordedSeries Recording names_of stages_of",
        "stored": (
            "ITEM_DIFFERENT ITEM_FATES ITEM_FOUND ITEM_GONE ITEM_LOST ITEM_UNREAD ITEM_UNREADABLE STORED_NOTES "
            "StoredItem StoredLedger read_ledger"
        ),
        "tables": "INTERVALS_FILE METRICS_FILE write_tables",
    },
)
