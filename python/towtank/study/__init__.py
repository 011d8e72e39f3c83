"""Studies: a question, the system and the workload it is asked of, and the design of the runs that answer it.

`model` says what a study file holds, `checks` what it must mean, `loading` reads it with the files it names, `design`
makes the runs.
"""

from __future__ import annotations

from towtank.study.design import RunSpec
from towtank.study.loading import load_study, study_path
from towtank.study.shipping import find_shipped, shipped
from towtank.study.study import Study

__all__ = ["RunSpec", "Study", "find_shipped", "load_study", "shipped", "study_path"]
