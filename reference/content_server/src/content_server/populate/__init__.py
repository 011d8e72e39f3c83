"""Fills a repository: with the same scale and seed, the documents are the same on every machine."""

from __future__ import annotations
