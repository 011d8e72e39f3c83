"""Determines the highest load that a system carries.

`search` moves level by level, `plateaus` judges each level, `estimate` gives a number with an interval, `found` repeats
the judgement on recorded data, `of_runs` combines several runs.
"""
