"""The operations of the repository: what each CMIS service means, on metadata and storage. Nothing here knows HTTP."""

from __future__ import annotations

from content_server.repository.base import Repository, User

__all__ = ["Repository", "User"]
