"""Contains the checks of a run that raise doubts about its results, with one module per subject.

Each check is a function that reads the evidence and yields doubts. The module `evidence` defines the data that checks
read. `towtank.analysis.verdict` lists all checks in order.
"""
