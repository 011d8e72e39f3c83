"""`towtank analyse`: computes the summaries and other documents of a results folder from the recordings of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    results: Annotated[Path, typer.Argument(help="Results folder of a study.")],
    json: Annotated[bool, typer.Option("--json", help="Print headline, verdict and the documents as JSON.")] = False,
) -> int:
    """Analyse the runs of a results folder, and store the documents from which reports are made: summaries, claims,
    models and sizing.
    """
    from towtank.cli.output import failed_parts, print_failed, print_json  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.errors import ExitStatus  # noqa: PLC0415
    from towtank.report import (  # noqa: PLC0415
        derived_documents,
        headline,
        load_results,
        relaxed_limits_note,
        verdict_level,
    )
    from towtank.terminal import visible  # noqa: PLC0415
    from towtank.verdict_words import verdict_words  # noqa: PLC0415

    with contained() as parts:
        found = load_results(results)
    print_failed(parts)
    kept = derived_documents(results)
    if json:
        document = {
            "schema": "towtank/analyse/1",
            "headline": headline(found),
            "verdict": verdict_level(found),
            "documents": [str(path) for path in kept],
            **failed_parts(parts),
        }
        print_json(document)
    else:
        verdict = verdict_words(verdict_level(found), relaxed=relaxed_limits_note(found))
        lines = [headline(found), f"verdict: {verdict}", *(f"document: {path}" for path in kept)]
        print(visible("\n".join(lines)))
    return parts.status(ExitStatus.INVALID_MEASUREMENT if verdict_level(found) == "invalid" else ExitStatus.DONE)
