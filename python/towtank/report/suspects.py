"""The mark of what leans on a suspect run."""

MARK = "†"
"""Stands behind the value."""
NOTE = f"{MARK} Leans on a suspect run; see the limits of the conclusions."
"""Stands below the table that has the mark."""
