"""Import of descriptions of interfaces (OpenAPI 3)."""
