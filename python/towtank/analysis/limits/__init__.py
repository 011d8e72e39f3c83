"""The highest load that a system carries: searched level by level (`search`), each level judged (`plateaus`), made a
number with an interval (`estimate`), found again in what was recorded (`found`), and over several runs (`of_runs`).
"""
