"""Imports access logs of web servers."""
