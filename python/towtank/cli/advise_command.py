"""`towtank advise`: compares a measured system and its configuration with rules of thumb."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.cli.rules_command import RuleFiles
from towtank.errors import ExitStatus, StudyError

if TYPE_CHECKING:
    from towtank.sizing import Rules, Situation, SystemFacts


def command(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS|SHEET...",
            help="Results folder of a study, or sheets (files with lines `name: value`), or both.",
        ),
    ],
    *,
    users: Annotated[
        int | None, typer.Option(help="Number of users of the load level to evaluate; default: the highest level.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also print rules that do not apply, or whose inputs are not all known.")
    ] = False,
    rules: RuleFiles = None,
    json: Annotated[bool, typer.Option("--json", help="Print the advice as JSON.")] = False,
) -> int:
    """Compare a system with rules of thumb; print the recommendation of each rule, the actual values, and whether the
    system follows the rule.
    """
    from towtank.cli.advise_table import advice_lines  # noqa: PLC0415
    from towtank.cli.output import failed_parts, print_failed, print_json, printer  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.sizing import advice_document, advise, load_rules  # noqa: PLC0415

    folders, sheets = _sorted_sources(sources)
    known = load_rules([*_rules_beside(folders, sheets), *(rules or [])])
    with contained() as parts:
        found = [(situation, advise(known, situation)) for situation in _situations(folders, sheets, known, users)]
    print_failed(parts)
    if json:
        print_json({**advice_document(", ".join(map(str, sources)), found), **failed_parts(parts)})
        return parts.status(ExitStatus.DONE)
    for situation, advice in found:
        for line in advice_lines(situation, advice, everything=everything):
            printer().print(line, markup=False)
    return parts.status(ExitStatus.DONE)


def _sorted_sources(sources: list[Path]) -> tuple[list[Path], list[Path]]:
    """Split the sources into results folders and sheets; raise an error for more than one results folder."""

    folders = [path for path in sources if path.is_dir()]
    if len(folders) > 1:
        message = f"must be at most one results folder, got {len(folders)}"
        raise StudyError.of_option("RESULTS", message)
    return folders, [path for path in sources if not path.is_dir()]


def _rules_beside(folders: list[Path], sheets: list[Path]) -> list[Path]:
    """Return the folders named `rules` beside the study of the results and beside the sheets."""
    from towtank.sizing import rules_beside, study_file_of  # noqa: PLC0415

    studies = [study for folder in folders if (study := study_file_of(folder)) is not None]
    return list(dict.fromkeys(found for path in [*studies, *sheets] for found in rules_beside(path)))


def _situations(folders: list[Path], sheets: list[Path], rules: Rules, users: int | None) -> list[Situation]:
    from towtank.sizing import Situation, load_sheet, measured_situations  # noqa: PLC0415

    facts: SystemFacts = {}
    faults = []
    for path in sheets:
        try:
            facts |= load_sheet(path, rules)
        except StudyError as error:
            faults += error.faults
    if faults:
        raise StudyError(faults)
    if folders:
        return [situation.with_sheet(facts) for situation in measured_situations(folders[0], users)]
    if users is not None:
        message = "must be given with a results folder only: a sheet sets load.users"
        raise StudyError.of_option("--users", message)
    return [Situation("sheet", ", ".join(map(str, sheets)), facts)]
