"""What an OTLP receiver is told while a run goes on: the points of the export, with the stage, and the tiers."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from mixed_run import EXCHANGES, TRANSACTIONS, write_mixed_run
from synthetic_runs import WALL_NS

from towtank.analysis.exporting import Reader
from towtank.sending.gathering import Gatherer
from towtank.sending.otlp import OtlpEncoder
from towtank.sending.update import Source


@pytest.fixture
def document(tmp_path):
    update = Gatherer(write_mixed_run(tmp_path / "r001")).update(last=True)
    encoder = OtlpEncoder(Source("a study", "r001", {"users": "5"}), Reader())
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
    return {one["key"]: one["value"]["stringValue"] for one in holder["attributes"]}


def points_of(document, name):
    (metric,) = [
        one for one in document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"] if one["name"] == f"towtank.{name}"
    ]
    (form,) = set(metric) - {"name", "unit", "description"}
    return metric[form]["dataPoints"]


def test_resource_is_that_of_the_export(document):
    told = attributes(document["resourceMetrics"][0]["resource"])
    assert told["service.name"] == "towtank"
    assert (told["towtank.study"], told["towtank.run"], told["towtank.factor.users"]) == ("a study", "r001", "5")


def test_counts_are_those_of_the_exchanges(document):
    found = Counter()
    for point in points_of(document, "transaction.ended"):
        told = attributes(point)
        assert told["towtank.stage"]
        found[told["towtank.transaction"], told["towtank.outcome"]] += int(point["asInt"])
    assert found == Counter((TRANSACTIONS[one.transaction], one.failure or "ok") for one in EXCHANGES)


def test_tiers_have_gauges_between_two_samples(document):
    points = points_of(document, "tier.cpus_used")
    assert {attributes(point)["towtank.tier"] for point in points} == {"content", "not attributed"}
    for point in points:
        start, end = int(point["startTimeUnixNano"]), int(point["timeUnixNano"])
        assert WALL_NS <= start < end
        assert end - start == pytest.approx(1e9, abs=1e6)
        # The host of this run was made without the probe that is taken off.
        assert point["asDouble"] >= (0 if attributes(point)["towtank.tier"] == "content" else -0.01)
