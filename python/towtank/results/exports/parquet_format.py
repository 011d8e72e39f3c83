"""Exports the two tables of every run as Parquet files.

Query engines can read the folders of all runs as one table, with an additional column `run`.
"""

from __future__ import annotations

from towtank.results import tables
from towtank.results.exports.format import ExportFile, ExportFormat
from towtank.results.exports.material import Material, RunMaterial


def _files(material: Material) -> list[ExportFile]:
    return [file for run in material.runs for file in _tables(material, run)]


def _tables(material: Material, run: RunMaterial) -> list[ExportFile]:
    describe = material.histograms.describe
    return [
        ExportFile(
            f"run={run.name}/{tables.INTERVALS_FILE}",
            lambda path: tables.write_intervals(path, run.recording(), describe),
        ),
        ExportFile(
            f"run={run.name}/{tables.METRICS_FILE}",
            lambda path: tables.write_metrics(path, tables.Records.read(run.folder, run.recording())),
        ),
    ]


FORMAT = ExportFormat(
    "parquet", "the recorded intervals and all observed metrics as tables", _files, needs_records=True
)
