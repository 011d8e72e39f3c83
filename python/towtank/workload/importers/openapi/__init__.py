"""Descriptions of interfaces (OpenAPI 3)."""
