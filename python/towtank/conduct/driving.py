"""Executes `towtank drive`: creates the run folder, loads the target, and analyses the record."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from towtank.conduct.display import Display
from towtank.conduct.drive import conduct_drive, manifest
from towtank.conduct.drive_options import DriveOptions
from towtank.conduct.drive_targets import prepare_plan
from towtank.conduct.live_sending import LiveSending
from towtank.conduct.provenance import require_own
from towtank.conduct.stopping import StopRequest
from towtank.errors import StudyError
from towtank.results import RUN_MANIFEST, STUDY_MANIFEST, RunFolder
from towtank.secrets import redacted_text
from towtank.system import make_scratch, watched


@dataclass
class DriveOutcome:
    """Result of `towtank drive`: the document of `--json`, messages for the user, and the objective of `--abort-on`
    that ended the load early, with the value.
    """

    document: Mapping[str, object]
    notes: list[str] = field(default_factory=list)
    aborted: str | None = None


def drive_target(
    options: DriveOptions,
    display: Display,
    stop: StopRequest,
    *,
    addresses: Sequence[str] = (),
    out: Path | None = None,
    allowed: Sequence[str] = (),
    live_sending: LiveSending | None = None,
) -> DriveOutcome:
    """Load a target that is already running, and analyse the record.

    `addresses` are those of the targets of a workload file, `out` is the folder in which the record is kept (by default
    it is removed at the end), and `allowed` are hosts that may be loaded although they are neither local nor private.

    Raises
    ------
    StudyError
        If an option is invalid; the error lists every fault.
    TargetError
        If a target accepts no connection.
    EngineError
        If the engine ended abnormally, or the disk has too little free space.
    """
    from towtank.analysis import drive_document  # noqa: PLC0415 - the analysis takes a second to load

    exchange, load, connections = options.checked()
    shown = redacted_text(exchange.url)
    named = [pid for name in options.watched for pid in watched.roots_of(name)]
    with _run_folder(out, manifest(load, options.limits), stop) as run:
        plan = prepare_plan(run, exchange, load, list(addresses), list(allowed), connections=connections)
        abort_on = options.aborting(plan.transactions)
        with display:
            outcome = conduct_drive(
                run, shown, plan, stop, display, live_sending=live_sending, watched=named, abort_on=abort_on
            )
        document = drive_document(run, shown)
        # The number of results that each receiver accepted.
        sent = next((event["receivers"] for event in run.events() if event.get("k") == "sent"), None)
        return DriveOutcome(document if sent is None else {**document, "sent": sent}, outcome.notes, outcome.aborted)


@contextmanager
def _run_folder(out: Path | None, planned: Mapping[str, Any], stop: StopRequest) -> Iterator[RunFolder]:
    """Create the run folder for the length of the block.

    Afterwards, the folder is kept if the user named it (`--out`) and the load began; otherwise it is removed.
    """
    _refuse_results(out)
    if out is not None:
        require_own(out)
    made = out is None or not out.exists()
    path = out or make_scratch("drive")
    remove = partial(shutil.rmtree, path, ignore_errors=True)
    stop.kept, stop.leaving = (str(out), None) if out is not None else (None, remove)
    try:
        run = RunFolder.create(path, dict(planned))
        yield run
    except (StudyError, OSError):
        # Without a record, the folder is removed, because the next attempt would refuse an existing run folder.
        if made and not any((path / "engine").glob("*")):
            remove()
        raise
    finally:
        if out is None:
            remove()


def _refuse_results(out: Path | None) -> None:
    """Refuse a path that is a file, and a folder that contains a run or a study."""
    if out is not None and out.exists() and not out.is_dir():
        raise StudyError.of_option("--out", f"must be a folder, got the file {str(out)!r} instead")
    if out is not None and any((out / name).exists() for name in (RUN_MANIFEST, STUDY_MANIFEST)):
        message = f"must be a folder without a run or a study in it, got {str(out)!r} instead"
        raise StudyError.of_option("--out", message)
