"""Quantities are floats with a unit and an interval."""

from __future__ import annotations

import copy
import json
import math
import pickle

import pytest

from towtank import Interval, Quantity
from towtank.api.quantity import estimate, interval_of, number

P95 = Quantity(0.4336, "s", Interval(0.4252, 0.4421), "p95 of the response time")


def test_a_quantity_computes_as_a_float() -> None:
    assert isinstance(P95, float)
    assert P95 == 0.4336
    assert float.hex(P95 * 2) == float.hex(0.8672)
    assert type(P95 + 1) is float
    assert json.loads(json.dumps({"p95": P95})) == {"p95": 0.4336}
    assert f"{P95:.2f}" == "0.43"
    assert {P95: "p95"}[Quantity(0.4336)] == "p95"


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (P95, "434 [425, 442] ms"),
        (Quantity(0.4336, "s"), "434 ms"),
        (Quantity(433.6, "ms", Interval(425.2, 442.1)), "434 [425, 442] ms"),
        (Quantity(28.68, "1/s", Interval(28.49, 28.87)), "28.68 [28.49, 28.87] /s"),
        (Quantity(28.68, "1/s"), "28.7 /s"),
        (Quantity(0.618, "ratio", Interval(0.611, 0.625)), "61.8 [61.1, 62.5] %"),
        (Quantity(0.618, "ratio"), "61.8 %"),
        (Quantity(220.0, "users", Interval(210, 233)), "220 [210, 233] users"),
        (Quantity(3.0), "3"),
        (Quantity(math.inf, "s"), "unbounded"),
    ],
)
def test_it_reads_with_the_digits_that_its_interval_supports(quantity: Quantity, text: str) -> None:
    assert str(quantity) == repr(quantity) == f"{quantity}" == text


def test_it_compares_with_text_that_has_a_unit() -> None:
    assert P95 < "500 ms"
    assert not P95 < "0.4 s"
    assert P95 >= "400 ms"
    assert P95 <= 0.4336 and P95 > 0.4
    assert Quantity(433.6, "ms") < "0.5 s"
    assert Quantity(30.0, "1/s") > "1000 /min"
    assert Quantity(0.002, "ratio") <= "0.2 %"


@pytest.mark.parametrize(("quantity", "limit"), [(P95, "500 /s"), (P95, "soon"), (Quantity(3.0, "users"), "4 users")])
def test_text_of_another_kind_is_refused(quantity: Quantity, limit: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        assert quantity < limit


def test_quantities_in_different_units_are_not_mixed_up() -> None:
    p95 = P95
    assert p95 < Quantity(434.0, "ms") < Quantity(0.5, "s")
    assert p95 < Quantity(0.5)
    with pytest.raises(ValueError, match="must be a quantity in s, got 3 /s"):
        assert p95 < Quantity(3.0, "1/s")


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        P95.unit = "ms"
    with pytest.raises(AttributeError):
        P95.extra = 1


def test_copies_keep_unit_and_interval() -> None:
    for other in (copy.deepcopy(P95), pickle.loads(pickle.dumps(P95))):
        assert (other, other.unit, other.interval, other.about) == (P95, "s", P95.interval, P95.about)


def test_it_is_read_from_documents() -> None:
    read = estimate({"value": 2.0, "low": 1.0, "high": 3.0, "confidence": 0.9}, "s")
    assert read is not None and (read.interval, read.confidence) == (Interval(1.0, 3.0), 0.9)
    alone = estimate({"value": 2.0, "low": None, "high": None}, "s")
    assert alone is not None and alone.interval is None and (alone.low, alone.high) == (None, None)
    assert estimate({"value": None}, "s") is None
    assert estimate(None, "s") is None
    assert number(None) is None
    assert interval_of([None, 3.0]) == Interval(-math.inf, 3.0)
    assert interval_of({"low": 1.0, "high": None}) == Interval(1.0, math.inf)
    assert interval_of((None, None)) is None
