"""What virtual users do: workload files, read, checked and compiled for the engine.

`model` and `steps` say what a file holds, `checks` and `scope` what it must mean, `compiling` turns it into the
workload part of a plan, `targets` refuses addresses that nobody allowed to load.
"""

from __future__ import annotations

from towtank.workload.compiling import compile_workload
from towtank.workload.loading import Workload, check_workload, load_workload
from towtank.workload.targets import check_targets

__all__ = ["Workload", "check_targets", "check_workload", "compile_workload", "load_workload"]
