"""Implements the CMIS services on metadata and content files, independent of HTTP."""

from __future__ import annotations

from content_server.repository.base import Repository, User

__all__ = ["Repository", "User"]
