"""Import of interface descriptions (OpenAPI 3)."""
