"""Workload files: read, checked and compiled for the engine.

`model` and `steps` define the content of a file, `checks` and `scope` check the rules of the content,
`compiling` writes the workload part of a plan, and `targets` refuses addresses that the user has not
permitted.
"""

from __future__ import annotations

from towtank.workload.compiling import compile_workload
from towtank.workload.loading import Workload, check_workload, load_workload
from towtank.workload.targets import check_targets

__all__ = ["Workload", "check_targets", "check_workload", "compile_workload", "load_workload"]
