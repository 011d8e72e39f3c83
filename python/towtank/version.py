"""Version of Towtank, which results contain."""

__version__ = "0.1.0"
"""Version by semantic versioning, the same as that of the engine."""
