"""Reads, checks and compiles workload files for the engine.

`model` and `steps` define the schema of a file, `checks` and `scope` check its content. `compiling` writes the workload
part of a plan, and `targets` refuses addresses that the user has not permitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.workload.compiling import compile_workload
    from towtank.workload.importers import IMPORT_FORMATS, ImportOptions, read_import
    from towtank.workload.importers.accesslog.lines import is_access_log, read_access_log
    from towtank.workload.importers.draft import ImportDraft, ImportNotes, identifier, url_address
    from towtank.workload.importers.multipart import multipart_params
    from towtank.workload.importers.writing import ImportResult, finish_import, import_document, import_note_lines
    from towtank.workload.loading import Workload, check_workload, check_workload_as_written, load_workload
    from towtank.workload.model import Group, WorkloadFile
    from towtank.workload.ownheaders import owned_header
    from towtank.workload.reading_back import read_back_workload
    from towtank.workload.target_choice import target_faults, targets_of_workload
    from towtank.workload.targets import (
        check_targets,
        host_and_port,
        is_numeric_address,
        login_in_addresses,
        numeric_address,
        pinned_plan,
        target_with_fallbacks,
    )

__getattr__, __dir__ = door(__name__)
