"""Window of a single steady stage of a run."""

from __future__ import annotations

from towtank.analysis.measurement import Measurement
from towtank.analysis.windows.stretch import stretch_of
from towtank.analysis.windows.window import Window, tested


def of_stage(measurement: Measurement, stage: int, *, settled: bool = False) -> Window | None:
    """Return the recorded part of a stage, tested for a steady state without the CPU time of tiers; None if empty.

    Parameters
    ----------
    measurement : Measurement
    stage : int
        Number of the stage.
    settled : bool, default False
        Whether the previous stage ended because the system was steady; then no transient is left out.
    """
    window = asked_stage(measurement, stage)
    return None if window is None else tested(measurement, window, {}, settled=settled)


def asked_stage(measurement: Measurement, stage: int) -> Window | None:
    """Return the recorded part of a stage as planned; None if none of it was recorded."""
    about = measurement.stages[stage]
    chosen = measurement.inside(about["start_s"], min(about["end_s"], measurement.recorded_until))
    chosen &= measurement.stage == stage
    if not chosen.any():
        return None
    end = float(measurement.ends[chosen].max())
    return Window(
        about["start_s"], end, about["start_s"], end, about["end_s"], stretch=stretch_of(measurement.stages, stage)
    )
