"""Towtank drives a system, watches every tier, explains why it behaves as it does, and sizes the hardware."""

__version__ = "0.1.0"
