"""From the folder of one run to its summary.

`reading` reads the folder, `data` is what was read and the window in it, `summary` makes the sections, `evidence`
brings together what the verdict rests on.
"""

from towtank.analysis.run.data import RunData
from towtank.analysis.run.reading import read_run, study_limits
from towtank.analysis.run.summary import SCHEMA, SUMMARY, describe, summarize_run

__all__ = ["SCHEMA", "SUMMARY", "RunData", "describe", "read_run", "study_limits", "summarize_run"]
