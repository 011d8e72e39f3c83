"""Defines studies: a question, the system and workload under study, and the design of the runs.

`model` defines the content of a study file and `checks` its rules; `loading` reads a study with its system and
workload files; `design` creates the runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.study.design import RunSpec as RunSpec
    from towtank.study.loading import load_study as load_study
    from towtank.study.loading import study_path as study_path
    from towtank.study.shipping import find_shipped as find_shipped
    from towtank.study.shipping import shipped as shipped
    from towtank.study.starter import Starter as Starter
    from towtank.study.starter import StarterOptions as StarterOptions
    from towtank.study.starter import starter_of as starter_of
    from towtank.study.starter import write_starter as write_starter
    from towtank.study.study import Study as Study
    from towtank.study.systems import find_system as find_system
    from towtank.study.systems import needed as needed
    from towtank.study.systems import refuse_files_outside as refuse_files_outside
    from towtank.study.systems import systems_of as systems_of

__getattr__, __dir__ = door(
    __name__,
    {
        "design": "RunSpec",
        "loading": "load_study study_path",
        "shipping": "find_shipped shipped",
        "study": "Study",
        "starter": "StarterOptions Starter starter_of write_starter",
        "systems": "find_system needed refuse_files_outside systems_of",
    },
)
