"""Builds the section with the evidence for the capacity model, such as tested assumptions and errors of predictions."""

from __future__ import annotations

from towtank.model import FittedConfiguration, FittedMix
from towtank.report import format as people
from towtank.report.content import held_out as levels
from towtank.report.document import Block, Bullets, Section, Table, headings, paragraph, text
from towtank.report.source import Results


def build(results: Results) -> Section | None:
    """Build the section with the evidence for the capacity model; None if no configuration has a model."""
    configurations = results.capacity.modelled
    if not configurations:
        return None
    blocks: list[Block] = []
    for configuration in configurations:
        blocks.append(paragraph(_range(configuration)))
        left = [text(f"Left out, {run.run}: {run.why}.") for run in configuration.excluded]
        blocks += [Bullets(tuple(left))] if left else []
    blocks += [_assumptions(configurations), _candidates(configurations)]
    mixes = [text(_mix(each.label, each.mix)) for each in configurations if each.mix is not None]
    blocks += [Bullets(tuple(mixes))] if mixes else []
    return Section("trust", "Evidence for the model", tuple(blocks))


def _range(configuration: FittedConfiguration) -> str:
    trust, audit, held_out = configuration.trust, configuration.audit, configuration.held_out
    assert trust is not None
    assert audit is not None
    error = "no held-out level"
    if held_out is not None:
        error = f"held-out error of the throughput {levels.worst_error(held_out)}"
    broken = len(audit.findings)
    found = f"found {people.plural(broken, 'contradiction') if broken else 'no contradiction'}"
    return (
        f"{configuration.label}: {people.plural(trust.points, 'point')} at "
        f"{people.plural(trust.levels, 'load')} from {people.plain(trust.measured_from)} to "
        f"{people.plain(trust.measured_to)}; it predicts up to {people.plain(trust.predicts_to)}, because "
        f"{trust.because}; {error}. "
        f"The audit before the fit {found if audit.checked else 'had no response times for a check'} "
        f"of N = X (R + Z) and U = X D{'; these runs are not modelled' if broken else ''}."
    )


def _assumptions(configurations: list[FittedConfiguration]) -> Table:
    columns = headings("Configuration", "It assumes that", "Tested")
    rows = tuple(
        (configuration.label, row.assumes, row.tested)
        for configuration in configurations
        if configuration.trust is not None
        for row in configuration.trust.assumptions
    )
    return Table("Assumptions and their tests", columns, rows)


def _candidates(configurations: list[FittedConfiguration]) -> Table:
    columns = headings("Configuration", "Curve", "#AICc", "#AICc with use", "#Held-out error", "Verdict")
    chosen = [(each.label, each.curve, each.choice) for each in configurations if each.choice is not None]
    rows = tuple(
        (
            label,
            row.curve + (" (chosen)" if row.curve == curve else ""),
            people.number(row.aicc),
            people.number(row.joint_aicc),
            people.ABSENT
            if row.held_out_error is None
            else people.signed_estimate(row.held_out_error, row.held_out_interval),
            row.verdict,
        )
        for label, curve, choice in chosen
        for row in choice.candidates
    )
    why = tuple(f"{label}: {choice.why}." for label, _, choice in chosen)
    notes = (
        "AICc compares curves by the throughput; AICc with use compares them by throughput and utilization of the "
        "bottleneck together. A smaller value is better. The held-out error is the error of the throughput predicted "
        "at the highest load.",
        *why,
    )
    return Table("Compared curves", columns, rows, notes)


def _mix(label: str, mix: FittedMix) -> str:
    rows = ", ".join(f"{people.number(row.work)} at {people.plain(row.load)}" for row in mix.work)
    return (
        f"{label}: the transactions differ in their demands, so the measured mix of each level is used: the work of "
        f"the mean transaction is {rows}. With demands by class ({mix.estimator}), "
        f"{people.share(mix.scatter_left[mix.estimator])} of the residual variance of the seconds remains, compared "
        "with equal demands."
    )
