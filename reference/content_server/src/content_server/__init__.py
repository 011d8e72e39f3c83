"""A small but real enterprise-content server."""
