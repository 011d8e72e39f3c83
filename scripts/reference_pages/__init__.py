"""Generates the JSON Schemas and the reference pages of the documentation from the code, for `scripts/schemas`."""
