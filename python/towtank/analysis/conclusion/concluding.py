"""Concludes a study: its statements, the parts without an answer, its certainty, and the next steps."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.analysis.conclusion.certainty import certainty
from towtank.analysis.conclusion.findings import statements, unanswered
from towtank.analysis.conclusion.judged_claims import read_claims
from towtank.analysis.conclusion.next_steps import next_steps

Conclusion = dict[str, list[str]]


def conclude(
    summary: Mapping[str, object],
    judged: Mapping[str, object] | None = None,
    block_s: float | None = None,
    command: Mapping[str, object] | None = None,
) -> Conclusion:
    """Return the conclusion of a study, in sentences with full stops.

    Parameters
    ----------
    summary : dict
        Summary of the study.
    judged : dict or None
        Content of `claims.json`; None if the study has no claims.
    block_s : float or None
        Duration of one run of each combination of factor levels; None if unknown. [s]
    command : dict or None
        Command that made the runs, with the keys `study` and `preset`; None if unknown.

    Returns
    -------
    dict
        `found` has at most three statements, the other refuted claims, and the number of further ones. `open` lists the
        parts of the question without an answer, `sure` the support by the runs, `do` the next steps for the system, and
        `measure` those for the measurement. In commands, FOLDER stands for the
        results folder.
    """
    claims = read_claims(judged)
    found, further = statements(summary, claims)
    system, measurement = next_steps(summary, claims, block_s, command)
    parts = {
        "found": [*found, *filter(None, [further])],
        "open": unanswered(summary, claims),
        "sure": certainty(summary, claims),
        "do": system,
        "measure": measurement,
    }
    return {name: [f"{text}." for text in texts] for name, texts in parts.items()}


def headline_of(conclusion: Mapping[str, list[str]]) -> str:
    """Return the statements of a conclusion, and the parts without an answer, as one text."""
    return " ".join(text for name in ("found", "open") for text in conclusion.get(name, ()))
