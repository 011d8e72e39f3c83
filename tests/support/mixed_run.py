"""Writes a run for tests of exports, with two load threads, names that file formats must escape, and failures of all
kinds.
"""

from __future__ import annotations

from pathlib import Path

from synthetic_runs import Exchange, Script, Stage, write_run

from towtank.results.folder import RunFolder

TRANSACTIONS = ["read, all", 'write "x" | <y>']
SECONDS = 4
_FAILURES = {3: "timeout", 5: "connect", 8: "check", 14: "status_5xx", 17: "timeout", 21: "closed"}
UNTIMED = ("connect", "closed")


def _exchange(number: int) -> Exchange:
    """Return request `number` of 40. Requests start at intervals of 0.09 s; those that time out take longest."""
    failure = _FAILURES.get(number)
    intended = 0.05 + 0.09 * number
    took = 0.31 if failure == "timeout" else 0.010 + 0.001 * (number * 7 % 40)
    return Exchange(number % 2, intended, intended + 0.0005, intended + took, 0.0, 0.01, number % 5, failure)


EXCHANGES = [_exchange(number) for number in range(40)]


def write_mixed_run(path: Path) -> RunFolder:
    """Write a run with two load threads: users 0, 2 and 4 on the first, users 1 and 3 on the second."""
    return write_run(
        path,
        Script(
            name=path.name,
            transactions=TRANSACTIONS,
            stages=[Stage("warm", "ramp_up", 1.5, 5), Stage("steady", "steady", 2.5, 5)],
            exchanges=EXCHANGES,
            factors={"users": "5", "search index": 'a "b"\\c'},
            users=5,
            user_starts=[0.0] * 5,
            user_ends=[float(SECONDS)] * 5,
            workers=2,
        ),
    )
