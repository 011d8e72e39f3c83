"""Concludes a study: its statements, the parts without an answer, its certainty, and the next steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towtank.analysis.claims.verdicts import JudgedClaims
from towtank.analysis.conclusion.certainty import reasons, support_of
from towtank.analysis.conclusion.findings import statements, unanswered
from towtank.analysis.conclusion.next_steps import next_steps
from towtank.conclusion_words import Conclusion


def conclude(
    summary: Mapping[str, object],
    judged: Mapping[str, object] | None = None,
    block_s: float | None = None,
    command: Mapping[str, object] | None = None,
) -> Conclusion:
    """Return the conclusion of a study.

    Parameters
    ----------
    summary : dict
        Summary of the study.
    judged : dict or None
        Content of `claims.json`; empty if the claims could not be judged; None if the study has no claims.
    block_s : float or None
        Duration of one run of each combination of factor levels; None if unknown. [s]
    command : dict or None
        Command that made the runs, with the keys `study` and `preset`; None if unknown.
    """
    claims = JudgedClaims.read(judged or {}).claims
    stated, further = statements(summary, claims)
    support = support_of(summary, claims, stated, has_claims=judged is not None)
    system, measurement = next_steps(summary, claims, block_s, command)
    return Conclusion(
        found=_stopped([*(statement.text for statement in stated), *filter(None, [further])]),
        open=_stopped(unanswered(summary, claims)),
        certainty=support.certainty,
        sure=_stopped(reasons(summary, support)),
        do=_stopped(system),
        measure=_stopped(measurement),
    )


def _stopped(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{text}." for text in texts)
