"""Reads, checks and compiles workload files for the engine.

`model` and `steps` define the schema of a file, `checks` and `scope` check its content. `compiling` writes the workload
part of a plan, and `targets` refuses addresses that the user has not permitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.workload.compiling import compile_workload as compile_workload
    from towtank.workload.importers import IMPORT_FORMATS as IMPORT_FORMATS
    from towtank.workload.importers import ImportOptions as ImportOptions
    from towtank.workload.importers import read_import as read_import
    from towtank.workload.importers.accesslog.lines import is_access_log as is_access_log
    from towtank.workload.importers.accesslog.lines import read_access_log as read_access_log
    from towtank.workload.importers.draft import ImportDraft as ImportDraft
    from towtank.workload.importers.draft import ImportNotes as ImportNotes
    from towtank.workload.importers.draft import identifier as identifier
    from towtank.workload.importers.draft import url_address as url_address
    from towtank.workload.importers.multipart import multipart_params as multipart_params
    from towtank.workload.importers.tables import import_table as import_table
    from towtank.workload.importers.writing import ImportResult as ImportResult
    from towtank.workload.importers.writing import finish_import as finish_import
    from towtank.workload.importers.writing import import_document as import_document
    from towtank.workload.importers.writing import import_note_lines as import_note_lines
    from towtank.workload.loading import Workload as Workload
    from towtank.workload.loading import check_workload as check_workload
    from towtank.workload.loading import check_workload_as_written as check_workload_as_written
    from towtank.workload.loading import load_workload as load_workload
    from towtank.workload.model import Group as Group
    from towtank.workload.model import WorkloadFile as WorkloadFile
    from towtank.workload.ownheaders import owned_header as owned_header
    from towtank.workload.reading_back import read_back_workload as read_back_workload
    from towtank.workload.target_choice import target_faults as target_faults
    from towtank.workload.target_choice import targets_of_workload as targets_of_workload
    from towtank.workload.targets import check_targets as check_targets
    from towtank.workload.targets import host_and_port as host_and_port
    from towtank.workload.targets import is_numeric_address as is_numeric_address
    from towtank.workload.targets import login_in_addresses as login_in_addresses
    from towtank.workload.targets import numeric_address as numeric_address
    from towtank.workload.targets import pinned_plan as pinned_plan
    from towtank.workload.targets import target_with_fallbacks as target_with_fallbacks

__getattr__, __dir__ = door(
    __name__,
    {
        "compiling": "compile_workload",
        "importers": "IMPORT_FORMATS ImportOptions read_import",
        "importers.accesslog.lines": "is_access_log read_access_log",
        "importers.draft": "ImportDraft ImportNotes identifier url_address",
        "importers.multipart": "multipart_params",
        "importers.tables": "import_table",
        "importers.writing": "ImportResult finish_import import_document import_note_lines",
        "loading": "Workload check_workload check_workload_as_written load_workload",
        "model": "Group WorkloadFile",
        "ownheaders": "owned_header",
        "reading_back": "read_back_workload",
        "target_choice": "target_faults targets_of_workload",
        "targets": (
            "check_targets host_and_port is_numeric_address login_in_addresses numeric_address pinned_plan "
            "target_with_fallbacks"
        ),
    },
)
