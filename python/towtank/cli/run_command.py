"""`towtank run`: runs a study and writes its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.cli.options import MaySend, Send, SendHeader, receivers
from towtank.errors import StudyError

if TYPE_CHECKING:
    from towtank.conduct import StudyOutcome, StudyRequest


QUICK = "quick"
"""Name of the preset for short runs; all shipped studies have this preset."""


def command(
    study: Annotated[
        str | None, typer.Argument(help="Study file, study folder, or name of a study that comes with Towtank.")
    ] = None,
    *,
    preset: Annotated[str | None, typer.Option(help="Name of the preset of the study to run.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Short for `--preset quick`.")] = False,
    out: Annotated[Path | None, typer.Option(help="Results folder to write; default: results/NAME-DATE-TIME.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the interrupted study in this results folder.")] = None,
    more: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, help="Add this number of runs of each combination of levels to the results folder STUDY."
        ),
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="Number of runs of each combination of levels.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a value of the study, path.to.key=value; repeatable.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed of the random generators, which determine the order of the runs and the requests in each run.",
        ),
    ] = None,
    i_may_load: Annotated[
        list[str] | None,
        typer.Option(help="Allow load on this host outside loopback and private address ranges; repeatable."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Allow the study to send, serve and run files from outside its folder.")
    ] = False,
    send: Send = None,
    send_header: SendHeader = None,
    i_may_send: MaySend = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option(help="Hide progress output.")] = False,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Whether to write the report after the last run.")
    ] = True,
) -> int:
    """Run a study and write its report. A study starts programs, so read another person's study before you run it."""
    from towtank.cli.output import console  # noqa: PLC0415
    from towtank.conduct import (  # noqa: PLC0415
        StopRequest,
        StudyRequest,
        describe_side_effects,
        display_for,
        new_results_folder,
        recorded_request,
        run_study,
    )

    if quick and preset not in (None, QUICK):
        message = f"must be left out, or be {QUICK}, if --quick is given, got {preset!r} instead"
        raise StudyError.of_option("--preset", message)
    preset = QUICK if quick else preset
    if more is not None:
        resume, study = _folder_to_add_to(study, resume), None
    if resume is not None:
        request = recorded_request(resume, study, tuple(i_may_load or ()), trusted=trust, more=more or 0)
    elif study is not None:
        asked = (tuple(set_ or ()), tuple(i_may_load or ()))
        request = StudyRequest(study, preset, repetitions, seed, *asked, trusted=trust)
    else:
        raise StudyError.of_option("STUDY", "must name a study, or a results folder with --resume")
    chosen_receivers = receivers(send, i_may_send, send_header)
    loaded = request.load()
    folder = resume or out or new_results_folder(loaded.name)
    display = display_for(console(quiet=quiet), quiet=quiet)
    with StopRequest() as stop:
        outcome = run_study(
            loaded,
            folder,
            display,
            resume is not None,
            stop=stop,
            request=request,
            report=report,
            receivers=chosen_receivers,
            first_words=describe_side_effects(loaded),
        )
    _print(outcome, request, json=json)
    return outcome.exit_status


def _folder_to_add_to(study: str | None, resume: Path | None) -> Path:
    """Return the existing results folder to which this command adds runs."""
    if study is not None and resume is None:
        return Path(study)
    if resume is not None and study is None:
        return resume
    raise StudyError.of_option("--more", "must name exactly one results folder, to which runs are added")


def _print(outcome: StudyOutcome, request: StudyRequest, *, json: bool) -> None:
    from towtank.cli.output import console, print_json, printer  # noqa: PLC0415

    for message in outcome.messages:
        console().print(message, markup=False, soft_wrap=True)
    if json:
        print_json(_document(outcome, request))
    elif outcome.summary:
        from towtank.report import print_outcome  # noqa: PLC0415

        print_outcome(printer(), outcome.summary, outcome.report)


def _document(outcome: StudyOutcome, request: StudyRequest) -> dict[str, object]:
    from towtank.cli.output import failed_parts  # noqa: PLC0415

    return {
        "schema": "towtank/run-study/1",
        "study": request.study,
        "results": str(outcome.results),
        "report": str(outcome.report) if outcome.report else None,
        "exit_status": int(outcome.exit_status),
        "verdict": outcome.summary.get("verdict"),
        "messages": outcome.messages,
        **failed_parts(outcome.parts),
        "summary": outcome.summary or None,
    }
