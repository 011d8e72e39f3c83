"""Determines the highest load that a system sustains.

`search` chooses the next load level, `plateaus` judges each level, `estimate` computes the limit with an interval,
`found` repeats the judgement on recorded data, `of_runs` combines the limits of several runs.
"""
