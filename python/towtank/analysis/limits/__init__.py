"""Determines the highest load that a system sustains.

A plateau is a stage of constant load. `search` chooses the next load level, and `plateaus` evaluates each plateau.
`estimate` computes the limit with an interval. `found` repeats the search on recorded data. `of_runs` combines the
limits of several runs.
"""
