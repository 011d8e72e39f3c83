"""Builds the section on the distribution of requests over the members of load balancers."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.digging import dig
from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.document import Section, Table, headings, paragraph
from towtank.report.source import Results, RunResult


def build(results: Results) -> Section | None:
    """Build the section on load balancers; None if no run has a load balancer."""
    runs = [run for run in results.measured if run.record.balance]
    if not runs:
        return None
    columns = headings(
        *heads.columns(results), "Balancer", "Policy", "Member", "#Requests | in the window", "#Share", "#Fairness"
    )
    rows = tuple(row for run in runs for name in run.record.balance for row in _rows(run, name))
    said = (
        "Requests in the window that each balancer sent to each of its members, from its counters, which are read once "
        "a second. Brackets contain 95 % confidence intervals of the share. Fairness is Jain's index, (Σ x)² / (n "
        "Σ x²): "
        "1 if all members received the same number, 1/n if one of n members received all requests."
    )
    blocks = [paragraph(said), *(paragraph(words) for words in (_uneven(runs),) if words)]
    return Section("balance", "Balance between members", (*blocks, Table("Requests by member", columns, rows)))


def _rows(run: RunResult, balancer: str) -> Iterator[tuple[str, ...]]:
    balance = run.record.balance[balancer]
    policy = dig(run.manifest, "settings", balancer, "policy")
    kind = dig(run.manifest, "tiers", balancer, "kind")
    for number, (member, each) in enumerate(balance.members.items()):
        first = number == 0
        yield (
            *heads.cells(run, first=first),
            f"{balancer} ({kind})" if kind and first else balancer if first else "",
            str(policy).replace("_", " ") if policy and first else "",
            member,
            people.count(round(each.requests)),
            people.plain_estimate(each.share.document()),
            people.number(balance.fairness, 4) if first else "",
        )


def _uneven(runs: list[RunResult]) -> str:
    """Return a sentence about the least even distribution of requests in any run; empty if the fairness is unknown."""
    judged = [(run, name, balance) for run in runs for name, balance in run.record.balance.items() if balance.fairness]
    if not judged:
        return ""
    run, name, worst = min(judged, key=lambda row: row[2].fairness or 0.0)
    return (
        f"The distribution by {name} in {run.run_id} was the least even: fairness "
        f"{people.number(worst.fairness, 4)} over "
        f"{people.plural(len(worst.members), 'member')}; an even share is {people.share(worst.even_share)}."
    )
