"""Builds the section that compares the prediction for a configuration with its later measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from towtank.analysis import LoadPoint
from towtank.model import PredictedBand, PredictedLoad, PredictionResult
from towtank.report import format as people
from towtank.report.document import Block, Callout, Section, Table, headings, paragraph, text
from towtank.report.source import Results


def build(results: Results) -> Section | None:
    """Build the section on the prediction; None if the study declares no prediction, or if it has not been computed."""
    prediction = results.prediction
    if prediction is None:
        return None
    blocks: list[Block] = [paragraph(_said(prediction))] if prediction.to else []
    if prediction.refused:
        blocks.append(Callout("note", "No prediction", (text(f"{prediction.refused}."),)))
    else:
        blocks += [_table(results, prediction), _stations(prediction)]
    return Section("prediction", "Prediction and measurement", tuple(blocks))


def _place(levels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _said(prediction: PredictionResult) -> str:
    runs = people.listing(list(prediction.runs))
    rests = f" From {runs} alone" if runs else ""
    when = "before the first of them was started" if prediction.made_before else "after some of them had ended"
    return (
        f"The runs with {_place(prediction.from_)} come first.{rests}{',' if runs else ''} the runs with "
        f"{_place(prediction.to)} were predicted {when} ({people.moment(prediction.made_wall_ns)}). The "
        f"prediction uses the closed curve of the measured points, with its bottleneck {_growth(prediction)} and all "
        "other hosts shared. A measurement is inside if its 95 % interval overlaps the 95 % band of the prediction. "
        "The bands include the errors of the points, differences in the CPU time of a transaction between points, and "
        "demands that change by up to a quarter until a host is saturated. They do not include the choice of the model."
    )


def _growth(prediction: PredictionResult) -> str:
    """Render the change of the bottleneck in the predicted configuration, such as `with 8 CPUs instead of 4`."""
    small, big = prediction.cpus_from, prediction.cpus_to
    grown = [f"in {prediction.servers_to} copies instead of {prediction.servers_from}"]
    if prediction.servers_to == prediction.servers_from:
        grown = []
    if small is not None and big is not None and small != big:
        grown.append(f"with {people.plain(big)} CPUs instead of {people.plain(small)}")
    return " and ".join(grown)


def _table(results: Results, prediction: PredictionResult) -> Table:
    columns = headings(
        f"#{results.load_factor.capitalize()}",
        "#Throughput predicted",
        "#Throughput measured",
        "Verdict",
        "#Response time predicted",
        "#Response time measured",
        "Verdict",
    )
    measured = _measured(results, prediction)
    rows = tuple(_row(row, measured.get(row.load)) for row in prediction.rows)
    return Table(f"Prediction and measurement, {_place(prediction.to)}", columns, rows)


def _measured(results: Results, prediction: PredictionResult) -> dict[float, LoadPoint]:
    """Return the measured load points of the predicted configuration, by load."""
    for configuration in results.configurations:
        if prediction.to.items() <= configuration.key.items():
            return {point.level: point for point in configuration.usable}
    return {}


def _row(row: PredictedLoad, point: LoadPoint | None) -> tuple[str, ...]:
    rate = None if point is None else point.throughput_per_s
    response = None if point is None else point.response_time_s.mean
    return (
        people.plain(row.load),
        _band(row.throughput, people.rate, people.rate_estimate),
        people.ABSENT if rate is None else people.rate_estimate(rate),
        verdict(row.throughput, rate),
        _band(row.response_s, people.seconds, people.seconds_estimate),
        people.ABSENT if response is None else people.seconds_estimate(response),
        verdict(row.response_s, response),
    )


def _band(
    band: PredictedBand | None, show: Callable[[Any], str], show_estimate: Callable[[people.Estimate], str]
) -> str:
    if band is None:
        return people.ABSENT
    low, high = band.band_95
    if low is not None and high is not None:
        return show_estimate({"value": band.median, "low": low, "high": high})
    ends = ", ".join("any" if end is None else show(end) for end in (low, high))
    return f"{show(band.median)} [{ends}]"


def verdict(band: PredictedBand | None, measured: people.Estimate | None) -> str:
    """Return the position of a measured value relative to its predicted band: `inside`, `above` or `below`.

    The result is a dash if the measurement or the prediction is missing.
    """
    value, *ends = people.ends_of(measured)
    if band is None or value is None:
        return people.ABSENT
    low, high = band.band_95
    least, most = (value if end is None else end for end in ends)
    if low is not None and most < low:
        return "below"
    return "above" if high is not None and least > high else "inside"


def _time(prediction: PredictionResult) -> float:
    """Return the service time of a transaction in the enlarged tier, without waiting. [s]"""
    each = prediction.fitted.bottleneck_demand_s / prediction.servers_to
    small, big = prediction.cpus_from, prediction.cpus_to
    if small is None or big is None:
        return each
    return float(each * small / math.ceil(small) * math.ceil(big) / big)


def _stations(prediction: PredictionResult) -> Table:
    columns = headings("Station", "#Number", "#Demand of a transaction", "#Time at it", "#Highest use measured")
    demand, number = prediction.fitted.bottleneck_demand_s, prediction.servers_to
    rows = [
        (f"{prediction.service} (fitted)", str(number), people.seconds(demand), people.seconds(_time(prediction)), "")
    ]
    rows += [
        (
            shared.name,
            "1",
            people.seconds(shared.demand_s),
            people.seconds(shared.service_time_s),
            people.share(shared.utilization),
        )
        for shared in prediction.shared
    ]
    other, think = people.seconds(prediction.fitted.other_s), people.seconds(prediction.think_time_s)
    notes = [f"Time elsewhere: {other}, a part of which is spent at the shared stations; think time: {think}."]
    sizes = [prediction.cpus_to, *(shared.cpus_then for shared in prediction.shared)]
    if any(size is not None and size < 1 for size in sizes):
        notes.append(
            "A host with less than one CPU runs at full speed until the CPU time of its period is used up. The model "
            "treats it as a slow server, which is correct only if the host is always busy."
        )
    if prediction.machine_demand_s:
        notes.append(
            f"All hosts together need {people.seconds(prediction.machine_demand_s)} of CPU time for a transaction, "
            f"and the machine has {people.plain(prediction.machine_cpus)} CPUs for all hosts. Throughput cannot "
            "exceed the number of CPUs divided by this time."
        )
    return Table("Stations of the predicted configuration", columns, tuple(rows), tuple(notes))
