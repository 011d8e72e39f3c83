"""Recordings of browsers and proxies (HTTP Archive)."""
