"""Imports a file of another load generator as a workload, for `towtank import` and `towtank.import_file`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.errors import StudyError
from towtank.files import is_regular_file
from towtank.option_check import OptionCheck
from towtank.secrets import put_private

if TYPE_CHECKING:
    from towtank.workload import ImportResult


def import_file(
    form: str,
    file: Path,
    out: Path | None,
    hosts: Sequence[str] = (),
    *,
    force: bool = False,
    host_option: str = "--host",
) -> ImportResult:
    """Import a file of another tool, whose format is a key of `IMPORT_FORMATS`, and write the workload file; without
    `out`, return its text only.

    Only requests to `hosts` are imported; if empty, those to the main host of the file. An existing file is overwritten
    only with `force`. `host_option` is the name of the option or argument that sets `hosts`, for messages.

    Raises
    ------
    StudyError
        If an argument is wrong, or if the file cannot be imported; contains every fault.
    """
    from towtank.workload import IMPORT_FORMATS, ImportOptions, finish_import, read_import  # noqa: PLC0415

    check = OptionCheck()
    check.one_of("FORMAT", form, tuple(IMPORT_FORMATS))
    if out is not None and _is_same(out, file):
        check.fault("--out", f"must be another file than the imported file, got {str(out)!r}")
    else:
        check.new_file("--out", out, force=force)
    check.refuse_faults()
    folder = Path() if out is None else out.parent
    imported = finish_import(
        read_import(form, file, ImportOptions(tuple(hosts), folder, host_option=host_option)), folder
    )
    if out is not None:
        write_workload(out, imported.text, force=force)
    return imported


def write_workload(out: Path, text: str, *, force: bool) -> None:
    """Write a workload file that only its owner can read. If this fails, an existing file stays unchanged.

    Raises
    ------
    StudyError
        If the file cannot be written, or if it already exists and `force` is false.
    """
    try:
        put_private(out, text, replace=force)
    except FileExistsError:
        message = f"must not exist yet (--force overwrites it), got {str(out)!r}, which another program has just made"
        raise StudyError.of_option("--out", message) from None
    except OSError as error:
        message = f"must be a file that can be written, got: {error.strerror}"
        raise StudyError.of_option("--out", message) from None


def _is_same(out: Path, file: Path) -> bool:
    """Return True if two paths lead to the same regular file. A terminal or pipe may be both input and output."""
    try:
        return is_regular_file(out) and out.samefile(file)
    except (OSError, ValueError):  # The imported file does not exist, or its path is not a valid file name.
        return False
