"""Fills a repository with documents. The same scale and seed give the same documents on every machine."""

from __future__ import annotations
