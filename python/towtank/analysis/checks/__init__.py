"""Checks of a run: each is a function from the evidence to doubts, with one file per subject.

`evidence` defines the data that the checks read; `towtank.analysis.verdict` lists all checks in order.
"""
