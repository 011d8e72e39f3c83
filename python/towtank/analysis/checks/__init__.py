"""The checks of a run: each a function from the evidence to doubts, one file for each subject.

`evidence` holds everything that they read; `towtank.analysis.verdict` lists them in their order.
"""
