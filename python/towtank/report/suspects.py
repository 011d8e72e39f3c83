"""Mark of values that depend on a suspect run."""

MARK = "†"
"""Mark after the value."""
NOTE = f"{MARK} Leans on a suspect run; see the limits of the conclusions."
"""Note below a table with the mark."""
