"""A small but complete enterprise-content server that implements the CMIS 1.1 Browser Binding.

A request passes `application` (authentication, metering) → `browser` (the binding: forms and JSON) → a worker of
`workers` → `repository` (the operation) → `database` (metadata) and `storage` (content). No module below `browser`
depends on HTTP.
"""

from __future__ import annotations

__version__ = "0.1.0"
