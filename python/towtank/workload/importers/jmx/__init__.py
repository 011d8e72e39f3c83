"""Imports test plans of JMeter."""
