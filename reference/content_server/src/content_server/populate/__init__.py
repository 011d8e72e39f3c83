"""Fills a repository: the same documents for the same scale and seed, on every machine."""

from __future__ import annotations
