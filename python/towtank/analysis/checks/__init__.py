"""Checks a run for reasons to doubt its results, with one file per subject.

Each check is a function from the evidence to doubts. `evidence` defines the data that the checks read;
`towtank.analysis.verdict` lists all checks in order.
"""
