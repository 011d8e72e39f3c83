"""Version of Towtank."""

__version__ = "0.1.0"
"""Semantic version of Towtank and its engine; results contain it."""
