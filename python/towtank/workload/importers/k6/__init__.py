"""Imports scripts of k6."""
