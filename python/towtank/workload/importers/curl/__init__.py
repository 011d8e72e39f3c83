"""Imports command lines of curl."""
