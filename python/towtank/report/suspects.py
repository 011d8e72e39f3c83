"""Mark of values that depend on a suspect run."""

MARK = "†"
"""Mark after a value that depends on a suspect run."""
NOTE = f"{MARK} Leans on a suspect run; see the limits of the conclusions."
"""Note below a table that contains the mark."""
