"""Command lines of curl."""
