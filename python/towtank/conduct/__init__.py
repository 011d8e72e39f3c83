"""Conducts single runs, studies, and loads on a target without a study.

The module `study` executes a study, `run` executes one run, and `drive` loads one target without a study. `stopping`
handles Ctrl-C, `pinning` assigns CPUs to the generator and the system, and `display` shows the progress.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.conduct.calibration import calibrate_here
    from towtank.conduct.display import Display, describe_frame, describe_length, display_for
    from towtank.conduct.drive_options import DriveOptions
    from towtank.conduct.drive_result import DriveDoubt, DriveGenerator, DriveResult
    from towtank.conduct.driving import drive_target
    from towtank.conduct.envelope import load_envelope, save_envelope, state_folder
    from towtank.conduct.live_sending import LiveSending
    from towtank.conduct.rating import FULL_RATING, QUICK_RATING, rate_machine
    from towtank.conduct.request import StudyRequest, new_results_folder, recorded_request
    from towtank.conduct.side_effects import describe_side_effects
    from towtank.conduct.stopping import StopRequest
    from towtank.conduct.study import StudyOutcome, run_study

__getattr__, __dir__ = door(__name__)
