"""Figures that are shown outside a report."""

from __future__ import annotations

from towtank.report.figures.capacity_curve import figure as capacity_figure
from towtank.report.figures.drive_seconds import figure as drive_figure
from towtank.report.figures.throughput import figure as throughput_figure

__all__ = ["capacity_figure", "drive_figure", "throughput_figure"]
