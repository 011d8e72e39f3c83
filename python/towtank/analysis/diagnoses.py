"""Finds what limits each configuration in the results folder of a study or of a drive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towtank.analysis.diagnosis import Diagnosis, diagnose_run
from towtank.analysis.run import kept_summary
from towtank.analysis.study import summarize_study
from towtank.analysis.study_summary import Configuration, configurations_of
from towtank.errors import StudyError
from towtank.results import RUN_MANIFEST, ResultsFolder, RunFolder

SCHEMA = "towtank/diagnosis/1"
_DRIVEN = "target"
"""Label that stands for the configuration of a run of `towtank drive`, which has no configurations."""


@dataclass(frozen=True)
class Diagnoses:
    """Diagnoses of what limits each configuration of a results folder.

    Attributes
    ----------
    by_label : mapping of str to Diagnosis
        Diagnoses by the label of the configuration. The configuration with the highest throughput is the first.
    """

    by_label: Mapping[str, Diagnosis]

    @classmethod
    def of(cls, configurations: Iterable[Configuration]) -> Diagnoses:
        """Return the diagnoses of all configurations, sorted by descending throughput."""
        best_first = sorted(configurations, key=_peak_per_s, reverse=True)
        return cls({each.label: each.diagnosis for each in best_first if each.diagnosis is not None})

    def only(self, label: str) -> Diagnoses:
        """Return the diagnosis of the configuration with the given label.

        Raises
        ------
        StudyError
            If no configuration has this label.
        """
        if label not in self.by_label:
            labels = ", ".join(map(repr, self.by_label))
            message = f"must be the label of a configuration, one of {labels}, got {label!r} instead"
            raise StudyError.at("command line", message, where="--configuration")
        return Diagnoses({label: self.by_label[label]})

    def document(self) -> Mapping[str, Any]:
        """Return the diagnosis of the first configuration as JSON. Its key `configurations` holds the diagnoses of all
        configurations.
        """
        found = [{"configuration": label, **each.document()} for label, each in self.by_label.items()]
        return {"schema": SCHEMA, **found[0], "configurations": found}


def _peak_per_s(configuration: Configuration) -> float:
    limit = configuration.limit
    return 0.0 if limit is None else float(limit.peak_throughput_per_s.value or 0.0)


def diagnoses_of(folder: Path) -> Diagnoses:
    """Read or compute the diagnoses of a results folder.

    Parameters
    ----------
    folder : Path
        Results folder of a study, or run folder of a drive.

    Raises
    ------
    StudyError
        If the folder is neither kind of folder, or contains no run.
    """
    if (folder / RUN_MANIFEST).is_file():
        return Diagnoses({_DRIVEN: diagnose_run(kept_summary(RunFolder(folder)))})
    found = Diagnoses.of(configurations_of(summarize_study(ResultsFolder.open(folder))))
    if not found.by_label:
        raise StudyError.at(folder, "must contain at least one run, got none")
    return found
