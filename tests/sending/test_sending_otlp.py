from __future__ import annotations

import json
from collections import Counter

import pytest
from mixed_run import EXCHANGES, TRANSACTIONS, write_mixed_run
from synthetic_runs import WALL_NS

from towtank.analysis.exporting import MaterialReader
from towtank.sending.gathering import Gatherer
from towtank.sending.otlp import OtlpEncoder
from towtank.sending.update import SentRun


@pytest.fixture
def document(tmp_path):
    update = Gatherer(write_mixed_run(tmp_path / "r001")).update(last=True)
    encoder = OtlpEncoder(SentRun("a study", "r001", {"users": "5"}), MaterialReader())
    (body,) = encoder.encode(update)
    assert encoder.finish() == []
    document = json.loads(body.content)
    points = [
        point
        for metric in document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
        for form in set(metric) - {"name", "unit", "description"}
        for point in metric[form]["dataPoints"]
    ]
    assert body.points == len(points)
    return document


def attributes(holder):
    return {attribute["key"]: attribute["value"]["stringValue"] for attribute in holder["attributes"]}


def points_of(document, name):
    (metric,) = [
        candidate
        for candidate in document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
        if candidate["name"] == f"towtank.{name}"
    ]
    (form,) = set(metric) - {"name", "unit", "description"}
    return metric[form]["dataPoints"]


def test_resource_is_that_of_the_export(document):
    reported = attributes(document["resourceMetrics"][0]["resource"])
    assert reported["service.name"] == "towtank"
    assert (reported["towtank.study"], reported["towtank.run"], reported["towtank.factor.users"]) == (
        "a study",
        "r001",
        "5",
    )


def test_counts_are_those_of_the_exchanges(document):
    found = Counter()
    for point in points_of(document, "transaction.ended"):
        reported = attributes(point)
        assert reported["towtank.stage"]
        found[reported["towtank.transaction"], reported["towtank.outcome"]] += int(point["asInt"])
    assert found == Counter((TRANSACTIONS[exchange.transaction], exchange.failure or "ok") for exchange in EXCHANGES)


def test_tiers_have_gauges_between_two_samples(document):
    points = points_of(document, "tier.cpus_used")
    assert {attributes(point)["towtank.tier"] for point in points} == {"content", "not attributed"}
    for point in points:
        start, end = int(point["startTimeUnixNano"]), int(point["timeUnixNano"])
        assert WALL_NS <= start < end
        assert end - start == pytest.approx(1e9, abs=1e6)
        # The simulated CPU time of the host does not include the CPU time of the probe. Since the latter is subtracted,
        # the difference can be slightly negative.
        assert point["asDouble"] >= (0 if attributes(point)["towtank.tier"] == "content" else -0.01)
