"""Defines studies: a question, the system and workload under study, and the design of the runs.

`model` defines the content of a study file and `checks` its rules; `loading` reads a study with its system and
workload files; `design` creates the runs.
"""

from __future__ import annotations

from towtank.study.design import RunSpec
from towtank.study.loading import load_study, study_path
from towtank.study.shipping import find_shipped, shipped
from towtank.study.starter import Starter, StarterOptions, starter, write_starter
from towtank.study.study import Study

__all__ = [
    "RunSpec",
    "Starter",
    "StarterOptions",
    "Study",
    "find_shipped",
    "load_study",
    "shipped",
    "starter",
    "study_path",
    "write_starter",
]
