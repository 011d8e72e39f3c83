"""Defines the mark for values that depend on a suspect run, and the note that explains the mark."""

from towtank.conclusion_words import SUSPECT_MARK

MARK = SUSPECT_MARK
"""Sign after a value that depends on a suspect run."""
NOTE = (
    f"{MARK} Includes a suspect run; see the section on limits of the conclusions. Claims use valid runs alone where "
    "these suffice, so that their values may differ."
)
"""Note below a table with a marked value."""
