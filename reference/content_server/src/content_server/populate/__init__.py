"""Fills a repository with generated documents; equal scale and seed produce equal documents on every machine."""

from __future__ import annotations
