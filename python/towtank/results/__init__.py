"""Stores results in folders on disk: a run of a study writes the folders, and the analysis reads them.

`folder` creates and opens the folders of a study and its runs, `lines` reads and writes the checksummed lines of
every recorded stream, and `segments` reads the records of the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.results.exports import EXPORT_FORMATS, find_format
    from towtank.results.exports.format import ExportFile, ExportFormat, ExportOptions
    from towtank.results.exports.material import DecodedHistogram, HistogramReader, Material, RunMaterial
    from towtank.results.exports.otlp_points import PointSpan, otlp_gauge, otlp_request
    from towtank.results.exports.otlp_seconds import otlp_points_of, otlp_resource_of
    from towtank.results.exports.otlp_sending import otlp_address
    from towtank.results.exports.seconds import RecordedSecond, SecondItem, combine_second, recorded_names
    from towtank.results.folder import (
        EVENTS_FILE,
        RUN_MANIFEST,
        SECRETS_FILE,
        SECRETS_SCHEMA,
        STUDY_MANIFEST,
        ResultsFolder,
        RunFolder,
        keep_json,
        offer_json,
        write_json,
    )
    from towtank.results.following import Follower
    from towtank.results.lines import Damage, NewLines
    from towtank.results.long_runs import Shortening
    from towtank.results.manifests import EngineForm, RunManifest, TierForm, TotalsForm, read_object, usable_part
    from towtank.results.observe import (
        GENERATOR_GROUP,
        MEMBER_REQUESTS,
        NOT_ATTRIBUTED,
        PROBE_FILE,
        REMOTE_PROBE_ENDING,
        THIS_MACHINE,
        WATCHED_KIND,
        ConnectionSeries,
        ProbeStream,
        ServiceStream,
    )
    from towtank.results.recording import RecordedInterval, RecordedSeries, Recording, Stalled
    from towtank.results.segments import names_of, stages_of
    from towtank.results.stored import (
        ITEM_DIFFERENT,
        ITEM_FATES,
        ITEM_FOUND,
        ITEM_GONE,
        ITEM_LOST,
        ITEM_UNREAD,
        ITEM_UNREADABLE,
        STORED_NOTES,
        StoredItem,
        StoredLedger,
        read_ledger,
    )
    from towtank.results.stream_forms import RecordedStage, SampleForm, StoredNote, has_form
    from towtank.results.tables import INTERVALS_FILE, METRICS_FILE, Records, write_tables

__getattr__, __dir__ = door(__name__)
