"""Runs a study, and returns its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.api.calls import changes_of, faults_of, refuse
from towtank.api.results import Results, open_results

if TYPE_CHECKING:
    from towtank.api.progress import Callback


def run(
    study: Path | str,
    *,
    preset: str | None = None,
    changes: Mapping[str, object] | None = None,
    repetitions: int | None = None,
    seed: int | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    report: bool = True,
    allowed: Sequence[str] = (),
    trusted: bool = False,
    progress: Callback | bool | None = None,
) -> Results:
    """Run a study. A study starts programs, so read another person's study before you run it.

    The call does not change signal handlers, environment or CPU affinity of the calling process. An interrupt (Ctrl-C,
    or the stop button of a notebook) ends the current run, saves the recorded data and raises `KeyboardInterrupt`;
    after a second interrupt, the run does not wait for pending responses.

    Parameters
    ----------
    study : Path or str
        Study file, study folder, or name of a study that comes with Towtank.
    preset : str, optional
        Name of a preset of the study, for example `quick`.
    changes : mapping of str to object, optional
        Values to change, by dotted path, for example `{"load.users": 50, "load.stages.steady": "20 s"}`.
    repetitions : int, optional
        Number of runs of each combination of levels. [1]
    seed : int, optional
        Seed of the random generators, which determine the order of the runs and the requests in each run.
    out : Path or str, optional
        Results folder to write; default: `results/NAME-DATE-TIME`.
    resume : bool, default False
        If true, continues the interrupted study in the folder `out`; complete runs are not repeated.
    report : bool, default True
        If true, writes the report to the results folder.
    allowed : sequence of str
        Hosts that Towtank may load although they are outside the loopback and private address ranges.
    trusted : bool, default False
        If true, the study may send, serve and run files from outside its folder.
    progress : callable or bool, optional
        Function to call with a `Progress` for each step; True shows the steps on the terminal or in the notebook.

    Returns
    -------
    Results
        Results, even if the measurement is invalid; check `valid` and `messages`.

    Raises
    ------
    StudyError
        If the study or an argument is wrong; `faults` lists all faults. No program was started.
    TargetError
        If this machine lacks software that the study needs, or if the system did not start in any run.
    EngineError
        If the disk is full.
    KeyboardInterrupt
        If the study was interrupted; the note of the exception names the results folder.
    """
    from towtank.api.conducting import conducted  # noqa: PLC0415 - imports the analysis
    from towtank.conduct import StudyOutcome, StudyRequest, new_results_folder, run_study  # noqa: PLC0415
    from towtank.errors import ExitStatus, TargetError  # noqa: PLC0415

    call = "towtank.run"
    if resume and out is None:
        raise refuse(call, "out", "must be given with resume: the results folder to continue")
    with faults_of(call, {"--set": "changes", "--i-may-load": "allowed", "--resume": "out", "--trust": "trusted"}):
        texts = tuple(f"{path}={value}" for path, value in changes_of(changes).items())
        request = StudyRequest(str(study), preset, repetitions, seed, texts, tuple(allowed), trusted)
        loaded = request.load()
        folder = new_results_folder(loaded.name) if out is None else Path(out)
        try:
            outcome: StudyOutcome = conducted(
                lambda display, stop: run_study(
                    loaded, folder, display, resume, stop=stop, request=request, report=report
                ),
                progress,
            )
        except KeyboardInterrupt as error:
            error.add_note(f"the recorded data are in {folder}; continue with towtank.run(..., out=..., resume=True)")
            raise
    if outcome.exit_status is ExitStatus.TARGET:
        raise TargetError("\n".join(outcome.messages))
    found = open_results(outcome.results)
    return replace(found, messages=tuple(dict.fromkeys([*outcome.messages, *found.messages])))
