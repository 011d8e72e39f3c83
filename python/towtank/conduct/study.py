"""Conducts a study: all runs of its design in order, then summaries and the report."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.claim_words import ANSWERED
from towtank.conduct import provenance
from towtank.conduct.display import Display
from towtank.conduct.live_sending import LiveSending
from towtank.conduct.piloting import with_limit
from towtank.conduct.repeating import Ended, Repeating, remaining
from towtank.conduct.run import RunOutcome, conduct_run, disk_is_full
from towtank.conduct.stopping import StopRequest
from towtank.conduct.wiring import make_task
from towtank.containment import Parts, attempt_or, contained
from towtank.digging import dig
from towtank.errors import EngineError, ExitStatus, StudyError
from towtank.results import STUDY_MANIFEST, ResultsFolder, RunFolder
from towtank.study import is_prediction_source

if TYPE_CHECKING:
    from towtank.analysis import StudySummary
    from towtank.conduct.request import StudyRequest
    from towtank.sending import Receiver
    from towtank.study import RunSpec, Study

_LOCK = ".lock"
_REPORT = "report"
# Entries of a study summary that decide the exit status, beside the required claims.
_JUDGED = ("verdict", "objectives")


@dataclass
class StudyOutcome:
    """Result of a study: results folder, exit status of `towtank run`, study summary (empty if it could not be made),
    path of the report (None if it was not written), messages for the user about failures, and the parts of summary
    and report.
    """

    results: Path
    exit_status: ExitStatus = ExitStatus.DONE
    summary: Mapping[str, object] = field(default_factory=dict)
    report: Path | None = None
    messages: list[str] = field(default_factory=list)
    parts: Parts = field(default_factory=Parts)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock the results folder during the block, so that no other Towtank process writes to it.

    Raises
    ------
    StudyError
        If another process has locked the folder, or the lock file is a symbolic link.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        lock = os.open(folder / _LOCK, flags, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise StudyError.at(folder / _LOCK, "must be a file, got a symbolic link") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise StudyError.at(folder, "must not be in use, but another Towtank process is writing to it") from error
    try:
        yield
    finally:
        os.close(lock)


def run_study(
    study: Study,
    folder: Path,
    display: Display,
    resume: bool = False,
    *,
    stop: StopRequest,
    request: StudyRequest | None = None,
    report: bool = True,
    receivers: tuple[Receiver, ...] = (),
    first_words: Sequence[str] = (),
) -> StudyOutcome:
    """Conduct all runs of a study that are not complete, then summarise the runs and write the report. The folder is
    created unless the study is resumed.

    `request` is stored so that the study can be resumed, results are sent to `receivers` during each run, and
    `first_words` are lines that are shown before the first run.

    Raises
    ------
    StudyError
        If the folder contains other results, belongs to another user, or is in use by another process.
    """
    with _disk_full_is_said(folder), ExitStack() as holding:
        if resume:
            holding.enter_context(held(ResultsFolder.open(folder).path))
        else:
            provenance.require_no_results(folder)
        pilots = study.needs_pilot
        if pilots:
            _say(first_words, display)
        study = with_limit(study, folder, display, stop, resume=resume)
        specs = study.design()
        if resume:
            specs = remaining(specs, ResultsFolder.open(folder).manifest, study.at_least)
        results = provenance.open_results(study, specs, folder, resume=resume, request=request)
        stop.kept = str(results.path)
        if not resume:
            holding.enter_context(held(results.path))
        with display:
            outcome = StudyOutcome(results.path)
            if not pilots:
                _say(first_words, display)
            results.event("study_resumed" if resume else "study_started")
            ended = _Runs(study, results, display, stop, receivers).all(specs)
            outcome.messages += [note for each in ended for note in each.notes]
            results.event("study_ended", stopped=stop.requested)
            display.note("analysing")
            _summarise(results, outcome, report=report)
        outcome.exit_status = exit_status(ended, outcome, stopped=stop.requested)
        if by_rule := Ended.of(results.manifest):
            outcome.messages += by_rule.lines(results.path)
    return outcome


def _say(words: Sequence[str], display: Display) -> None:
    for line in words:
        display.note(line)


@contextmanager
def _disk_full_is_said(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise _disk_full(folder) from error


def _disk_full(folder: Path) -> EngineError:
    if not (folder / STUDY_MANIFEST).exists():
        return disk_is_full(folder)
    return disk_is_full(folder, f"free some space, then run `towtank run --resume {folder}`")


@dataclass
class _Runs:
    """Conducts the runs of a study one after the other."""

    study: Study
    results: ResultsFolder
    display: Display
    stop: StopRequest
    receivers: tuple[Receiver, ...] = ()

    def all(self, specs: list[RunSpec]) -> list[RunOutcome]:
        """Conduct the runs of the study that are missing in the results; return their outcomes."""
        ended: list[RunOutcome] = []
        repeating = Repeating(self.study, self.results)
        for block, numbered in groupby(enumerate(specs, start=1), key=lambda pair: pair[1].repetition):
            planned = [(spec, f"{spec.run} ({number}/{len(specs)}) ") for number, spec in numbered]
            done = self._block(planned)
            runs = [spec.run for spec, _ in planned]
            moved = repeating.repeats(block, runs, len(done)) if done and not self.stop.requested else None
            if moved is not None:
                self.display.note(f"block {block} is repeated: {moved.words} changed between its runs")
                if block == 1:
                    self._withdraw_prediction()
                for run in runs:
                    set_aside(self.results, run)
                done = self._block(planned)
            ended += done
            if self.stop.requested or repeating.block_ended(block, ran=bool(done)):
                break
            # A block that an earlier process began took longer than this process knows.
            if (block == 1 or moved) and len(done) == len(planned) and (words := repeating.too_few_blocks):
                self.display.note(words)
        return ended

    def _block(self, planned: list[tuple[RunSpec, str]]) -> list[RunOutcome]:
        """Conduct the runs of a block that are not complete; return early if the user requests a stop."""
        done = []
        for spec, head in planned:
            if self.stop.requested:
                break
            if not is_done(self.results, spec.run):
                done.append(self._do(spec, head))
        return done

    def _do(self, spec: RunSpec, head: str) -> RunOutcome:
        """Conduct one run. Before the first run of the predicted configuration, write the prediction that the study
        declares.

        Raises
        ------
        EngineError
            If the disk is full.
        """
        if not is_prediction_source(self.study, spec.factors):
            self._predict()
        outcome = self._one(spec, head + ", ".join(f"{k} {v}" for k, v in spec.factors.items()))
        if outcome.disk_full:
            raise _disk_full(self.results.path)
        return outcome

    def _predict(self) -> None:
        """Write the prediction that the study declares, unless it exists. Its model is fitted to the runs done so
        far.
        """
        if self.study.study.predict is None:
            return
        from towtank.model import PREDICTION_FILE, write_prediction  # noqa: PLC0415 - only if asked for

        if (self.results.path / PREDICTION_FILE).exists():
            return
        made = write_prediction(self.results.path)
        refused = None if made is None else made.refused
        self.results.event("predicted", refused=refused)
        self.display.note("predicted" if refused is None else f"not predicted: {refused}")

    def _withdraw_prediction(self) -> None:
        """Delete the prediction, because the runs to which its model was fitted are done again."""
        from towtank.model import PREDICTION_FILE  # noqa: PLC0415 - only if a block is repeated

        (self.results.path / PREDICTION_FILE).unlink(missing_ok=True)

    def _one(self, spec: RunSpec, title: str) -> RunOutcome:
        set_aside(self.results, spec.run)
        run = RunFolder.create(self.results.run_path(spec.run), run_manifest(spec))
        self.display.note(f"{title}: bringing the system up")
        task = make_task(spec, run, title, self.stop, self.display)
        if self.receivers:
            task = replace(task, live_sending=LiveSending(self.receivers, self.study.name, spec.run, spec.factors))
        outcome = conduct_run(task, self.stop, self.display)
        outcome.notes = [f"{spec.run}: {note}" for note in outcome.notes]
        _summarise_run(run, self.results, self.display)
        return outcome


def run_manifest(spec: RunSpec) -> dict[str, object]:
    """Return the manifest of a run before its start."""
    return {
        **{key: value for key, value in spec.document().items() if value is not None},
        "status": "planned",
        "versions": provenance.versions(),
    }


def is_done(results: ResultsFolder, run_id: str) -> bool:
    """Return True if the manifest of a run says that the run is complete."""
    run = RunFolder(results.run_path(run_id))
    return (run.path / run.manifest_name).exists() and run.manifest.get("status") == "complete"


def set_aside(results: ResultsFolder, run_id: str) -> Path | None:
    """Rename the folder of a run that is to be repeated to `RUN.interrupted-N`. The renamed folder is not analysed."""
    path = results.run_path(run_id)
    if not path.exists():
        return None
    number = 1
    while (aside := path.with_name(f"{run_id}.interrupted-{number}")).exists():
        number += 1
    path.rename(aside)
    results.event("run_set_aside", run=run_id, to=aside.name)
    return aside


def _summarise_run(run: RunFolder, results: ResultsFolder, display: Display) -> None:
    """Summarise one run. An error is recorded, and does not prevent the next run."""
    from towtank.analysis import summarize_run  # noqa: PLC0415

    try:
        summarize_run(run)
    except OSError:
        raise
    # After any error, the run can be summarised later from its record.
    except Exception as error:
        results.event("analysis_failed", run=run.run_id, error=f"{type(error).__name__}: {error}")
        display.note(f"{run.run_id} could not be summarised: {error}")


def _summarise(results: ResultsFolder, outcome: StudyOutcome, *, report: bool) -> None:
    from towtank.analysis import summarize_study  # noqa: PLC0415
    from towtank.report import write_report  # noqa: PLC0415

    with contained() as outcome.parts:
        outcome.summary = attempt_or("summary of the study", {}, summarize_study, results)
        if report:
            outcome.report = attempt_or(_REPORT, None, write_report, results)
    outcome.messages += [failed.sentence for failed in outcome.parts.failed]


def exit_status(ended: list[RunOutcome], outcome: StudyOutcome, *, stopped: bool) -> ExitStatus:
    """Return the exit status of a study, and add messages about it to the outcome. The first applicable status
    counts.
    """
    if stopped:
        return ExitStatus.STOPPED
    if ended and not any(each.came_up for each in ended):
        outcome.messages.append(f"the system could not be brought up in any run: {ended[0].reason}")
        return ExitStatus.TARGET
    status = outcome.parts.status(_status_of_results(outcome))
    if status is ExitStatus.DONE and any(failed.part == _REPORT for failed in outcome.parts.failed):
        outcome.messages.append(
            "the results are kept; `towtank report RESULTS --out FILE` writes the report to another file"
        )
        return ExitStatus.INTERNAL
    return status


def _status_of_results(outcome: StudyOutcome) -> ExitStatus:
    """Return the exit status that follows from the summary, and add messages about it to the outcome."""
    from towtank.analysis import StudySummary  # noqa: PLC0415

    found = StudySummary.model_validate({key: outcome.summary[key] for key in _JUDGED if key in outcome.summary})
    required = dig(outcome.summary, "required_claims") or {}
    if not outcome.summary or found.verdict.level == "invalid":
        if outcome.summary and not outcome.messages:
            gaps = _gaps(StudySummary(verdict=found.verdict), {}) or "no run"
            outcome.messages.append(f"status {ExitStatus.INVALID_MEASUREMENT:d}: {gaps}; the results are kept")
        return ExitStatus.INVALID_MEASUREMENT
    if missed := _missed(found, required):
        outcome.messages.append(f"status {ExitStatus.OBJECTIVE_MISSED:d}: {missed}")
        return ExitStatus.OBJECTIVE_MISSED
    if gaps := _gaps(found, required):
        outcome.messages.append(f"status {ExitStatus.INVALID_MEASUREMENT:d}: {gaps}; the results are kept")
        return ExitStatus.INVALID_MEASUREMENT
    return ExitStatus.DONE


def _missed(summary: StudySummary, required: Mapping[str, int]) -> str:
    """Describe the numbers of missed objectives and refuted required claims; empty if there are none."""
    missed = sum(objective.met is False for objective in summary.objectives)
    counts = (
        (missed, len(summary.objectives), "objectives missed"),
        (required.get("refuted", 0), sum(required.values()), "required claims refuted"),
    )
    return ", ".join(f"{count} of {number} {what}" for count, number, what in counts if count)


def _gaps(summary: StudySummary, required: Mapping[str, int]) -> str:
    """Describe the numbers of runs, objectives and required claims without a result; empty if there are none."""
    open_claims = sum(count for answer, count in required.items() if answer not in ANSWERED)
    counts = (
        (summary.verdict.invalid_runs, "runs invalid"),
        (summary.verdict.missing_runs, "runs missing"),
        (sum(objective.met is None for objective in summary.objectives), "objectives not evaluated"),
        (open_claims, "required claims not decided"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count)
