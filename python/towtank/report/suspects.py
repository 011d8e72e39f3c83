"""Mark for values that depend on a suspect run."""

MARK = "†"
"""Text that is placed after a value that depends on a suspect run."""
NOTE = f"{MARK} Depends on a suspect run; see the section on limits of the conclusions."
"""Note below a table in which a value is marked because it depends on a suspect run."""
