"""Figure of the residuals of fitted models."""

from __future__ import annotations

import dataclasses

import pytest
import report_synthetic as synthetic
from drawn_figures import texts

from towtank.model import CapacityModel
from towtank.report.figures import (
    residuals,
)
from towtank.report.pictures import static_svg
from towtank.report.source import Results


def modelled(*levels: tuple[float, float, float]) -> Results:
    """Return a study with a fitted curve of one configuration. The standard error of each measured throughput is 1 /s.

    Each level has a load, a measured throughput and a fitted throughput.
    """
    points = [
        {
            "name": f"r{number:03d}",
            "load": load,
            "throughput": measured,
            "fitted_throughput": fitted,
            "standard_error": 1.0,
            "response_s": None,
            "think_s": None,
        }
        for number, (load, measured, fitted) in enumerate(levels)
    ]
    network = {"refused": None, "levels": [{"load": 10.0, "throughput": 10.0, "fitted_throughput": 11.0}]}
    configuration = {"label": "a", "refused": None, "points": points, "network": network}
    model = CapacityModel.model_validate({"configurations": [configuration]})
    return dataclasses.replace(synthetic.results(), model=model)


def test_residuals_are_relative_to_the_measurement() -> None:
    found = residuals.compute(modelled((10, 10.0, 10.5), (40, 50.0, 40.0)))
    assert [(each.model, each.load, each.is_beyond) for each in found] == [
        ("curve", 10, False),
        ("curve", 40, True),
        ("network", 10.0, False),
    ]
    assert [each.share for each in found] == pytest.approx([0.05, -0.2, 0.1])
    assert [each.error for each in found] == pytest.approx([0.2, 0.04, 0.2])


def test_residuals_are_drawn_around_zero() -> None:
    figure = residuals.figure(modelled((10, 10.0, 10.5), (40, 50.0, 40.0)))
    assert figure is not None
    assert "1 of 3 residuals exceed" in figure.description
    assert {"curve", "network"} <= {*texts(static_svg(figure.spec or {}))}
    assert residuals.figure(synthetic.results()) is None
