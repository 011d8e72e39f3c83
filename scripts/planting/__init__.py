"""Faults planted one at a time, to see which of them the tests notice."""
