"""From what was recorded to what can be said: steady state, statistics, operational laws, verdicts.

`summarize_run` analyses one run folder, `summarize_study` all runs of a study together, `drive_document`
answers `towtank drive`, `gather` brings together what an export writes. All work on what is there and say what
is missing. `docs/background/architecture.md` tells what the packages in here are for.
"""

from towtank.analysis.compaction import compact
from towtank.analysis.drive import drive_document
from towtank.analysis.exporting import gather
from towtank.analysis.run import summarize_run
from towtank.analysis.study import summarize_study

__all__ = ["compact", "drive_document", "gather", "summarize_run", "summarize_study"]
