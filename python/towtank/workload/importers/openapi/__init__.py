"""Imports interface descriptions (OpenAPI 3)."""
