"""Writes random results folders from a seed: small studies, unusual studies, and studies with damaged files.

The recordings of a study last only a few seconds, so every command finishes quickly. The module `study_damage` damages
the files.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from study_damage import DAMAGES
from synthetic_runs import Exchange, Script, Stage, closed_queue, even_schedule, write_run
from write_results_1 import manifest

from towtank.results.folder import ResultsFolder

Json = dict[str, Any]
NAMES = ("browse", "buy", "search")


@dataclass
class RandomStudy:
    """Properties of a random study, before its files are written.

    Attributes
    ----------
    levels : list of float
        Levels of the load factor, in users or requests per second; a level may be repeated.
    load : str or None
        Name of the load factor.
    others : list of str
        Levels of the factor `index`; empty without this factor.
    repetitions : int
    transactions : list of str
    tiers : dict
        Tiers by name, as in `run.json`.
    oddities : list of str
        Names of the unusual properties of the study, for failure messages.
    """

    levels: list[float]
    load: str | None = "users"
    others: list[str] = field(default_factory=list)
    repetitions: int = 1
    transactions: list[str] = field(default_factory=lambda: list(NAMES[:2]))
    tiers: Json = field(default_factory=lambda: {"content": {"kind": "content_server", "host": "here", "cpus": [0]}})
    oddities: list[str] = field(default_factory=list)
    changes: list[Callable[[Script, random.Random], Script]] = field(default_factory=list)


def write_study(path: Path, seed: int) -> list[str]:
    """Write a random study, often with damaged files; return the names of its unusual properties."""
    stream = random.Random(seed)
    drawn = _drawn(stream)
    write_drawn(path, drawn, stream)
    for _ in range(stream.choice((0, 1, 1, 2, 3))):
        name, damage = stream.choice(DAMAGES)
        drawn.oddities.append(f"{name} {damage(path, stream)}".strip())
    return drawn.oddities


def write_drawn(path: Path, drawn: RandomStudy, stream: random.Random) -> None:
    """Write a study without damage to its files."""
    cells = [(level, other, n) for level in drawn.levels for other in drawn.others or [""] for n in _numbers(drawn)]
    stream.shuffle(cells)
    design = [_planned(drawn, cell, number) for number, cell in enumerate(cells, start=1)]
    results = ResultsFolder.create(path, _manifest(drawn, design, stream))
    for planned, (level, _, _) in zip(design, cells, strict=True):
        script = _script(drawn, planned, level, stream)
        for change in drawn.changes:
            script = change(script, stream)
        write_run(results.run_path(script.name), script)


def _drawn(stream: random.Random) -> RandomStudy:
    levels = sorted(stream.sample((1.0, 2.0, 3.0, 5.0, 8.0, 12.0), stream.choice((2, 2, 2, 3, 3, 5))))
    drawn = RandomStudy(levels)
    for change in stream.sample(STUDIES, stream.choice((0, 1, 1, 2))):
        drawn.oddities.append(change.__name__)
        change(drawn, stream)
    for odd in stream.sample(RUNS, stream.choice((0, 0, 1, 2))):
        drawn.oddities.append(odd.__name__)
        drawn.changes.append(odd)
    return drawn


def _numbers(drawn: RandomStudy) -> range:
    return range(1, drawn.repetitions + 1)


def _planned(drawn: RandomStudy, cell: tuple[float, str, int], number: int) -> Json:
    level, other, repetition = cell
    load = {drawn.load: f"{level:g}"} if drawn.load else {}
    factors = {**load, **({"index": other} if other else {})}
    return {"run": f"r{number:03d}", "index": number, "repetition": repetition, "factors": factors}


# Unusual properties of a whole study. Each function changes the properties of a random study in place.


def one_level(drawn: RandomStudy, _: random.Random) -> None:
    drawn.levels, drawn.repetitions = drawn.levels[:1], 2


def one_run(drawn: RandomStudy, _: random.Random) -> None:
    drawn.levels, drawn.others, drawn.repetitions = drawn.levels[-1:], [], 1


def no_load(drawn: RandomStudy, _: random.Random) -> None:
    drawn.load, drawn.others = None, ["absent", "present"]


def a_rate(drawn: RandomStudy, _: random.Random) -> None:
    drawn.load = "rate"


def configurations(drawn: RandomStudy, _: random.Random) -> None:
    drawn.others = ["absent", "present"]


def repeated(drawn: RandomStudy, _: random.Random) -> None:
    """Measure each combination of configuration and load twice."""
    drawn.repetitions, drawn.levels = 2, drawn.levels[:3]


def one_transaction(drawn: RandomStudy, _: random.Random) -> None:
    drawn.transactions = list(NAMES[:1])


def odd_names(drawn: RandomStudy, stream: random.Random) -> None:
    """Use transaction names that file formats must quote."""
    drawn.transactions = stream.sample(("", " ", 'a"b', "é\n", "<b>", "a,b;c", "=1+1", "[red]", "a/b", "x" * 300), 2)


def two_tiers(drawn: RandomStudy, stream: random.Random) -> None:
    """Add a second tier that was not observed."""
    drawn.tiers = {**drawn.tiers, "store": stream.choice(({}, {"kind": "postgresql", "host": "there", "cpus": []}))}


def no_tiers(drawn: RandomStudy, _: random.Random) -> None:
    drawn.tiers = {}


STUDIES = (
    one_level, one_run, no_load, a_rate, configurations, repeated, one_transaction, odd_names, two_tiers, no_tiers,
)  # fmt: skip


# Unusual properties of a run. Each function takes the script from which a run is written, and returns a changed script.


def without_cpu_time(script: Script, _: random.Random) -> Script:
    return replace(script, exchanges=[replace(each, service=0.0) for each in script.exchanges])


def all_failed(script: Script, stream: random.Random) -> Script:
    kind = stream.choice(("timeout", "connect", "status_5xx", "closed", "something_new"))
    return replace(script, exchanges=[replace(each, failure=kind) for each in script.exchanges])


def some_failed(script: Script, stream: random.Random) -> Script:
    """Make a random fraction of the requests fail."""
    share = stream.random()
    failed = [replace(each, failure="check") if stream.random() < share else each for each in script.exchanges]
    return replace(script, exchanges=failed)


def one_kind_failed(script: Script, _: random.Random) -> Script:
    """Make all requests of the first transaction fail."""
    failed = [replace(each, failure="check") if each.transaction == 0 else each for each in script.exchanges]
    return replace(script, exchanges=failed)


def nothing_done(script: Script, stream: random.Random) -> Script:
    """Remove all requests, with a probability of 70 %."""
    return replace(script, exchanges=[]) if stream.random() < 0.7 else script


def never_answered(script: Script, _: random.Random) -> Script:
    """Move all responses beyond the end of the run."""
    return replace(script, exchanges=[replace(each, end=each.end + 1000.0) for each in script.exchanges])


def one_exchange(script: Script, _: random.Random) -> Script:
    return replace(script, exchanges=script.exchanges[:1])


def all_equal(script: Script, _: random.Random) -> Script:
    """Make all response times and all think times equal."""
    seconds = sum(stage.seconds for stage in script.stages)
    exchanges, starts, ends = even_schedule(
        users=script.users, response_s=0.05, think_s=0.2, seconds=seconds, service_s=0.01
    )
    return replace(script, exchanges=exchanges, user_starts=starts, user_ends=ends)


def without_pauses(script: Script, _: random.Random) -> Script:
    return replace(script, exchanges=[replace(each, think=0.0) for each in script.exchanges])


def at_once(script: Script, _: random.Random) -> Script:
    """Make each request end at its start."""
    return replace(script, exchanges=[_instant(each) for each in script.exchanges])


def _instant(each: Exchange) -> Exchange:
    return replace(each, actual=each.intended, end=each.intended, service=0.0)


def tiers_missing(script: Script, stream: random.Random) -> Script:
    """Remove each tier from a run with a probability of 50 %."""
    return replace(script, tiers={name: tier for name, tier in script.tiers.items() if stream.random() < 0.5})


def no_steady_stage(script: Script, stream: random.Random) -> Script:
    """Replace the stages by a single stage of a random phase, which may be very short."""
    phase = stream.choice(("ramp_up", "steady", "ramp_down"))
    seconds = stream.choice((0.5, 2.0, 6.0))
    return replace(script, stages=[Stage("only", phase, seconds, script.users)])


def cut_off(script: Script, stream: random.Random) -> Script:
    """Set a random status other than `complete`."""
    return replace(script, status=stream.choice(("running", "planned", "failed", "stopped", "interrupted", "")))


def two_workers(script: Script, _: random.Random) -> Script:
    return replace(script, workers=2)


RUNS = (
    without_cpu_time, all_failed, some_failed, one_kind_failed, nothing_done, never_answered, one_exchange, all_equal,
    without_pauses, at_once, tiers_missing, no_steady_stage, cut_off, two_workers,
)  # fmt: skip


def _stages(users: int) -> list[Stage]:
    return [
        Stage("ramp_up", "ramp_up", 1.0, users),
        Stage("steady", "steady", 6.0, users),
        Stage("ramp_down", "ramp_down", 1.0, 0),
    ]


def _script(drawn: RandomStudy, planned: Json, level: float, stream: random.Random) -> Script:
    users, count = max(1, round(level)), len(drawn.transactions)
    exchanges, starts, ends = closed_queue(
        users=users,
        think_s=0.3,
        demands_s=[0.02 + 0.03 * number for number in range(count)],
        weights=[1.0] * count,
        stages=_stages(users),
        seed=stream.randrange(1 << 30),
    )
    return Script(
        name=planned["run"],
        transactions=drawn.transactions,
        stages=_stages(users),
        exchanges=exchanges,
        factors=planned["factors"],
        users=users,
        index=planned["index"],
        repetition=planned["repetition"],
        user_starts=starts,
        user_ends=ends,
        database_share=[0.3] * count,
        tiers=drawn.tiers,
    )


def _manifest(drawn: RandomStudy, design: list[Json], stream: random.Random) -> Json:
    whole = manifest(design)
    load = [_factor(drawn.load, [f"{level:g}" for level in drawn.levels], drawn.levels)] if drawn.load else []
    others = [_factor("index", drawn.others, None)] if drawn.others else []
    share = 100.0 / len(drawn.transactions)
    whole["study"] |= {
        "factors": [*load, *others],
        "load_factor": drawn.load,
        "stages": [{"name": each.name, "phase": each.phase, "duration_s": each.seconds} for each in _stages(1)],
        "mix": [{"group": "everybody", "transaction": name, "weight": share} for name in drawn.transactions],
        "system": {"tiers": {name: {"kind": tier.get("kind")} for name, tier in drawn.tiers.items()}},
        "objectives": [_objective(drawn.transactions, stream) for _ in range(stream.randint(0, 2))],
    }
    if drawn.others and drawn.load:
        whole["study"]["predict"] = _prediction(drawn)
    return whole


def _factor(name: str, levels: Sequence[str], numeric: Sequence[float] | None) -> Json:
    return {"name": name, "levels": list(levels), "numeric": None if numeric is None else list(numeric)}


def _objective(transactions: Sequence[str], stream: random.Random) -> Json:
    name = stream.choice((None, *transactions, "unknown"))
    value = stream.choice((1e-6, 0.1, 1.0))
    text = f"p95 of {name} < {value} s" if name else f"p95 < {value} s"
    return {"text": text, "metric": "p95", "transaction": name, "comparison": "<", "value": value}


def _prediction(drawn: RandomStudy) -> Json:
    return {
        "from": {"index": drawn.others[0]},
        "to": {"index": drawn.others[1]},
        "loads": list(drawn.levels),
        "service": "content",
        "hosts": ["content"],
        "servers_from": 1,
        "servers_to": 2,
    }
