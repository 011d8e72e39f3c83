"""Imports recordings of browsers and proxies (HTTP Archive)."""
