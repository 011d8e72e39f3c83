"""A small but real enterprise-content server that speaks the CMIS 1.1 Browser Binding.

The way of a request: `application` (authentication, metering) → `browser` (the binding: forms and JSON) → a worker
of `workers` →
`repository` (what the operation means) → `database` (metadata) and `storage` (content). Nothing below `browser`
knows HTTP.
"""

from __future__ import annotations

__version__ = "0.1.0"
