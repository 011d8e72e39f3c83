"""Runs a study and returns its results."""

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
    """Run a study. A study starts programs: read a foreign one before you run it.

    The calling process stays as it is: no signal handler, no variable of its environment and no CPU affinity of its
    threads changes. An interrupt (Ctrl-C, or the stop button of a notebook) ends the run that goes on, keeps what was
    recorded, and raises `KeyboardInterrupt`; a second one does not wait for answers on their way.

    Parameters
    ----------
    study : Path or str
        A file, a folder, or the name of a study that ships.
    preset : str, optional
        Preset of the study, as `quick`.
    changes : mapping of str to object, optional
        Other values by dotted path, as `{"load.users": 50, "load.stages.steady": "20 s"}`.
    repetitions : int, optional
        Runs of each combination. [1]
    seed : int, optional
        Seed of the order of the runs and of the random generators.
    out : Path or str, optional
        Results folder; `results/NAME-DATE-TIME` by default.
    resume : bool, default False
        Go on in the folder `out`, which has runs of the same study: those that are complete are kept.
    report : bool, default True
        Whether the report is written.
    allowed : sequence of str
        Hosts outside of loopback and private ranges that may be loaded.
    trusted : bool, default False
        Whether files outside of the study's folder may be sent, served or run.
    progress : callable or bool, optional
        Called with a `Progress` for each step; True shows the steps on the terminal or in the notebook.

    Returns
    -------
    Results
        Also if the measurement is invalid; check `valid`. Further problems are listed in `messages`.

    Raises
    ------
    StudyError
        With every fault of the study and of the arguments, before anything is started.
    TargetError
        If this machine lacks what the study needs, or the system came up in no run.
    EngineError
        If the disk is full.
    KeyboardInterrupt
        If it was interrupted; its note names the folder with what was recorded.
    """
    from towtank.api.conducting import conducted  # noqa: PLC0415 - imports the analysis
    from towtank.conduct.request import StudyRequest, new_folder  # noqa: PLC0415
    from towtank.conduct.study import StudyOutcome, run_study  # noqa: PLC0415
    from towtank.errors import ExitStatus, TargetError  # noqa: PLC0415

    call = "towtank.run"
    if resume and out is None:
        raise refuse(call, "out", "must be given with resume: the folder to go on in")
    with faults_of(call, {"--set": "changes", "--i-may-load": "allowed", "--resume": "out", "--trust": "trusted"}):
        texts = tuple(f"{path}={value}" for path, value in changes_of(changes).items())
        request = StudyRequest(str(study), preset, repetitions, seed, texts, tuple(allowed), trusted)
        loaded = request.load()
        folder = new_folder(loaded.name) if out is None else Path(out)
        try:
            outcome: StudyOutcome = conducted(
                lambda display, stop: run_study(
                    loaded, folder, display, resume, stop=stop, command=request.document(), report=report
                ),
                progress,
            )
        except KeyboardInterrupt as error:
            error.add_note(f"what was recorded is in {folder}; towtank.run(..., out=..., resume=True) goes on there")
            raise
    if outcome.exit_status is ExitStatus.TARGET:
        raise TargetError("\n".join(outcome.messages))
    found = open_results(outcome.results)
    return replace(found, messages=tuple(dict.fromkeys([*outcome.messages, *found.messages])))
