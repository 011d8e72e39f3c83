"""Import of recordings of browsers and proxies (HTTP Archive)."""
