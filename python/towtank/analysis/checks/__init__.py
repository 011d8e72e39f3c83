"""Checks a run for reasons to doubt its results, with one file per subject.

Each check is a function that reads the evidence and yields doubts. `evidence` defines the data that the checks read;
`towtank.analysis.verdict` lists all checks in order.
"""
