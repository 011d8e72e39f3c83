"""The checks of a run: each a function from the evidence to doubts, one file for each subject.

`evidence` is all that they look at; `towtank.analysis.verdict` names them in their order.
"""
