"""Conducts single runs, studies, and loads on a target without a study.

The module `study` executes a study, `run` executes one run, and `drive` loads one target without a study. `stopping`
handles Ctrl-C, `pinning` assigns CPUs to the generator and the system, and `display` shows the progress.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.conduct.calibration import calibrate_here as calibrate_here
    from towtank.conduct.display import Display as Display
    from towtank.conduct.display import describe_frame as describe_frame
    from towtank.conduct.display import describe_length as describe_length
    from towtank.conduct.display import display_for as display_for
    from towtank.conduct.drive_options import DriveOptions as DriveOptions
    from towtank.conduct.drive_result import DriveDoubt as DriveDoubt
    from towtank.conduct.drive_result import DriveGenerator as DriveGenerator
    from towtank.conduct.drive_result import DriveResult as DriveResult
    from towtank.conduct.driving import drive_target as drive_target
    from towtank.conduct.envelope import load_envelope as load_envelope
    from towtank.conduct.envelope import save_envelope as save_envelope
    from towtank.conduct.envelope import state_folder as state_folder
    from towtank.conduct.live_sending import LiveSending as LiveSending
    from towtank.conduct.rating import FULL_RATING as FULL_RATING
    from towtank.conduct.rating import QUICK_RATING as QUICK_RATING
    from towtank.conduct.rating import rate_machine as rate_machine
    from towtank.conduct.request import StudyRequest as StudyRequest
    from towtank.conduct.request import new_results_folder as new_results_folder
    from towtank.conduct.request import recorded_request as recorded_request
    from towtank.conduct.side_effects import describe_side_effects as describe_side_effects
    from towtank.conduct.stopping import StopRequest as StopRequest
    from towtank.conduct.study import StudyOutcome as StudyOutcome
    from towtank.conduct.study import run_study as run_study

__getattr__, __dir__ = door(
    __name__,
    {
        "calibration": "calibrate_here",
        "display": "Display describe_frame describe_length display_for",
        "drive_options": "DriveOptions",
        "drive_result": "DriveDoubt DriveGenerator DriveResult",
        "driving": "drive_target",
        "envelope": "load_envelope save_envelope state_folder",
        "live_sending": "LiveSending",
        "rating": "FULL_RATING QUICK_RATING rate_machine",
        "request": "StudyRequest new_results_folder recorded_request",
        "side_effects": "describe_side_effects",
        "stopping": "StopRequest",
        "study": "StudyOutcome run_study",
    },
)
