"""Workload files: read, checked and compiled for the engine.

`model` and `steps` define the content of a file, `checks` and `scope` check the rules of the content,
`compiling` writes the workload part of a plan, and `targets` refuses addresses that the user has not
permitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.workload.compiling import compile_workload as compile_workload
    from towtank.workload.loading import Workload as Workload
    from towtank.workload.loading import check_workload as check_workload
    from towtank.workload.loading import load_workload as load_workload
    from towtank.workload.targets import check_targets as check_targets

__getattr__, __dir__ = door(
    __name__,
    {
        "compiling": "compile_workload",
        "loading": "Workload check_workload load_workload",
        "targets": "check_targets",
    },
)
