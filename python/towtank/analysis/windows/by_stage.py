"""Chooses the window of a single steady stage of a run."""

from __future__ import annotations

from towtank.analysis.measurement import Measurement
from towtank.analysis.windows.stretch import stretch_of
from towtank.analysis.windows.window import Window, tested


def of_stage(measurement: Measurement, stage: int, *, settled: bool = False) -> Window | None:
    """Return the recorded time of a stage as a window; None if nothing was recorded.

    The window is tested for a steady state, without the CPU time of the tiers.

    Parameters
    ----------
    measurement : Measurement
    stage : int
        Number of the stage.
    settled : bool, default False
        True if the previous stage ended because the system was steady. The window then includes the start of the stage;
        otherwise a transient at the start is excluded.
    """
    window = asked_stage(measurement, stage)
    return None if window is None else tested(measurement, window, {}, settled=settled)


def asked_stage(measurement: Measurement, stage: int) -> Window | None:
    """Return the recorded time of a stage as a window, without a test for a steady state; None if nothing was
    recorded.
    """
    about = measurement.stages[stage]
    chosen = measurement.inside(about.start_s, min(about.end_s, measurement.recorded_until))
    chosen &= measurement.stage == stage
    if not chosen.any():
        return None
    end = float(measurement.ends[chosen].max())
    stretch = stretch_of(measurement.stages, stage)
    return Window(about.start_s, end, about.start_s, end, about.end_s, stretch=stretch)
