"""One configuration predicted from another before it was run, beside what was measured then."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from towtank.report import format as people
from towtank.report.document import Block, Callout, Column, Section, Table, paragraph, text
from towtank.report.source import Json, Results, dig


def build(results: Results) -> Section | None:
    """The section; None where the study asks for no prediction, or none was made yet."""
    told = results.prediction
    if not told:
        return None
    blocks: list[Block] = [paragraph(_said(told))]
    if told.get("refused"):
        blocks.append(Callout("note", "No prediction", (text(f"{told['refused']}."),)))
    else:
        blocks += [_table(results, told), _stations(told)]
    return Section("prediction", "Prediction and measurement", tuple(blocks))


def _place(levels: Json) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _said(told: Json) -> str:
    runs = people.listing([str(run) for run in told.get("runs") or []])
    rests = f" From {runs} alone" if runs else ""
    when = "before the first of them was started" if told.get("made_before") else "after some of them had been run"
    return (
        f"The runs with {_place(told['from'])} come first.{rests}{',' if runs else ''} those with {_place(told['to'])} "
        f"were predicted {when} ({people.moment(told.get('made_wall_ns'))}): the closed "
        f"curve of what was measured, its bottleneck {_growth(told)}, all other hosts shared. "
        "A measurement is inside where its interval of 95 % meets the band of 95 % of the "
        "prediction. The bands hold the errors of the points, CPU times of a transaction that differed between them, "
        "and demands that may drift by a quarter until a host is busy all the time; not the choice of the model."
    )


def _growth(told: Json) -> str:
    """What became more of the bottleneck."""
    small, big = told.get("cpus_from"), told.get("cpus_to")
    grown = [f"taken {told['servers_to']} times in place of {told['servers_from']}"]
    if told["servers_to"] == told["servers_from"]:
        grown = []
    if small is not None and big is not None and small != big:
        grown.append(f"with {people.plain(big)} CPUs in place of {people.plain(small)}")
    return " and ".join(grown)


def _table(results: Results, told: Json) -> Table:
    columns = (
        Column(results.load_factor.capitalize(), numeric=True),
        Column("Throughput predicted", numeric=True),
        Column("Throughput measured", numeric=True),
        Column("Verdict"),
        Column("Response time predicted", numeric=True),
        Column("Response time measured", numeric=True),
        Column("Verdict"),
    )
    measured = _measured(results, told)
    rows = tuple(_row(row, measured.get(float(row["load"]))) for row in told.get("rows") or ())
    return Table(f"Prediction and measurement, {_place(told['to'])}", columns, rows)


def _measured(results: Results, told: Json) -> dict[float, Json]:
    """Points of the configuration that was predicted, by load."""
    for one in results.summary.get("configurations") or ():
        if one.get("key") == told["to"] or told["to"].items() <= (one.get("key") or {}).items():
            return {
                float(point["load"]): point
                for point in one["points"]
                if any(level != "invalid" for level in point.get("verdicts") or ())
            }
    return {}


def _row(row: Json, point: Json | None) -> tuple[str, ...]:
    rate = None if point is None else point.get("throughput_per_s")
    response = None if point is None else dig(point, "response_time_s", "mean")
    return (
        people.plain(row["load"]),
        _band(row.get("throughput"), people.rate, people.rate_estimate),
        people.ABSENT if rate is None else people.rate_estimate(rate),
        verdict(row.get("throughput"), rate),
        _band(row.get("response_s"), people.seconds, people.seconds_estimate),
        people.ABSENT if response is None else people.seconds_estimate(response),
        verdict(row.get("response_s"), response),
    )


def _band(told: Json | None, show: Callable[[Any], str], show_estimate: Callable[[people.Estimate], str]) -> str:
    if told is None:
        return people.ABSENT
    low, high = told["band_95"]
    if low is not None and high is not None:
        return show_estimate({"value": told["median"], "low": low, "high": high})
    ends = ", ".join("any" if end is None else show(end) for end in (low, high))
    return f"{show(told['median'])} [{ends}]"


def verdict(told: Json | None, measured: people.Estimate | None) -> str:
    """Whether a measurement is `inside`, `above` or `below` the band of a prediction; a dash without one of both."""
    value = None if measured is None else measured.get("value")
    if told is None or measured is None or value is None:
        return people.ABSENT
    low, high = told["band_95"]
    least, most = (value if (end := measured.get(key)) is None else end for key in ("low", "high"))
    if low is not None and most < low:
        return "below"
    return "above" if high is not None and least > high else "inside"


def _time(told: Json) -> float:
    """Time that a transaction needs at each station of the bottleneck, undisturbed. [s]"""
    each = float(told["fitted"]["bottleneck_demand_s"]) / int(told["servers_to"])
    small, big = told.get("cpus_from"), told.get("cpus_to")
    if small is None or big is None:
        return each
    return float(each * small / math.ceil(small) * math.ceil(big) / big)


def _stations(told: Json) -> Table:
    columns = (
        Column("Station"),
        Column("Number", numeric=True),
        Column("Demand of a transaction", numeric=True),
        Column("Time at it", numeric=True),
        Column("Highest use measured", numeric=True),
    )
    demand = told["fitted"]["bottleneck_demand_s"]
    number = int(told["servers_to"])
    rows = [(f"{told['service']} (fitted)", str(number), people.seconds(demand), people.seconds(_time(told)), "")]
    rows += [
        (
            str(one["name"]),
            "1",
            people.seconds(one["demand_s"]),
            people.seconds(one["service_time_s"]),
            people.share(one["utilization"]),
        )
        for one in told["shared"]
    ]
    other, think = people.seconds(told["fitted"]["other_s"]), people.seconds(told["think_time_s"])
    notes = [f"Elsewhere {other}, of which the stations that are shared have their part; think time {think}."]
    sizes = [told.get("cpus_to"), *(one.get("cpus_then") for one in told["shared"])]
    if any(one is not None and one < 1 for one in sizes):
        notes.append(
            "A host with less than a CPU lets short work pass at full speed until the CPU time of its period is used "
            "up; the time at it is that of a slow server, which holds when it is busy all the time."
        )
    if told.get("machine_demand_s"):
        notes.append(
            f"All hosts together need {people.seconds(told['machine_demand_s'])} of CPU time for a transaction, and "
            f"the machine has {people.plain(told['machine_cpus'])} CPUs for them: no throughput above their ratio."
        )
    return Table("What the prediction is made of", columns, tuple(rows), tuple(notes))
