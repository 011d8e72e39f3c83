"""Mark for values that depend on a suspect run, and the note that explains the mark."""

MARK = "†"
"""Text that is placed after a value that depends on a suspect run."""
NOTE = f"{MARK} Depends on a suspect run; see the section on limits of the conclusions."
"""Note below a table in which a value is marked because it depends on a suspect run."""
