"""Summarizes one run from its folder.

`reading` reads the run folder. `data` defines the content of the folder and selects the window. `summary` computes the
sections of the summary. `evidence` collects the evidence for the verdict on the run.
"""

from towtank.analysis.run.data import RunData
from towtank.analysis.run.inputs import inputs, is_current
from towtank.analysis.run.reading import read_run, study_limits
from towtank.analysis.run.summary import SCHEMA, SUMMARY, describe, kept_summary, summarize_run
