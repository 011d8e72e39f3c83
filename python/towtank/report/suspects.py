"""Defines the mark for values that depend on a suspect run, and the note that explains the mark."""

MARK = "†"
"""Sign after a value that depends on a suspect run."""
NOTE = f"{MARK} Depends on a suspect run; see the section on limits of the conclusions."
"""Note below a table with a marked value."""
