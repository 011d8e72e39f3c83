from __future__ import annotations

import pytest

from towtank.report.figures import drive_seconds
from towtank.report.pictures import static_svg

DOCUMENT = {
    "intervals": [
        {"t_s": 1.0, "requests": 100, "errors": 0, "p95_ms": 12.0},
        {"t_s": 2.0, "requests": 120, "errors": 1, "p95_ms": None},
        {"t_s": 2.5, "requests": 40, "errors": 0, "p95_ms": 18.0},
    ]
}


def test_requests_are_rates_over_the_length_of_each_second() -> None:
    rows = drive_seconds.compute(DOCUMENT)
    assert [row.per_s for row in rows] == [100.0, 120.0, pytest.approx(80.0)]
    assert [row.p95_ms for row in rows] == [12.0, None, 18.0]


def test_the_picture_is_drawn_and_described() -> None:
    figure = drive_seconds.figure(DOCUMENT)
    assert figure is not None and figure.spec is not None and figure.table is not None
    assert "requests [1/s]" in static_svg(figure.spec)
    assert figure.description == (
        "Requests per second from 80 to 120; 95th percentile of the response time from 12 to 18 ms."
    )
    assert figure.table.rows[1] == ("2", "120", "")


def test_without_a_second_there_is_none() -> None:
    assert drive_seconds.figure({"intervals": []}) is None
    silent = drive_seconds.figure({"intervals": [{"t_s": 1.0, "requests": 0, "errors": 0, "p95_ms": None}]})
    assert silent is not None and silent.description.endswith("nothing was timed.")
