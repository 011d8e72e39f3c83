"""Determines the highest load that a system sustains.

`search` chooses the next level, `plateaus` judges each level, `estimate` computes the limit with an interval, `found`
repeats the judgement on recorded data, `of_runs` combines several runs.
"""
